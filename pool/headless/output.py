"""The three outputs of `pool run`: text, one JSON object, or a stream of JSON events."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from pool.events import (
    Body,
    CallFinished,
    CallOutput,
    CallProposed,
    Compacted,
    ContentDelta,
    ContentRetracted,
    Event,
    GuardFired,
    HeadSet,
    HookRan,
    MessageAdded,
    Notice,
    PlanDecided,
    PlanProposed,
    PromptCopied,
    ReasoningDelta,
    RunFinished,
    RunStarted,
    SettingChanged,
    Steered,
    StopReason,
    TurnFinished,
    TurnStarted,
    Waiting,
    plain,
    to_dict,
)
from pool.headless.plain import one_line, safe
from pool_tools.colours import plain_text

if TYPE_CHECKING:
    from pool.agent.answerform import AnswerForm

LOG_ONLY = (HeadSet, MessageAdded, PromptCopied)
"""Kinds of events that are for the session's log: the same facts are in the other events."""

OUTPUT_LINES = 12
"""How many lines of a call's result the progress shows."""

LIVE_LINES = 12
"""How many lines of a command's live output the progress shows before it says that there is more."""

TITLED = frozenset({"task", "todo"})
"""Tools of which the title says in a line what many lines of preview say."""

LAST_LINES = 4
"""How many of the last lines of such an output it shows at the end."""


class Output(Protocol):
    """Takes every event of a run, in order."""

    def show(self, event: Event) -> None: ...


class TextOutput:
    """The answer on stdout at the end. Nothing else goes there; with a form only a value that fits, as JSON."""

    def __init__(self, out: TextIO, form: AnswerForm | None = None) -> None:
        self._out = out
        self._form = form

    def show(self, event: Event) -> None:
        if isinstance(event.body, RunFinished) and event.body.answer:
            self._answer(event.body.answer)

    def _answer(self, answer: str) -> None:
        if self._form is not None:
            try:
                answer = json.dumps(self._form.value(answer), ensure_ascii=False)
            except ValueError:
                return
        self._out.write(safe(answer, terminal=self._out.isatty()) + "\n")
        self._out.flush()


class JsonOutput:
    """One JSON object for each run, at its end: its `RunResult`."""

    def __init__(self, out: TextIO, form: AnswerForm | None = None) -> None:
        self._out = out
        self._form = form
        self._rows: list[dict[str, Any]] = []
        self._held = self._due = False

    def hold(self) -> None:
        """Keep each result until the next run starts, or until `release`: what comes after a run belongs to it."""
        self._held = True

    def show(self, event: Event) -> None:
        if event.body.transient or isinstance(event.body, LOG_ONLY):
            return
        if isinstance(event.body, RunStarted):
            self.release()
            self._rows.clear()
        self._rows.append(plain(to_dict(event)))
        if isinstance(event.body, RunFinished):
            self._due = True
            if not self._held:
                self.release()

    def release(self) -> None:
        """Print a result that is held."""
        if self._due:
            from pool.agent.digest import result_of

            self._due = False
            _write_line(self._out, result_of(self._rows, form=self._form).to_dict())


