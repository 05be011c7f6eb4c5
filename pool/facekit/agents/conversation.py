"""A conversation with another agent: what `Conversation` is to one with Pool's own."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from pool.agent.ids import new_id
from pool.config.settings import Mode
from pool.events import (
    Body,
    ContentDelta,
    Envelope,
    Event,
    ModeChanged,
    Notice,
    QueueChanged,
    RunFinished,
    RunStarted,
    Usage,
    UsageReported,
    Waiting,
)
from pool.extend.acp.peer import Handler
from pool.facekit.agents.connection import AGAIN, AgentConnection
from pool.facekit.agents.descriptions import AgentError
from pool.facekit.agents.earlier import Retelling
from pool.facekit.agents.files import AgentFiles
from pool.facekit.agents.offered import Offered, Option, offered, option_of
from pool.facekit.agents.permissions import Permissions
from pool.facekit.agents.steering import Steering
from pool.facekit.agents.translating import Json, Translator, row_of, rows_of
from pool.facekit.clean import one_line
from pool.facekit.glance import OUTSIDE, Glance
from pool.ports import Approver
from pool.stops import STOP_TABLE, StopReason

CANCEL_SECONDS = 10.0
"""How long an agent may take to end a turn that was cancelled; then its process is ended."""

TURN_SECONDS = 30 * 24 * 3600.0
"""A turn has no limit but the person's patience."""

UPDATES_BYTES_MOST = 64 * 1024 * 1024
"""So much text may one turn bring; an agent that sends more is ended."""

REASONS = {
    "end_turn": StopReason.COMPLETED,
    "cancelled": StopReason.INTERRUPTED,
    "max_tokens": StopReason.MAX_TOKENS,
    "max_turn_requests": StopReason.MAX_TURNS,
    "refusal": StopReason.GAVE_UP,
}


