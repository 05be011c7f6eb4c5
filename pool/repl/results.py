"""Tool calls as lines: what runs, the end of its output, and how it ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from pool.events import CallFinished
from pool.facekit.clean import clean, cut, expand, one_line
from pool.facekit.words import duration
from pool.repl.ink import Ink, Role
from pool_tools.colours import last_frames, plain_text

SHORT_LINES = 8
"""A result with no more lines is shown whole."""

HEAD_LINES = 3
TAIL_LINES = 4
"""What is shown of a longer one."""

DIFF_LINES = 24
"""Lines shown of a diff that nobody was asked about."""

MOST_ASKED_LINES = 400
"""Lines shown of what a person is asked about."""

MOST_COLUMNS = 2_000
MOST_TITLE = 200

MARKS = {
    "ok": ("✓", Role.GOOD),
    "denied": ("⊘", Role.WARNING),
    "interrupted": ("⊘", Role.WARNING),
    "blocked": ("⊘", Role.WARNING),
}
OTHER_MARK = ("✗", Role.BAD)


@dataclass(slots=True)
class Output:
    """What a command has written so far: its first lines, its last ones, and how many there were."""

    first: list[str] = field(default_factory=list[str])
    last: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL_LINES))
    count: int = 0
    open_line: str = ""

    def append(self, text: str) -> None:
        """Take a piece of people's text (`pool_tools.colours`)."""
        *whole, self.open_line = last_frames(self.open_line + text).lstrip("\r").split("\n")
        self.open_line = self.open_line[-MOST_COLUMNS:]
        for line in whole:
            self.take(line)

    def take(self, line: str) -> None:
        """Take a whole line."""
        line = line.strip("\r")
        self.count += 1
        if len(self.first) < SHORT_LINES:
            self.first.append(line)
        self.last.append(line)

    def end(self) -> None:
        """The last line counts though it has no end."""
        if self.open_line:
            self.take(self.open_line)
        self.open_line = ""

    @property
    def tail(self) -> list[str]:
        """The last lines without colours, for the live view."""
        lines = [*self.last, self.open_line] if self.open_line else list(self.last)
        return [cut(clean(plain_text(line)), MOST_COLUMNS) for line in lines[-TAIL_LINES:]]


@dataclass(slots=True)
class Call:
    """A call on its way. kind says what preview is: command, diff or text. asked: a person has seen the preview.

    note says how far it is, where it tells.
    """

    name: str
    title: str = ""
    kind: str = "text"
    preview: str = ""
    started: float = 0.0
    asked: bool = False
    note: str = ""
    output: Output = field(default_factory=Output)

    @property
    def head(self) -> str:
        """What the call does, in one line."""
        if self.kind == "command" and self.preview.strip():
            first, _, more = self.preview.strip().partition("\n")
            return f"$ {cut(one_line(first), MOST_TITLE)}{' …' if more else ''}"
        return cut(one_line(self.title) or one_line(self.name) or "call", MOST_TITLE)


def finished_lines(call: Call, body: CallFinished, ink: Ink) -> list[str]:
    """A call that has ended: its head, and what is worth seeing of its result."""
    mark, role = MARKS.get(body.status, OTHER_MARK)
    sign = ink.paint(mark, role) if ink.marks else f"[{one_line(body.status)}]"
    details = "".join(f" · {word}" for word in _details(call, body, ink))
    head = f"{sign} {ink.paint(call.head, Role.TOOL)}{ink.paint(details, Role.MUTED if body.status == 'ok' else role)}"
    return [head, *(f"  {line}" for line in _body(call, body, ink))]


def _details(call: Call, body: CallFinished, ink: Ink) -> list[str]:
    out = [] if body.status == "ok" or not ink.marks else [one_line(body.status)]
    exit_status = body.data.get("exit_status")
    if isinstance(exit_status, int) and exit_status:
        out.append(f"exit {exit_status}")
    added, removed = sum(c.added for c in body.changes), sum(c.removed for c in body.changes)
    if added or removed:
        out.append(f"+{added} -{removed}")
    elif call.kind == "text" and body.text and body.status == "ok":
        count = len(body.text.rstrip("\n").split("\n"))
        out.append(f"{count:,} line{'s' if count != 1 else ''}")
    if body.seconds >= 1:
        out.append(duration(body.seconds))
    return out


def _body(call: Call, body: CallFinished, ink: Ink) -> list[str]:
    if body.status == "ok" and call.kind == "diff":
        return [] if call.asked else diff_lines(call.preview, ink, DIFF_LINES)
    if body.status == "ok" and call.kind == "text":
        return []
    call.output.end()
    if call.kind == "command" and call.output.count:
        out = call.output
        if out.count <= SHORT_LINES:
            return [output_line(line, ink) for line in out.first]
        hidden = _more(out.count - HEAD_LINES - TAIL_LINES, ink)
        return [
            *(output_line(x, ink) for x in out.first[:HEAD_LINES]),
            hidden,
            *(output_line(x, ink) for x in out.last),
        ]
    return folded(body.text.strip("\n").split("\n"), ink) if body.text.strip() else []


def folded(lines: Sequence[str], ink: Ink) -> list[str]:
    """Lines of a text, the middle left out if they are many."""
    if len(lines) <= SHORT_LINES:
        return [text_line(line) for line in lines]
    first, last = lines[:HEAD_LINES], lines[-TAIL_LINES:]
    hidden = len(lines) - HEAD_LINES - TAIL_LINES
    return [*(text_line(x) for x in first), _more(hidden, ink), *(text_line(x) for x in last)]


def diff_lines(diff: str, ink: Ink, most: int) -> list[str]:
    """A unified diff in colours."""
    lines = diff.rstrip("\n").split("\n")
    out = [_diff_line(line, ink) for line in lines[:most]]
    return out if len(lines) <= most else [*out, _more(len(lines) - most, ink)]


def _diff_line(line: str, ink: Ink) -> str:
    shown = text_line(line)
    if line.startswith(("+++", "---")):
        return ink.paint(shown, Role.STRONG)
    match line[:1]:
        case "+":
            return ink.paint(shown, Role.ADDED)
        case "-":
            return ink.paint(shown, Role.REMOVED)
        case "@":
            return ink.paint(shown, Role.TOOL)
        case _:
            return shown


def asked_lines(kind: str, preview: str, ink: Ink) -> list[str]:
    """What a person is asked about: the exact command, diff or text."""
    if kind == "diff":
        return diff_lines(preview, ink, MOST_ASKED_LINES)
    lines = preview.strip("\n").split("\n")
    mark = "$ " if kind == "command" else ""
    out = [f"{mark if not n else ' ' * len(mark)}{text_line(line)}" for n, line in enumerate(lines[:MOST_ASKED_LINES])]
    hidden = len(lines) - MOST_ASKED_LINES
    return [*out, _more(hidden, ink)] if hidden > 0 else out


def text_line(line: str) -> str:
    """A line of a file's or a model's text, safe and not endless."""
    return cut(expand(clean(line).replace("\n", " ")), MOST_COLUMNS)


def output_line(line: str, ink: Ink) -> str:
    """A line of a command's output, with its colours."""
    if len(line) > MOST_COLUMNS:
        return text_line(plain_text(line))
    return expand(ink.output(line))


def _more(count: int, ink: Ink) -> str:
    return ink.paint(f"… {count:,} more line{'s' if count != 1 else ''}", Role.MUTED)
