"""A tool call as a card: its state, what it does, its live output, its result."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from rich.style import Style

from pool.facekit.clean import clean, one_line
from pool.facekit.words import duration
from pool.tui.transcript.block import Block, Layout
from pool.tui.transcript.diff import diff_rows
from pool.tui.transcript.lines import Line, line, prefixed
from pool.tui.transcript.palette import Palette
from pool.tui.transcript.plaintext import output_rows, text_rows
from pool.tui.transcript.wrap import fit
from pool_tools.frozen import frozen

SHORT_LINES = 8
"""A result with no more lines is shown whole."""

HEAD_LINES = 3
TAIL_LINES = 4
"""What is shown of a longer one while it is folded."""

DIFF_ROWS = 16
"""Rows shown of a folded diff."""

LIVE_LINES = 6
"""Lines of output shown of a running call."""

KEPT_LINES = 400
"""Lines of live output that are kept."""

MOST_LINES = 2_000
"""Lines shown of an opened result; copying the block gives all."""

LEAST_TITLE_CELLS = 12
"""With less room for the title, the details beside it are left out."""

WAITING_CELLS = 28
"""What a head has besides a command that waits for an answer."""


class CallState(StrEnum):
    """Where a call stands."""

    WRITING = "writing"
    PROPOSED = "proposed"
    WAITING = "waiting"
    RUNNING = "running"
    OK = "ok"
    FAILED = "failed"
    DENIED = "denied"
    INVALID = "invalid"
    BLOCKED = "blocked"
    INTERRUPTED = "interrupted"


_OPEN = frozenset({CallState.WRITING, CallState.PROPOSED, CallState.WAITING, CallState.RUNNING})


@frozen
class CallFacts:
    """What is known of a call.

    title is one line; preview is a command, a unified diff or text, as preview_kind says. chars and path are of
    arguments that are still being written. why says what approval waits for or why the call was not run. started is
    on the monotonic clock, 0 if the call did not start. exit_status is None where the tool has none. note is what it
    does now, for a running call that tells.
    """

    name: str
    state: CallState
    title: str = ""
    preview_kind: str = "text"
    preview: str = ""
    path: str = ""
    chars: int = 0
    why: str = ""
    result: str = ""
    started: float = 0.0
    seconds: float = 0.0
    exit_status: int | None = None
    added: int = 0
    removed: int = 0
    note: str = ""


@dataclass(slots=True)
class Output:
    """The end of a call's live output."""

    lines: deque[str] = field(default_factory=lambda: deque([""], maxlen=KEPT_LINES))

    def append(self, text: str) -> None:
        first, *more = text.split("\n")
        self.lines[-1] = (self.lines[-1] + first)[-100_000:]
        self.lines.extend(more)

    @property
    def last(self) -> list[str]:
        """The lines without an empty one at the end."""
        lines = list(self.lines)
        return lines[:-1] if not lines[-1] else lines


