"""The question about a plan that waits, and what answers mean. It is put once the run that made the plan is over."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from pool.agent.plan import WAITS, Decision
from pool.config.settings import Mode
from pool.events import Body, PlanDecided, PlanProposed, RunFinished, RunStarted
from pool.ports import Answer, Question

_MODES = (Mode.AUTO, Mode.ACCEPT_EDITS, Mode.DEFAULT)
_STEP = re.compile(
    r"\s*(?:[-*+]\s+)?(?:(?:#+\s*|\*\*|__)(?:\w+\s+)?|step\s+)?\d{1,3}[.):](?:[\s*_]|$)|\s*[-*+]\s+\[[ xX]\]\s",
    re.IGNORECASE,
)
"""A line that begins a step: `1. look`, `### Step 2: mend`, `**3)** test`, `- [ ] look`."""

_FENCE = re.compile(r"\s*(?:```|~~~)")

NO_STEPS = "no steps, so no plan to ask about; /plan approve takes it as one"
"""Said of an answer in plan mode that reads like the answer to a question."""

_EDIT, _DROP = "no, edit it first", "no, drop it"


def plan_question(usual: str) -> Question:
    """The question; usual is the mode that is offered first. An answer in own words says what should be different."""
    modes = dict.fromkeys([*filter(None, (usual,)), *(mode.value for mode in _MODES)])
    choices = (*(_yes(str(mode)) for mode in modes), _EDIT, _DROP)
    return Question("plan", "Carry out this plan? In your own words: what should be different.", choices)


def line_for(answer: Answer) -> str:
    """What a person would type for an answer: a command, or a prompt that asks for changes."""
    match answer.text:
        case text if text == _EDIT:
            return "/plan edit"
        case text if text == _DROP:
            return "/plan drop"
        case text:
            chosen = next((mode.value for mode in Mode if text == _yes(mode.value)), "")
            return f"/plan approve {chosen}" if chosen else text


def has_steps(text: str) -> bool:
    """Whether an answer in plan mode is a plan to ask about: it has steps, outside of fenced code."""
    inside = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            inside = not inside
        elif not inside and _STEP.match(line):
            return True
    return False


class PlanAsking:
    """Puts the question at the right time, and takes it back when something else decides. Used on the face's loop.

    ask brings a question to the person; send does a line as if it were typed; say tells a short remark.
    """

    def __init__(
        self,
        ask: Callable[[Question], Awaitable[Answer | None]],
        send: Callable[[str], object],
        say: Callable[[str], object],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._ask = ask
        self._send = send
        self._say = say
        self._spawn = spawn
        self._proposed: PlanProposed | None = None
        self._asking: asyncio.Task[None] | None = None

    def take(self, body: Body) -> None:
        """Follow an event."""
        match body:
            case PlanProposed():
                self._proposed = body
            case RunFinished() if self._proposed is not None:
                if has_steps(self._proposed.text):
                    self.put(self._proposed.mode)
                else:
                    self._say(NO_STEPS)
                self._proposed = None
            case PlanDecided(decision=Decision.EDITED.value, mode=mode):
                self.put(mode)
            case RunStarted() | PlanDecided():
                self._proposed = None
                self.take_back()
            case _:
                pass

    def put(self, usual: str) -> None:
        """Ask about the plan that waits."""
        self.take_back()
        self._asking = self._spawn(self._put(usual))

    def take_back(self) -> None:
        """The question is out of date."""
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    async def _put(self, usual: str) -> None:
        answer = await self._ask(plan_question(usual))
        # From here on nothing takes it back: what is sent now decides.
        self._asking = None
        if answer is None:
            self._say(WAITS)
        else:
            self._send(line_for(answer))


def _yes(mode: str) -> str:
    return f"yes, in mode {mode}"
