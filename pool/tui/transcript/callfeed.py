"""From the events of tool calls to cards."""

from __future__ import annotations

import time
from typing import Any, cast

from pool.events import (
    ApprovalAsked,
    ApprovalGiven,
    CallFinished,
    CallOutput,
    CallProgress,
    CallProposed,
    CallStarted,
    Event,
    TaskProgress,
)
from pool.facekit.words import task_words
from pool.tui.transcript.card import CallFacts, CallState, ToolCard
from pool.tui.transcript.gone import Gone
from pool.tui.transcript.widget import BlockHandle, Transcript

_RUN_ENDED = "the run ended before this call did"


class CallFeed:
    """Keeps which card is which call's."""

    def __init__(self, transcript: Transcript) -> None:
        self._to = transcript
        self._writing: dict[int, BlockHandle] = {}
        self._cards: dict[str, BlockHandle] = {}
        self._asked_at: dict[str, float] = {}

    def show(self, event: Event) -> bool:
        """Show an event of a call; False if it is none."""
        call, body = event.envelope.call, event.body
        match body:
            case CallProgress():
                self._progress(body)
            case CallProposed():
                self._proposed(call, body)
            case CallOutput(text=text):
                if call in self._cards:
                    self._to.append_text(self._cards[call], text)
            case ApprovalAsked():
                self._asked(call, body)
            case ApprovalGiven(allowed=allowed):
                if allowed:
                    self._allowed(call)
            case CallStarted():
                self._further(call, state=CallState.RUNNING, started=time.monotonic())
            case TaskProgress():
                self._further(call, note=task_words(body))
            case CallFinished():
                self._finished(call, body)
            case _:
                return False
        return True

    def _progress(self, body: CallProgress) -> None:
        entry = self._writing.get(body.index)
        facts = CallFacts(body.name, CallState.WRITING, path=body.path, chars=body.chars)
        if entry is None:
            self._writing[body.index] = self._to.add(ToolCard(facts))
        else:
            self._to.replace(entry, ToolCard(facts))

    def _proposed(self, call: str, body: CallProposed) -> None:
        if call in self._cards:
            # An agent that is not Pool's own tells more of a call as it goes on.
            kind, preview = body.preview_kind, body.preview
            self._further(call, name=body.name, title=body.title, preview_kind=kind, preview=preview)
            return
        facts = CallFacts(body.name, CallState.PROPOSED, body.title, body.preview_kind, body.preview)
        entry = self._written(body)
        if entry is None:
            self._cards[call] = self._to.add(ToolCard(facts))
        else:
            self._cards[call] = entry
            self._to.replace(entry, ToolCard(facts))

    def _written(self, body: CallProposed) -> BlockHandle | None:
        """The card that showed how this call's arguments were written."""
        path = body.arguments.get("path", "")
        best = None
        for index, entry in self._writing.items():
            facts = cast(ToolCard, entry.block).facts
            if facts.name == body.name and (best is None or (path and facts.path == path)):
                best = index
        return None if best is None else self._writing.pop(best)

    def _allowed(self, call: str) -> None:
        """A call that had begun before it asked goes on; the wait is no part of its time."""
        asked = self._asked_at.pop(call, 0.0)
        if (entry := self._cards.get(call)) is None:
            return
        started = cast(ToolCard, entry.block).facts.started
        if started:
            self._further(call, state=CallState.RUNNING, why="", started=started + time.monotonic() - asked)
        else:
            self._further(call, state=CallState.PROPOSED, why="")

    def _asked(self, call: str, body: ApprovalAsked) -> None:
        self._asked_at[call] = time.monotonic()
        changes: dict[str, object] = {"state": CallState.WAITING, "why": body.why}
        if body.preview:
            changes |= {"preview_kind": body.preview_kind, "preview": body.preview}
        self._further(call, **changes)

    def _finished(self, call: str, body: CallFinished) -> None:
        if call not in self._cards:
            self._cards[call] = self._to.add(ToolCard(CallFacts(body.name, CallState.RUNNING)))
        try:
            state = CallState(body.status)
        except ValueError:
            state = CallState.FAILED
        status = body.data.get("exit_status")
        self._further(
            call,
            state=state,
            result=body.text,
            seconds=body.seconds,
            exit_status=status if isinstance(status, int) else None,
            added=sum(c.added for c in body.changes),
            removed=sum(c.removed for c in body.changes),
        )
        self._to.finish(self._cards.pop(call))

    def _further(self, call: str, **changes: object) -> None:
        entry = self._cards.get(call)
        if entry is not None:
            self._to.replace(entry, cast(ToolCard, entry.block).with_facts(**changes))

    def end_turn(self) -> None:
        """Calls that were written and never proposed are taken back."""
        self.take_back()

    def take_back(self) -> None:
        """Take back the cards of arguments that were being written."""
        for entry in self._writing.values():
            self._to.replace(entry, Gone())
        self._writing.clear()

    def interrupted(self) -> None:
        """No call goes on."""
        for index, entry in list(self._writing.items()):
            self._to.replace(entry, _interrupted(cast(ToolCard, entry.block)))
            del self._writing[index]
        for call in list(self._cards):
            entry = self._cards.pop(call)
            self._to.replace(entry, _interrupted(cast(ToolCard, entry.block)))

    # -- messages of a session without events

    def from_message(self, message: dict[str, Any]) -> None:
        """The calls of an assistant message."""
        calls = message.get("tool_calls")
        for call in cast(list[Any], calls) if isinstance(calls, list) else []:
            found = cast(dict[str, Any], call) if isinstance(call, dict) else {}
            function = found.get("function")
            about = cast(dict[str, Any], function) if isinstance(function, dict) else {}
            name, arguments = str(about.get("name", "call")), about.get("arguments", "")
            facts = CallFacts(name, CallState.PROPOSED, f"{name} {arguments}")
            self._cards[str(found.get("id", ""))] = self._to.add(ToolCard(facts))

    def result(self, call: str, text: str) -> None:
        """The result of such a call."""
        if call in self._cards:
            self._further(call, state=CallState.OK, result=text)
            del self._cards[call]


def _interrupted(card: ToolCard) -> ToolCard:
    return card.with_facts(state=CallState.INTERRUPTED, why=_RUN_ENDED)
