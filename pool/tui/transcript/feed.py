"""From a run's events to blocks of the transcript; the same for what happens now and for what a log tells."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from pool.events import (
    CallFinished,
    CallOutput,
    CallProgress,
    CallProposed,
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
    TodoChanged,
    TodoItem,
    TurnFinished,
    TurnStarted,
    UsageReported,
    UserCommand,
)
from pool.facekit.decode import events_of
from pool.facekit.words import figures, plan_words, without_note
from pool.messages import Role
from pool.tui.note import Note
from pool.tui.transcript.answer import Answer
from pool.tui.transcript.callfeed import CallFeed
from pool.tui.transcript.ending import closing
from pool.tui.transcript.gone import Gone
from pool.tui.transcript.notice import ErrorCard, Quiet, Tone
from pool.tui.transcript.prompt import Prompt
from pool.tui.transcript.reasoning import Reasoning
from pool.tui.transcript.widget import BlockHandle, Transcript


class Feed:
    """Drives one transcript. Events of subagents are left out. turn_figures: a line of figures after each reply.

    on_todo is called with the model's list of steps when that has changed.
    """

    def __init__(self, transcript: Transcript, *, turn_figures: bool = False) -> None:
        self.turn_figures = turn_figures
        self.on_todo: Callable[[Sequence[TodoItem]], object] = lambda items: None
        self._to = transcript
        self._calls = CallFeed(transcript)
        self._open: BlockHandle | None = None
        self._turn: list[BlockHandle] = []
        self._streamed = False
        self._in_run = False
        self._standing_in = 0
        self._questions: dict[str, str] = {}
        self._mode_line: tuple[BlockHandle, str] | None = None

    def clear(self) -> None:
        """Take out all blocks; what still comes of a running reply begins a block of its own."""
        self._to.clear()
        self.on_todo(())
        self._calls = CallFeed(self._to)
        self._open, self._turn = None, []

    def show(self, event: Event) -> None:
        """Show what an event means to a person."""
        if event.envelope.agent:
            return
        body = event.body
        match body:
            case ReasoningDelta(text=text):
                self._thinks(text)
            case ContentDelta(text=text):
                self._says(text)
            case CallProgress() | CallOutput() | CallProposed() | CallFinished():
                self._end_text()
                self._calls.show(event)
            case MessageAdded():
                self._message(body)
            case RunStarted() | TurnStarted() | TurnFinished() | RunFinished() | ContentRetracted():
                self._course(body)
            case UsageReported():
                self._usage(body)
            case _:
                if not self._calls.show(event):
                    self._remark(body)

    def replay(self, rows: Iterable[dict[str, Any]]) -> None:
        """Show what a log's rows tell from its beginning. Blocks are laid out when they are looked at."""
        self._turn, self._streamed, self._in_run = [], False, False
        for event in events_of(rows):
            if isinstance(event.body, UserCommand):
                self._to.add(Note(event.body.output, title=f"! {event.body.command} · {event.body.ended}"))
            else:
                self.show(event)
        self._end_text()
        self._calls.interrupted()

    # -- the course of a run

    def _course(self, body: RunStarted | TurnStarted | TurnFinished | RunFinished | ContentRetracted) -> None:
        match body:
            case RunStarted(prompt=prompt):
                self._in_run = True
                self._to.add(Prompt(prompt))
            case TurnStarted():
                self._end_text()
                self._turn, self._streamed = [], False
                self._standing_in = 0
            case ContentRetracted(as_=as_):
                self._retract(as_)
            case TurnFinished():
                self._end_text()
                self._calls.end_turn()
            case RunFinished():
                self._end_text()
                self._calls.interrupted()
                self._in_run = False
                self._to.add(closing(body))

    def _thinks(self, text: str) -> None:
        entry = self._open
        if entry is None or not isinstance(entry.block, Reasoning):
            self._end_text()
            entry = self._begin(Reasoning(show=self._to.reasoning, started=time.monotonic()))
        self._to.append_text(entry, text)

    def _says(self, text: str) -> None:
        entry = self._open
        if entry is None or not isinstance(entry.block, Answer):
            text = text.lstrip()
            if not text:
                return
            self._end_text()
            entry = self._begin(Answer())
        self._to.append_text(entry, text)

    def _begin(self, block: Answer | Reasoning) -> BlockHandle:
        self._streamed = True
        self._open = self._to.add(block, open_=True)
        self._turn.append(self._open)
        return self._open

    def _end_text(self) -> None:
        if self._open is not None:
            self._to.finish(self._open)
            self._open = None

    def _retract(self, as_: str) -> None:
        """What was shown as content was thinking, or the whole reply is asked for again."""
        self._end_text()
        thought = ""
        for entry in self._turn:
            if isinstance(entry.block, Answer):
                thought += entry.block.source()
            if as_ == "reasoning" and isinstance(entry.block, Reasoning):
                continue
            self._to.replace(entry, Gone())
        self._turn = [entry for entry in self._turn if not isinstance(entry.block, Gone)]
        if as_ == "reasoning" and thought:
            self._thinks(thought)
        if as_ != "reasoning":
            self._calls.take_back()

    # -- messages, which a log has in place of deltas

    def _message(self, body: MessageAdded) -> None:
        if self._standing_in:
            self._standing_in -= 1
            return
        if body.role == Role.ASSISTANT.value:
            self._end_text()
            message = _object(body.text)
            if self._streamed:
                self._complete(_text(message, "content").strip())
            else:
                self._whole_reply(message)
        elif not self._in_run:
            self._outside_run(body.role, _object(body.text))

    def _complete(self, content: str) -> None:
        """Of a reply whose beginning was missed, show all once it is known."""
        answers = [entry for entry in self._turn if isinstance(entry.block, Answer)]
        seen = answers[0].block.source().strip() if len(answers) == 1 else content
        if len(content) > len(seen) and content.endswith(seen):
            self._to.replace(answers[0], Answer(content, done=True))

    def _whole_reply(self, message: dict[str, Any]) -> None:
        thought = next((t for k in ("reasoning", "reasoning_content", "thinking") if (t := _text(message, k))), "")
        if thought.strip():
            block = Reasoning(thought, show=self._to.reasoning, done=True)
            self._turn.append(self._to.add(block))
        if (content := _text(message, "content").strip()) != "":
            self._turn.append(self._to.add(Answer(content, done=True)))
        if not self._in_run:
            self._calls.from_message(message)

    def _outside_run(self, role: str, message: dict[str, Any]) -> None:
        """A session that came from elsewhere has messages only."""
        if role == Role.USER.value:
            said, note = without_note(_text(message, "content"))
            if said:
                self._to.add(Prompt(said))
            if note:
                self._to.add(Quiet(note))
        elif role == Role.TOOL.value:
            self._calls.result(str(message.get("tool_call_id", "")), _text(message, "content"))

    # -- remarks

    def _usage(self, body: UsageReported) -> None:
        self._end_text()
        thoughts = [entry for entry in self._turn if isinstance(entry.block, Reasoning)]
        if len(thoughts) == 1 and body.usage.reasoning:
            cast(Reasoning, thoughts[0].block).measured(body.usage.reasoning)
            self._to.changed(thoughts[0])
        if self.turn_figures:
            self._to.add(Quiet(figures(body)))

    def _remark(self, body: object) -> None:
        match body:
            case Steered(text=text):
                self._end_text()
                self._to.add(Prompt(text, "while it worked"))
            case GuardFired(guard=guard, action=action, detail=detail, cost=cost):
                tone = Tone.QUIET if action == "note" else Tone.WARNING
                self._to.add(Quiet(f"guard {guard}: {action}: {detail}{f' ({cost})' if cost else ''}", tone=tone))
            case HookRan(outcome=outcome):
                self._end_text()
                tone = Tone.WARNING if outcome in ("failed", "blocked") else Tone.QUIET
                self._to.add(Quiet(body.line, tone=tone))
            case Notice(level="error", text=text, remedy=remedy):
                self._to.add(ErrorCard(text, remedy=remedy))
            case Notice(level=level, text=text, remedy=remedy):
                self._to.add(Quiet(text, remedy, Tone.WARNING if level == "warning" else Tone.QUIET))
            case Compacted(detail=detail, before=before, after=after, follow=follow):
                self._standing_in = max(0, follow)
                self._to.add(Quiet(f"compacted: {before:,} to {after:,} tokens: {detail}"))
            case ModeChanged(mode=mode, before=before):
                self._mode_changed(before, mode)
            case TodoChanged(items=items):
                self.on_todo(items)
            case PlanDecided(decision=decision, mode=mode):
                self._to.add(Quiet(plan_words(decision, mode)))
            case QuestionAsked(id=name, text=text):
                self._questions[name] = text
            case QuestionAnswered(id=name, answered=answered, text=text):
                said = text if answered else "no answer"
                self._to.add(Quiet(f"{self._questions.pop(name, 'question')} → {said}"))
            case _:
                pass

    def _mode_changed(self, before: str, mode: str) -> None:
        """One line for changes that follow each other, none if the mode is what it was."""
        if self._mode_line is not None and self._to.is_last(self._mode_line[0]):
            entry, before = self._mode_line
            self._to.replace(entry, Gone() if mode == before else Quiet(f"mode: {before} to {mode}"))
        else:
            self._mode_line = (self._to.add(Quiet(f"mode: {before} to {mode}")), before)


def _object(text: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _text(message: dict[str, Any], key: str) -> str:
    value = message.get(key)
    return value if isinstance(value, str) else ""