class StreamJsonOutput:
    """Every event as one line of JSON; the last line is `run.finished`.

    `head.set` and `message.added` are the session log's and left out: the same facts are in the other events.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, event: Event) -> None:
        if not isinstance(event.body, LOG_ONLY):
            _write_line(self._out, to_dict(event))


def _write_line(out: TextIO, value: dict[str, Any]) -> None:
    out.write(json.dumps(plain(value), ensure_ascii=True, separators=(",", ":")) + "\n")
    out.flush()


class Progress:
    """What happens, in words, on stderr.

    level 0 shows warnings, errors, hooks that failed and why a run did not complete, 1 turns and calls, 2 the text too.
    """

    def __init__(self, err: TextIO, level: int) -> None:
        self._err = err
        self._level = level
        self._restarts = err.isatty()
        self._open = ""
        self._held = ""
        self._titles: dict[str, str] = {}
        self._live: dict[str, int] = {}
        self._cut: set[str] = set()
        self._heard = ""
        self._noticed = ""

    def show(self, event: Event) -> None:
        """Print what this event means to a person watching."""
        if isinstance(event.body, Notice) and event.body.level != "info":
            self._noticed = event.body.text
            remedy = f"\n  {one_line(event.body.remedy)}" if event.body.remedy else ""
            self._line(f"pool: {one_line(event.body.text)}{remedy}")
        elif self._level >= 1:
            self._show(event)
        elif isinstance(event.body, HookRan) and event.body.outcome == "failed":
            self._line(f"pool: {one_line(event.body.line)}")
        elif isinstance(event.body, RunFinished) and self._untold(event.body):
            self._line(f"pool: {_end(event.body)}")

    def _untold(self, body: RunFinished) -> bool:
        """Whether a run ended before its time for a reason that was not among the errors."""
        return body.reason is not StopReason.COMPLETED and body.detail != self._noticed

    def remark(self, text: str) -> None:
        """Print lines of Pool's own between what happens."""
        self._line(text)

    def _show(self, event: Event) -> None:
        match event.body:
            case RunStarted() as body:
                where = one_line(f"{body.model} at {body.server}, mode {body.mode}, sandbox {body.sandbox}")
                self._line(f"pool: {where}")
            case TurnStarted(prompt_tokens=tokens):
                self._line(f"── turn {event.envelope.turn} (about {tokens:,} tokens)")
            case ReasoningDelta(text=text):
                self._text("thinking", text)
            case ContentDelta(text=text):
                self._text("says", text)
            case ContentRetracted(as_=as_):
                self._line(
                    "(that was thinking)" if as_ == "reasoning" else "(that reply broke off and is asked for again)"
                )
            case CallProposed() as body:
                self._proposed(body, event.envelope.call)
            case CallOutput(text=text):
                self._output(plain_text(text), event.envelope.call)
            case CallFinished() as body:
                self._finished(body, event.envelope.call)
            case RunFinished() as body:
                self._summary(body)
            case TurnFinished():
                self._end_text()
            case body:
                if word := _word(body):
                    self._line(word)

    def _proposed(self, body: CallProposed, call: str) -> None:
        match body.preview_kind:
            case "command":
                first, _, more = body.preview.strip().partition("\n")
                title, rest = f"$ {first}", more
            case "diff":
                title, rest = body.title or body.name, body.preview
            case _ if body.name in TITLED:
                title, rest = body.title or body.name, ""
            case _:
                title, rest = body.preview or body.title or body.name, ""
        title = self._titles[call] = one_line(title)
        self._line(f"→ {title}{_indented(rest)}")

    def _output(self, text: str, call: str) -> None:
        if call != self._heard and len(self._titles) > 1:
            # Several calls write at the same time: say whose lines come now.
            self._line(f"… {self._titles.get(call, '')}")
        self._heard = call
        shown = self._live.get(call, 0)
        self._live[call] = shown + text.count("\n")
        if call in self._cut:
            return
        lines = text.split("\n")
        room = LIVE_LINES - shown
        kept, left = "\n".join(lines[:room]), "\n".join(lines[room:])
        # The feed that ends the last line shown is shown with it.
        kept += "\n" if 0 < room < len(lines) else ""
        if left:
            self._cut.add(call)
            kept += "... more output\n"
        if kept:
            self._live_text(kept)

    def _live_text(self, text: str) -> None:
        """Print live output, in which a carriage return begins its line anew.

        A terminal's line is written over. What else there is cannot take back a line, so it gets only whole ones.
        """
        first, feed, rest = (self._held + text).partition("\n")
        _, again, first = first.rpartition("\r")
        if again and self._restarts and self._open == "output":
            self._err.write("\r\x1b[K")
            self._open = ""
        self._held = held = ""
        text = first + feed + "\n".join(line.rpartition("\r")[2] for line in rest.split("\n"))
        if not self._restarts:
            text, feed, held = text.rpartition("\n")
            text += feed
        if text:
            self._text("output", text)
        self._held = held

    def _finished(self, body: CallFinished, call: str) -> None:
        lines = body.text.splitlines()
        if self._live.pop(call, 0):
            lines = lines[-LAST_LINES:] if call in self._cut else []
        self._cut.discard(call)
        more = f"\n    ... {len(lines) - OUTPUT_LINES} more lines" if len(lines) > OUTPUT_LINES else ""
        text = "".join(f"\n    {line}" for line in lines[:OUTPUT_LINES])
        title = self._titles.pop(call, one_line(body.name))
        self._line(f"← {title}: {body.status}, {body.seconds:.1f} s{text}{more}")

    def _summary(self, body: RunFinished) -> None:
        files = ", ".join(f"{one_line(c.path)} (+{c.added} -{c.removed})" for c in body.changes) or "none"
        self._line(f"── {_end(body)}")
        mark = "about " if body.usage.estimated else ""
        self._line(
            f"   {body.turns} turns, {mark}{body.usage.prompt:,} tokens read ({body.usage.cached:,} cached), "
            f"{body.usage.completion:,} written, {body.seconds:.1f} s; files changed: {files}"
        )

    def _text(self, kind: str, text: str) -> None:
        if self._open != kind:
            self._end_text()
            self._err.write("  · " if kind == "thinking" else "  | " if kind == "output" else "  ")
            self._open = kind
        self._err.write(safe(text, terminal=True).replace("\n", "\n  | " if kind == "output" else "\n    "))
        self._err.flush()

    def _end_text(self) -> None:
        if self._held:
            held, self._held = self._held, ""
            self._text("output", held)
        if self._open:
            self._err.write("\n")
            self._open = ""

    def _line(self, text: str) -> None:
        self._end_text()
        self._err.write(safe(text, terminal=True) + "\n")
        self._err.flush()