class AgentConversation:
    """Used on the face's loop. on_event gets what happens; session is a name for events, made here.

    alive: prompts can be worked. commands and modes are the agent's own.
    """

    def __init__(
        self, connection: AgentConnection, folder: Path, approver: Approver, on_event: Callable[[Event], None]
    ) -> None:
        self.connection = connection
        self.alive = False
        self.busy = False
        self.commands: tuple[Offered, ...] = ()
        self.modes: tuple[Offered, ...] = ()
        self.options: tuple[Option, ...] = ()
        self.mode = ""
        self.model = ""
        self.window = self.used = 0
        self._folder = folder
        self._on_event = on_event
        self._session = new_id()
        self._run = ""
        self._seq = 0
        self._queue: list[str] = []
        self._answer: list[str] = []
        self._mode_option = ""
        self._chars = 0
        self._stopped = False
        self._watch: asyncio.TimerHandle | None = None
        self._changing: asyncio.Task[None] | None = None
        self._calls = Translator(folder)
        self._files = AgentFiles(folder)
        self._permissions = Permissions(approver, self._calls, folder, self.tell)
        self._steering = Steering(connection, self.tell, self._queue_changed)
        self._ending = False
        self._retelling: Retelling | None = None
        methods: dict[str, Handler] = {
            "session/request_permission": self._permissions.asked,
            "fs/read_text_file": self._files.read,
            "fs/write_text_file": self._files.write,
        }
        connection.serve(methods, {"session/update": self._updated})

    # -- opening and closing

    def retell(self) -> None:
        """Keep what the agent tells from now on as the past of the session that is opened."""
        self._retelling = Retelling(self._folder)

    def opened(self) -> Sequence[dict[str, Any]]:
        """The session is open: what it said then holds. What was told of its past, as rows of a session's log."""
        self.alive = True
        retelling, self._retelling = self._retelling, None
        said = self.connection.opened
        modes = row_of(said.get("modes"))
        self.modes = tuple(offered(one, "id") for one in rows_of(modes.get("availableModes")))
        self.mode = str(modes.get("currentModeId") or "")
        models = row_of(said.get("models"))
        current = models.get("currentModelId")
        named = {one.get("modelId"): one.get("name") for one in rows_of(models.get("availableModels"))}
        self.model = one_line(str(named.get(current) or current or ""))
        self._take_options(said.get("configOptions"))
        return retelling.rows() if retelling is not None else ()

    async def close(self) -> None:
        """End the agent with all it started."""
        self.alive = False
        if self._watch is not None:
            self._watch.cancel()
        self._permissions.cancel()
        self._steering.close()
        await self.connection.close()
        self._files.close()

    # -- what a face asks

    def glance(self) -> Glance:
        """What the status line says."""
        title = self.connection.agent.title
        mode = next((one.about or one.name for one in self.modes if one.name == self.mode), self.mode)
        model = f"{title}, {self.model}" if self.model else title
        return Glance(Mode.DEFAULT, OUTSIDE, model, self.window, one_line(mode) or "its own mode")

    @property
    def last_answer(self) -> str:
        """What the agent has said in this turn, or the last one."""
        return "".join(self._answer)

    def queued(self) -> tuple[str, ...]:
        """Prompts that wait for the run to end."""
        return tuple(self._queue)

    def waiting_steering(self) -> tuple[str, ...]:
        """What was said to the run and it does not have yet."""
        return self._steering.waiting()

    def steer(self, text: str) -> bool:
        """Say something to the run; False where none works, or where the agent has no way for that."""
        if not self.busy or not self.alive or self._ending or self._stopped:
            return False
        return self._steering.say(text)

    def queue(self, prompt: str) -> None:
        """Keep a prompt for after the run."""
        self._queue.append(prompt)
        self._queue_changed()

    def drop_queued(self, index: int) -> None:
        """Take a queued prompt out by its place, from 0."""
        if index < len(self._queue):
            del self._queue[index]
            self._queue_changed()

    def stop(self) -> bool:
        """Cancel the turn; False if none works. An agent that does not end it is ended after `CANCEL_SECONDS`."""
        if not self.busy:
            return False
        if not self._stopped:
            self._stopped = True
            self.connection.peer.notify("session/cancel", {"sessionId": self.connection.session})
            self._permissions.cancel()
            self._watch = asyncio.get_running_loop().call_later(CANCEL_SECONDS, self._ignored)
        return True

    def set_mode(self, mode: Mode) -> None:
        """The next of the agent's own modes: Pool's do not hold there."""
        names = [one.name for one in self.modes]
        if len(names) > 1:
            after = names[(names.index(self.mode) + 1) % len(names)] if self.mode in names else names[0]
            self._changing = asyncio.create_task(self._try_mode(after))

    async def choose_mode(self, name: str) -> None:
        """Set the agent's mode. Raises `AgentError`."""
        params = {"sessionId": self.connection.session}
        if option := self._mode_option:
            method, params = "session/set_config_option", {**params, "configId": option, "value": name}
        else:
            method, params = "session/set_mode", {**params, "modeId": name}
        await self.connection.ask(method, params, CANCEL_SECONDS)
        self._mode_is(name)

    async def set_option(self, option: Option, value: str) -> None:
        """Set one of the agent's own settings. Raises `AgentError`."""
        given: Json = {"type": "boolean", "value": value == "on"} if option.switch else {"value": value}
        params: Json = {"sessionId": self.connection.session, "configId": option.id, **given}
        answer = row_of(await self.connection.ask("session/set_config_option", params, CANCEL_SECONDS))
        self._take_options(answer.get("configOptions"))

    async def work(self, prompt: str) -> RunFinished:
        """Work a prompt, then those that wait; how the last one ended."""
        finished = await self._turn(prompt)
        while self._queue and self.alive and finished.reason is not StopReason.INTERRUPTED:
            prompt = self._queue.pop(0)
            self._queue_changed()
            finished = await self._turn(prompt)
        return finished

    # -- a turn

    async def _turn(self, prompt: str) -> RunFinished:
        agent = self.connection.agent
        self._run, self.busy, self._stopped, self._chars = new_id(), True, False, 0
        self._ending = False
        self._answer.clear()
        began = time.monotonic()
        self.tell(RunStarted(prompt, str(self._folder), self.model, agent.title, self.mode, OUTSIDE))
        self.tell(Waiting("agent", agent.title))
        try:
            reason, detail = await self._ended(prompt)
            if reason not in (StopReason.INTERRUPTED, StopReason.SERVER_FAILED):
                for body, call in self._calls.unsaid():
                    self.tell(body, call)
            if self._watch is not None:
                self._watch.cancel()
            self._ending = True
            # What the run did not take is worked after it, before what waited for its end.
            if left := await self._steering.left():
                self._queue[:0] = left
                self._queue_changed()
        finally:
            self.busy = False
            self._calls.calls.clear()
        seconds = time.monotonic() - began
        usage = Usage(prompt=self.used, estimated=True)
        if self.used:
            self.tell(UsageReported(usage, 0.0, 0.0))
        finished = RunFinished(reason, STOP_TABLE[reason].exit, detail, self.last_answer, 1, seconds, usage)
        self.tell(finished)
        return finished

    async def _ended(self, prompt: str) -> tuple[StopReason, str]:
        """How the turn ended, and what there is to say of it."""
        try:
            return await self._answered(prompt)
        except AgentError as error:
            if self._stopped:
                return StopReason.INTERRUPTED, str(error)
            if self.alive:
                self.tell(Notice("error", str(error), error.remedy))
            return StopReason.SERVER_FAILED, str(error)

    async def _answered(self, prompt: str) -> tuple[StopReason, str]:
        if not self.alive:
            raise AgentError(f"{self.connection.agent.title} does not run", AGAIN)
        params = {"sessionId": self.connection.session, "prompt": [{"type": "text", "text": prompt}]}
        given = row_of(await self.connection.ask("session/prompt", params, TURN_SECONDS))
        said = str(given.get("stopReason"))
        if self._stopped:
            return StopReason.INTERRUPTED, ""
        reason = REASONS.get(said, StopReason.GAVE_UP)
        return reason, "" if said in ("end_turn", "cancelled") else f"the agent says {one_line(said)!r}"

    def _ignored(self) -> None:
        title = self.connection.agent.title
        self.tell(Notice("warning", f"{title} did not stop within {CANCEL_SECONDS:.0f} s: it is ended", AGAIN))
        self.connection.kill()

    # -- what the agent tells

    async def _updated(self, params: Json) -> None:
        # What comes before the answer to `session/new` is of that session, whose id is not known yet.
        if self.alive and params.get("sessionId") != self.connection.session:
            return
        update = row_of(params.get("update"))
        match update.get("sessionUpdate"):
            case "available_commands_update":
                self.commands = tuple(offered(one, "name") for one in rows_of(update.get("availableCommands")))
            case "current_mode_update":
                self._mode_is(str(update.get("currentModeId") or ""))
            case "config_option_update":
                self._take_options(update.get("configOptions"))
            case "usage_update":
                self.used, self.window = _tokens(update.get("used")), _tokens(update.get("size"))
            case "session_info_update":
                self._steering.heard(update)
            case _ if self._retelling is not None:
                self._retelling.take(update)
            case _ if self.busy:
                self._show(update)
            case _:
                pass

    def _show(self, update: Json) -> None:
        for body, call in self._calls.of(update):
            text = getattr(body, "text", "")
            self._chars += len(text) if isinstance(text, str) else 0
            if isinstance(body, ContentDelta):
                self._answer.append(body.text)
            self.tell(body, call)
        if self._chars > UPDATES_BYTES_MOST:
            title = self.connection.agent.title
            text = f"{title} sent more than {UPDATES_BYTES_MOST:,} characters in one turn: it is ended"
            self._chars = 0
            self.tell(Notice("error", text, AGAIN))
            self.connection.kill()

    def _take_options(self, given: Any) -> None:
        if isinstance(given, list):
            self.options = tuple(option_of(one) for one in rows_of(cast(Any, given)))
        for option in rows_of(given):
            current = option.get("currentValue")
            if not isinstance(current, str):
                continue
            match option.get("category"):
                case "model":
                    self.model = one_line(current)
                case "mode" if not self.modes or self._mode_option:
                    self._mode_option = str(option.get("id"))
                    self.modes = tuple(offered(one, "value") for one in rows_of(option.get("options")))
                    self._mode_is(current)
                case _:
                    pass

    def _mode_is(self, name: str) -> None:
        if name and name != self.mode:
            before, self.mode = self.mode, name
            if before:
                self.tell(ModeChanged(one_line(name), one_line(before)))

    async def _try_mode(self, name: str) -> None:
        try:
            await self.choose_mode(name)
        except AgentError as error:
            with contextlib.suppress(RuntimeError):
                self.tell(Notice("warning", str(error), error.remedy))

    def tell(self, body: Body, call: str = "") -> None:
        """Hand an event to the face."""
        seq = self._seq
        self._seq += 1
        run = self._run if self.busy or isinstance(body, RunFinished | UsageReported) else ""
        envelope = Envelope(self._session, run, 0, seq, time.time(), time.monotonic(), "", call)
        self._on_event(Event(envelope, body))

    def _queue_changed(self) -> None:
        self.tell(QueueChanged(self.queued()))


def _tokens(given: Any) -> int:
    return int(given) if isinstance(given, int | float) and not isinstance(given, bool) and 0 < given < 2**53 else 0
