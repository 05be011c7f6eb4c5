"""Where hooks meet a run: its prompt, what the user says while it works, its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pool.agent.history import History
from pool.agent.hub import EventHub
from pool.agent.state import RunState, Stop
from pool.agent.steering import Steering
from pool.events import Notice, StopReason

if TYPE_CHECKING:
    from pool.agent.hooking import SessionHooks

ASKED_TO_GO_ON = "[Pool] The run was to end here, but a hook of the user asks you to go on:"


class RunHooks:
    """The hooks of one conversation, as its loop asks them; all of it does nothing where there are none."""

    def __init__(self, hooks: SessionHooks | None, history: History, steering: Steering, hub: EventHub) -> None:
        self._hooks = hooks
        self._history = history
        self._steering = steering
        self._hub = hub
        self._went_on = 0

    @property
    def look_at_prompts(self) -> bool:
        """Whether a prompt has to wait for hooks before it may enter the history."""
        return self._hooks is not None and (self._hooks.at_start or self._hooks.at_prompts)

    def begin(self) -> None:
        """A run begins: it may be kept from ending as often as any."""
        self._went_on = 0

    async def prompt(self, run: RunState, more: str) -> Stop | None:
        """Put the run's prompt into the history as the hooks leave it, and more behind it; a stop if they refuse it."""
        assert self._hooks is not None
        said = await self._hooks.prompt(run.prompt)
        if said.blocked:
            return Stop(StopReason.DENIED, f"the prompt was not sent: {said.blocked}", natural=True)
        run.prompt = said.prompt or run.prompt
        self._history.add_user("\n\n".join(part for part in (run.prompt, said.context, more) if part))
        return None

    async def steering(self) -> None:
        """Show the hooks what waits to be said to the running run; what they refuse does not reach the model."""
        if self._hooks is None or not self._steering.wants() or not self._hooks.at_prompts:
            return
        left: list[str] = []
        seen = 0
        while seen < len(self._steering.waiting):
            text = self._steering.waiting[seen]
            said = await self._hooks.prompt(text)
            seen += 1
            if said.blocked:
                self._hub.emit(Notice("warning", f"what you said was not sent: {said.blocked}"))
            else:
                left.append("\n\n".join(part for part in (said.prompt or text, said.context) if part))
        self._steering.take()
        for text in left:
            self._steering.add(text)

    async def at_end(self, run: RunState, stop: Stop) -> Stop | None:
        """How a run ends whose model has given its answer; None if a hook asks it to go on."""
        if self._hooks is None or not self._hooks.at_stop or self._steering.wants():
            return stop
        said = await self._hooks.stop(stop.reason.value, run.answer, self._went_on)
        if said.blocked:
            return Stop(StopReason.DENIED, said.blocked, natural=True)
        if not said.go_on:
            return stop
        self._went_on += 1
        run.answer = ""
        self._history.add_user(f"{ASKED_TO_GO_ON}\n{said.go_on}")
        return None

    async def cut_short(self, run: RunState, stop: Stop) -> None:
        """A run ends that a budget or a guard stopped; nothing keeps it from that."""
        if self._hooks is not None and self._hooks.at_stop:
            await self._hooks.stop(stop.reason.value, run.answer, -1)
