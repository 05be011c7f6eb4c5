"""What the user says while a run works: kept until a safe point, then a message like any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pool.agent.guards.thinking import closed_thought
from pool.agent.history import History
from pool.agent.hub import EventHub
from pool.events import Steered
from pool.wire.reading import Reading

LEAST_KEPT_CHARS = 200
"""A thought that was ended for the user is kept if it is at least so long; below, nothing worth keeping is lost."""

ENDED_FOR_USER = "[Pool] The thought was ended here, because the user has something to say."
"""What such a reply says in place of an answer; strict servers refuse an assistant message without content."""

TAKEN_BACK = "[Pool] The user took it back. Go on."
"""What follows a thought that was ended for a text which was then taken back: the history needs the user's turn."""


class Steering:
    """Texts that wait for the running turn's next safe point. changed is called when they are added or taken.

    worded gives a text as it goes to the model.
    """

    def __init__(self, history: History, hub: EventHub) -> None:
        self._history = history
        self._hub = hub
        self._waiting: list[str] = []
        self._in_thought = False
        self._owes_a_turn = False
        self.changed: Callable[[], object] = lambda: None
        self.worded: Callable[[str], str] = str

    @property
    def waiting(self) -> tuple[str, ...]:
        """What has not reached the model yet, oldest first."""
        return tuple(self._waiting)

    def wants(self) -> bool:
        """Whether anything waits."""
        return bool(self._waiting)

    def add(self, text: str) -> None:
        """Say something to the running run."""
        self._waiting.append(text)
        self.changed()

    def drop(self, index: int) -> str:
        """Take one back by its place, from 0: the model never gets it. Raises IndexError."""
        text = self._waiting.pop(index)
        self.changed()
        return text

    def take(self) -> tuple[str, ...]:
        """What never reached the model; it waits no longer."""
        left, self._waiting = tuple(self._waiting), []
        if left:
            self.changed()
        return left

    def end_thought(self, reading: Reading) -> None:
        """Keep a thought that was ended for the user: what the server has cached of it stays usable."""
        self._in_thought = True
        if len(reading.reasoning) < LEAST_KEPT_CHARS:
            return
        thought = closed_thought(reading.reasoning, keep=-1)
        self._history.add_assistant(replace(reading, reasoning=thought, content=ENDED_FOR_USER), [])
        self._owes_a_turn = True

    def deliver(self) -> bool:
        """Put what waits into the history, as one message of the user; False if there is nothing to add."""
        if not self._waiting:
            if owes := self._owes_a_turn:
                self._history.add_user(TAKEN_BACK)
            self._in_thought = self._owes_a_turn = False
            return owes
        text = "\n\n".join(self._waiting)
        self._hub.emit(Steered(text, self._in_thought))
        self._history.add_user(self.worded(text))
        self._waiting, self._in_thought, self._owes_a_turn = [], False, False
        self.changed()
        return True
