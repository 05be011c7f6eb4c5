"""Words for a run of another agent that works already, by whichever way the agent has for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from pool.agent.ids import new_id
from pool.events import Body, Steered
from pool.facekit.agents.abilities import Steers
from pool.facekit.agents.descriptions import AgentError
from pool.facekit.agents.translating import Json, row_of

if TYPE_CHECKING:
    from pool.facekit.agents.connection import AgentConnection

STEER_SECONDS = 10.0
"""How long an agent may take to say whether it takes a word."""


class Steering:
    """Of one session. A word is shown once the agent has it; what no turn took is given back at the turn's end."""

    def __init__(
        self, connection: AgentConnection, tell: Callable[[Body], object], changed: Callable[[], object]
    ) -> None:
        self._connection = connection
        self._tell = tell
        self._changed = changed
        self._waiting: dict[str, str] = {}
        self._asking: set[asyncio.Task[None]] = set()

    def waiting(self) -> tuple[str, ...]:
        """Words on their way."""
        return tuple(self._waiting.values())

    def say(self, text: str) -> bool:
        """Say something to the run; False where that cannot be. Commands are prompts of their own."""
        how = self._connection.abilities.steers
        if not how or text.startswith("/"):
            return False
        word = new_id()
        self._waiting[word] = text
        task = asyncio.create_task(self._say(how, word, text))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)
        return True

    def heard(self, update: Json) -> None:
        """A `session_info_update` may say that the run has a word of the person's."""
        word = row_of(update.get("_meta")).get("poolside/clientInputId")
        if isinstance(word, str):
            self._taken(word)

    async def left(self) -> list[str]:
        """At the end of a turn: what it did not take, in order."""
        if self._asking:
            await asyncio.wait(set(self._asking))
        left, self._waiting = list(self._waiting.values()), {}
        return left

    def close(self) -> None:
        """Say nothing more."""
        for task in self._asking:
            task.cancel()

    async def _say(self, how: Steers, word: str, text: str) -> None:
        params: Json = {"sessionId": self._connection.session, "prompt": [{"type": "text", "text": text}]}
        if how is Steers.POOLSIDE:
            params["inputId"] = word
        else:
            # Else it would begin a turn of its own, of which nobody waits for the end.
            params["_meta"] = {"steering": {"idleBehavior": "promptRequired"}}
        try:
            given = row_of(await self._connection.ask(how.value, params, STEER_SECONDS))
        except AgentError:
            return
        if how is Steers.INJECTED and given.get("outcome") == "injected":
            self._taken(word)

    def _taken(self, word: str) -> None:
        if (text := self._waiting.pop(word, None)) is not None:
            self._tell(Steered(text))
            self._changed()