def _end(body: RunFinished) -> str:
    """Why a run ended."""
    return body.reason.value + (f": {one_line(body.detail)}" if body.detail else "")


def _word(body: Body) -> str:
    """What an event says in one line, "" if it says nothing to a person."""
    match body:
        case GuardFired(guard=guard, action=action, detail=detail, cost=cost):
            return f"guard {guard}: {action}: {one_line(detail)}" + (f" ({one_line(cost)})" if cost else "")
        case HookRan():
            return one_line(body.line)
        case Waiting(state=state, detail=detail, seconds=seconds) if state not in ("prefill", "hook"):
            then = f", next try in {seconds:.1f} s" if seconds else ""
            return f"waiting ({state}): {one_line(detail)}{then}"
        case Notice(text=text):
            return f"pool: {one_line(text)}"
        case Steered(text=text):
            return f"the user says: {one_line(text)}"
        case SettingChanged(name=name, detail=detail):
            return f"{name}: {one_line(detail)}"
        case PlanProposed():
            return "the plan waits: pool run --approve-plan -c carries it out (-f FILE with your changes)"
        case PlanDecided(decision=decision, mode=mode):
            return f"plan {one_line(decision)}{f', mode {mode}' if decision == 'approved' else ''}"
        case Compacted(detail=detail):
            return f"compacted: {one_line(detail)}"
        case _:
            return ""


def _indented(text: str) -> str:
    """Text on lines of its own below a title; nothing if there is none."""
    return "".join(f"\n    {line}" for line in text.rstrip("\n").split("\n")) if text.strip() else ""


def output_for(name: str, out: TextIO | None = None, form: AnswerForm | None = None) -> Output:
    """The output by its name: text, json or stream-json. form is what answers are to fit."""
    stream = out or sys.stdout
    match name:
        case "json":
            return JsonOutput(stream, form)
        case "stream-json":
            return StreamJsonOutput(stream)
        case _:
            return TextOutput(stream, form)


__all__ = ["JsonOutput", "Output", "Progress", "StopReason", "StreamJsonOutput", "TextOutput", "output_for"]