class ToolCard(Block):
    """A call. Its facts change by `with_facts`, which keeps output and fold."""

    is_tight = True

    def __init__(self, facts: CallFacts, output: Output | None = None, folded: bool | None = None) -> None:
        self.facts = facts
        self._output = output or Output()
        self._folded = folded

    def with_facts(self, **changes: object) -> ToolCard:
        """The same call, further on."""
        return ToolCard(replace(self.facts, **changes), self._output, self._folded)  # pyright: ignore[reportArgumentType]  # checked by replace

    def append(self, text: str) -> None:
        self._output.append(text)

    @property
    def is_live(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]  # a property here, since it follows from the state
        return self.facts.state is CallState.RUNNING

    @property
    def is_folded(self) -> bool:
        return self._folded if self._folded is not None else True

    def fold(self, part: int, folded: bool | None) -> bool:
        self._folded = not self.is_folded if folded is None else folded
        return True

    def source(self, part: int = 0) -> str:
        facts = self.facts
        head = f"$ {facts.preview}" if facts.preview_kind == "command" else facts.title or facts.name
        body = facts.preview if facts.preview_kind == "diff" else ""
        result = facts.result or "\n".join(self._output.last)
        return "\n".join(clean(t).rstrip("\n") for t in (head, body, result) if t)

    def layout(self, at: Layout) -> Sequence[Line]:
        inner = at.narrower(2)
        rows = self._body(inner)
        bar = [("│ ", at.palette.border)]
        return [self._head(at), *prefixed(rows, bar, bar)]

    # -- the head

    def _head(self, at: Layout) -> Line:
        look, facts = at.palette, self.facts
        mark, style = _mark(facts.state, look)
        details = " · ".join(self._details(at.now))
        title = self._title()
        details = f" · {details}" if details else ""
        room = at.width - 2 - len(details)
        if room < LEAST_TITLE_CELLS:
            details, room = "", at.width - 2
        head = line((mark + " ", style), (fit(title, room), look.tool), (details, _detail_style(facts.state, look)))
        head.gutter, head.action, head.whole = 2, "fold", title
        return head

    def _title(self) -> str:
        facts = self.facts
        if facts.preview_kind == "command" and facts.preview.strip():
            first, _, more = facts.preview.strip().partition("\n")
            return f"$ {one_line(first)}{' …' if more else ''}"
        return one_line(facts.title) or f"{one_line(facts.name) or 'call'} {one_line(facts.path)}".strip()

    def _head_says_all(self, at: Layout) -> bool:
        """Whether the head has a whole command, so that it need not be repeated."""
        preview = self.facts.preview.strip()
        fits = fit(preview, at.width - WAITING_CELLS) == preview
        return self.facts.preview_kind == "command" and one_line(preview) == preview and fits

    def _details(self, now: float) -> list[str]:
        facts = self.facts
        match facts.state:
            case CallState.WRITING:
                return [f"writing arguments, {facts.chars:,} characters" if facts.chars else "writing arguments"]
            case CallState.WAITING:
                return ["waits for your answer"]
            case CallState.RUNNING:
                return [*filter(None, (facts.note,)), f"running {duration(now - facts.started)}"]
            case CallState.PROPOSED:
                return []
            case _:
                return self._ending()

    def _ending(self) -> list[str]:
        facts = self.facts
        out = [] if facts.state is CallState.OK else [facts.state.value]
        if facts.exit_status:
            out.append(f"exit {facts.exit_status}")
        if facts.added or facts.removed:
            out.append(f"+{facts.added} -{facts.removed}")
        elif facts.preview_kind == "text" and facts.result and facts.state is CallState.OK:
            count = len(facts.result.rstrip("\n").split("\n"))
            out.append(f"{count:,} line{'s' if count != 1 else ''}")
        if facts.seconds >= 1:
            out.append(duration(facts.seconds))
        return out

    # -- the body

    def _body(self, at: Layout) -> list[Line]:
        facts, look = self.facts, at.palette
        match facts.state:
            case CallState.WRITING | CallState.PROPOSED:
                return []
            case CallState.WAITING:
                why = text_rows(clean(facts.why), at, look.warning) if facts.why else []
                return why + ([] if self._head_says_all(at) else self._preview(at))
            case CallState.RUNNING:
                lines = self._output.last
                return output_rows(lines if not self.is_folded else lines[-LIVE_LINES:], at, look.muted)
            case _:
                return self._folded_body(at) if self.is_folded else self._whole_body(at)

    def _preview(self, at: Layout) -> list[Line]:
        facts = self.facts
        match facts.preview_kind:
            case "diff":
                return diff_rows(facts.preview, at)
            case "command":
                return text_rows(clean(facts.preview), at, at.palette.text)
            case _:
                return []

    def _whole_body(self, at: Layout) -> list[Line]:
        facts, look = self.facts, at.palette
        rows = self._preview(at) if facts.preview_kind != "command" or "\n" in facts.preview.strip() else []
        lines = self._result()
        hidden = len(lines) - MOST_LINES
        rows += output_rows(lines[:MOST_LINES], at, look.muted)
        if hidden > 0:
            rows.append(line((f"… {hidden:,} more lines; copying this block gives them", look.muted), whole=""))
        return rows

    def _folded_body(self, at: Layout) -> list[Line]:
        facts, look = self.facts, at.palette
        if facts.state is CallState.OK and facts.preview_kind == "diff":
            rows = diff_rows(facts.preview, at)
            return rows if len(rows) <= DIFF_ROWS + 1 else [*rows[:DIFF_ROWS], _more(len(rows) - DIFF_ROWS, look)]
        if facts.state is CallState.OK and facts.preview_kind == "text":
            return []
        lines = self._result()
        if len(lines) <= SHORT_LINES:
            return output_rows(lines, at, look.muted)
        hidden = _more(len(lines) - HEAD_LINES - TAIL_LINES, look)
        first = output_rows(lines[:HEAD_LINES], at, look.muted)
        return [*first, hidden, *output_rows(lines[-TAIL_LINES:], at, look.muted)]

    def _result(self) -> list[str]:
        if self.facts.result.strip():
            return self.facts.result.strip("\n").split("\n")
        return self._output.last or ([self.facts.why] if self.facts.why else [])

    def estimate(self, width: int) -> int:
        facts = self.facts
        if self.is_folded:
            rows = facts.preview.count("\n") if facts.preview_kind == "diff" else facts.result.count("\n")
            return 2 + min(rows, DIFF_ROWS) if facts.preview_kind != "text" else 1
        return super().estimate(width)


def _more(count: int, look: Palette) -> Line:
    return line((f"… {count:,} more lines", look.muted), action="fold", whole=f"… {count:,} more lines")


def _mark(state: CallState, look: Palette) -> tuple[str, Style]:
    match state:
        case CallState.OK:
            return "✓", look.success
        case CallState.WAITING:
            return "?", look.warning
        case CallState.WRITING | CallState.PROPOSED | CallState.RUNNING:
            return "●", look.accent
        case CallState.DENIED | CallState.INTERRUPTED | CallState.BLOCKED:
            return "⊘", look.warning
        case _:
            return "✗", look.error


def _detail_style(state: CallState, look: Palette) -> Style:
    if state is CallState.WAITING:
        return look.warning
    return look.muted if state in _OPEN or state is CallState.OK else _mark(state, look)[1]
