"""From a run's events to lines: what is finished is said once, what goes on is offered for a live view."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from textwrap import wrap

from pool.config.interface import ReasoningView
from pool.events import (
    CallFinished,
    CallOutput,
    CallProposed,
    CallStarted,
    Compacted,
    ContentDelta,
    ContentRetracted,
    Event,
    GuardFired,
    HookRan,
    MessageAdded,
    ModeChanged,
    Notice,
    PlanDecided,
    QuestionAnswered,
    QuestionAsked,
    ReasoningDelta,
    RunFinished,
    RunStarted,
    Steered,
    StopReason,
    TaskProgress,
    TurnFinished,
    TurnStarted,
)
from pool.facekit.clean import clean, cut, expand, one_line
from pool.facekit.words import closing_words, plan_words, task_words
from pool.repl.ink import Ink, Role
from pool.repl.prose import Prose
from pool.repl.results import Call, finished_lines
from pool.repl.thought import Thought

PROMPT_LINES = 12
"""A longer prompt is shown by its first lines."""

MOST_REMARK = 2_000
LEAST_COLUMNS = 20
"""A narrower window is left to wrap by itself."""


class Kind(StrEnum):
    """What a block of lines is: a change of kind, and each prompt and answer, has an empty line before it."""

    START = "start"
    PROMPT = "prompt"
    ANSWER = "answer"
    TITLE = "title"
    WORK = "work"


APART = (Kind.PROMPT, Kind.TITLE)


class Feed:
    """Says lines of one conversation. Events of subagents are left out."""

    def __init__(
        self, ink: Ink, say: Callable[[str], None], reasoning: ReasoningView, columns: Callable[[], int] = lambda: 0
    ) -> None:
        """columns is the width at which remarks and answers are wrapped by words, 0 for not at all; code, and what a
        file or a command says, is left to the terminal to wrap, so that it can be copied as it was."""
        self._ink = ink
        self._say = say
        self._view = reasoning
        self._columns = columns
        self._kind = Kind.START
        self._prose: Prose | None = None
        self._thought: Thought | None = None
        self._calls: dict[str, Call] = {}
        self._streamed = False
        self._standing_in = 0
        self._questions: dict[str, str] = {}
        self._echoed = ""
        self.last_thought: Sequence[str] = ()

    def show(self, event: Event) -> None:
        """Say what an event means to a person."""
        if event.envelope.agent:
            return
        body = event.body
        match body:
            case ReasoningDelta(text=text):
                self._thinks(text)
            case ContentDelta(text=text):
                self._says(text)
            case CallProposed() | CallStarted() | CallOutput() | CallFinished():
                self._call(event.envelope.call, body)
            case RunStarted() | TurnStarted() | TurnFinished() | RunFinished() | ContentRetracted():
                self._course(body)
            case MessageAdded():
                self._message(body)
            case TaskProgress():
                if event.envelope.call in self._calls:
                    self._calls[event.envelope.call].note = task_words(body)
            case _:
                self._remark(body)

    @property
    def live(self) -> list[str]:
        """What is not said yet: the end of the answer or the thought, or of what a command writes; plain text."""
        if self._prose is not None:
            return self._prose.rest
        if self._thought is not None:
            return self._thought.live
        return [line for call in self._calls.values() if call.started for line in self._live_call(call)]

    def _live_call(self, call: Call) -> list[str]:
        head = " · ".join(part for part in (call.head, call.note) if part)
        return [head, *(f"  {line}" for line in call.output.tail)]

    def asked(self, call: str) -> None:
        """A person has been shown what a call would do."""
        if call in self._calls:
            self._calls[call].asked = True

    def remark(self, text: str, role: Role = Role.MUTED) -> None:
        """Say a line of the interface's own."""
        self._block(Kind.WORK)
        self.note(text, role)

    def note(self, text: str, role: Role = Role.MUTED, indent: str = "") -> None:
        """Say a line that belongs to the one before."""
        text = cut(one_line(text), MOST_REMARK)
        room = self._columns() - len(indent)
        rows = wrap(text, room, break_on_hyphens=False) if room >= LEAST_COLUMNS else [text]
        for row in rows:
            self._say(indent + self._ink.paint(row, role))

    def remedy(self, text: str) -> None:
        """Say what to do about the line before. It may hold a command to copy, so it is left whole."""
        self._say("  " + self._ink.paint(cut(one_line(text), MOST_REMARK), Role.MUTED))

    def echoed(self, text: str) -> None:
        """The terminal has shown this line of the user's already."""
        self._echoed = _bare(text)

    def _is_shown(self, text: str, kind: Kind) -> bool:
        """Whether the terminal shows that line already; what follows belongs to it then."""
        shown = bool(self._echoed) and self._echoed == _bare(text)
        if shown:
            self._echoed, self._kind = "", kind
        return shown

    def title(self, text: str) -> None:
        """Say what the next lines are about: a command, a question."""
        if self._is_shown(text, Kind.TITLE):
            return
        self._block(Kind.TITLE)
        self.note(text, Role.STRONG)

    def prompt(self, text: str, kind: str = "") -> None:
        """Say what the user said."""
        if not kind and self._is_shown(text, Kind.PROMPT):
            return
        self._block(Kind.PROMPT)
        lines = clean(text).strip("\n").split("\n")
        for number, line in enumerate(lines[:PROMPT_LINES]):
            self._say(self._ink.paint(f"{'  ' if number else '> '}{cut(expand(line), MOST_REMARK)}", Role.USER))
        if len(lines) > PROMPT_LINES:
            self._say(self._ink.paint(f"  … {len(lines) - PROMPT_LINES:,} more lines", Role.MUTED))
        if kind:
            self._say(self._ink.paint(f"  ({kind})", Role.MUTED))

    def _block(self, kind: Kind) -> None:
        """Begin lines of a kind, with an empty line where that helps the eye."""
        if self._kind is not Kind.START and (kind is not self._kind or kind in APART):
            self._say("")
        self._kind = kind

    # -- the course of a run

    def _course(self, body: RunStarted | TurnStarted | TurnFinished | RunFinished | ContentRetracted) -> None:
        match body:
            case RunStarted(prompt=prompt):
                self.prompt(prompt)
            case TurnStarted():
                self._end_text()
                self._streamed = False
                self._standing_in = 0
            case ContentRetracted(as_=as_):
                self._end_text()
                self.remark(
                    "that was thinking, not the answer" if as_ == "reasoning" else "the reply is asked for anew"
                )
            case TurnFinished():
                self._end_text()
            case RunFinished():
                self._finish(body)

    def _finish(self, body: RunFinished) -> None:
        self._end_text()
        for call in self._calls.values():
            self.remark(f"{call.head}: the run ended before this call did", Role.WARNING)
        self._calls.clear()
        good = body.reason is StopReason.COMPLETED
        sign = ("✓ " if good else "! ") if self._ink.marks else ""
        self.remark(sign + closing_words(body), Role.MUTED if good else Role.WARNING)

    def _thinks(self, text: str) -> None:
        if self._prose is not None:
            self._end_text()
        if self._thought is None:
            self._thought = Thought(self._ink, self._view, self._say_work)
        self._streamed = True
        self._thought.feed(text)

    def _says(self, text: str) -> None:
        if self._prose is None:
            if not text.strip():
                return
            self._end_text()
            self._prose = Prose(self._ink, self._say_answer, self._columns)
        self._streamed = True
        self._prose.feed(text)

    def _say_work(self, line: str) -> None:
        self._block(Kind.WORK)
        self._say(line)

    def _say_answer(self, line: str) -> None:
        self._block(Kind.ANSWER)
        self._say(line)

    def _end_text(self) -> None:
        if self._prose is not None:
            prose, self._prose = self._prose, None
            prose.end()
        if self._thought is not None:
            thought, self._thought = self._thought, None
            thought.end()
            self.last_thought = thought.lines

    def _message(self, body: MessageAdded) -> None:
        """A reply that did not stream is said when it enters the history."""
        if self._standing_in:
            self._standing_in -= 1
        elif body.role == "assistant" and not self._streamed and (content := content_of(body.text)):
            self._says(content)
            self._end_text()

    # -- calls

    def _call(self, name: str, body: CallProposed | CallStarted | CallOutput | CallFinished) -> None:
        self._end_text()
        if isinstance(body, CallProposed):
            self._calls[name] = Call(body.name, body.title, body.preview_kind, body.preview)
            return
        call = self._calls.setdefault(name, Call("" if isinstance(body, CallOutput) else body.name))
        match body:
            case CallStarted():
                call.started = time.monotonic()
            case CallOutput(text=text):
                call.output.append(text)
            case CallFinished():
                del self._calls[name]
                for line in finished_lines(call, body, self._ink):
                    self._say_work(line)

    # -- remarks

    def _remark(self, body: object) -> None:
        match body:
            case Steered(text=text):
                self._end_text()
                self.prompt(text, "while it worked")
            case GuardFired(guard=guard, action=action, detail=detail, cost=cost):
                words = f"guard {guard}: {action}: {detail}{f' ({cost})' if cost else ''}"
                self._end_text()
                self.remark(words, Role.MUTED if action == "note" else Role.WARNING)
            case HookRan(outcome=outcome):
                self._end_text()
                self.remark(body.line, Role.WARNING if outcome in ("failed", "blocked") else Role.MUTED)
            case Notice(level=level, text=text, remedy=remedy):
                role = {"error": Role.BAD, "warning": Role.WARNING}.get(level, Role.MUTED)
                self.remark(text, role)
                if remedy:
                    self.remedy(remedy)
            case Compacted(detail=detail, before=before, after=after, follow=follow):
                self._standing_in = max(0, follow)
                self.remark(f"compacted: {before:,} to {after:,} tokens: {detail}")
            case ModeChanged(mode=mode, before=before):
                self.remark(f"mode: {before} to {mode}")
            case PlanDecided(decision=decision, mode=mode):
                self.remark(plan_words(decision, mode))
            case QuestionAsked(id=name, text=text):
                self._questions[name] = text
            case QuestionAnswered(id=name, answered=answered, text=text):
                self.remark(f"{self._questions.pop(name, 'question')} → {text if answered else 'no answer'}")
            case _:
                pass


def _bare(text: str) -> str:
    return "".join(text.split())


def content_of(message: str) -> str:
    """The content of a chat message in JSON, "" if it has none."""
    try:
        value = json.loads(message)
    except (ValueError, RecursionError):
        return ""
    content = value.get("content") if isinstance(value, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # JSON
    return content.strip() if isinstance(content, str) else ""
