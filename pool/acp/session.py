"""One open session: what happens in it is told to the client, what the client wants is done in it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pool.acp import offers, options
from pool.acp.clientfiles import ClientFiles
from pool.acp.output import UPDATE_SECONDS
from pool.acp.person import Person
from pool.acp.replay import replayed
from pool.acp.turn import Turn
from pool.acp.updates import Updates
from pool.agent.control import Conversation
from pool.agent.modelswitch import Offer
from pool.config.settings import Settings, SettingsError
from pool.events import (
    CallFinished,
    CallOutput,
    Event,
    ModeChanged,
    PlanDecided,
    PlanProposed,
    RunStarted,
    SettingChanged,
    Steered,
    UsageReported,
)
from pool.extend.acp.errors import INTERNAL_ERROR, INVALID_REQUEST, RpcError
from pool.extend.acp.peer import Peer
from pool.facekit.driver import Driver
from pool.wire.errors import ServerProblem
from pool_tools.frozen import frozen

Json = dict[str, Any]

_SHOWN_SETTINGS = frozenset({"thinking", "model"})


@frozen
class Client:
    """What the client offers."""

    reads: bool = False
    writes: bool = False
    forms: bool = False
    terminals: bool = False


class OpenSession:
    """A session, its conversation and the turn that works. Nothing is told before `release`."""

    def __init__(self, peer: Peer, client: Client, folder: Path, settings: Settings) -> None:
        """folder is the workspace as the client named it."""
        self.settings = settings
        self.turn: Turn | None = None
        self._peer = peer
        self._client = client
        self._folder = folder
        self._updates = Updates(folder, terminals=client.terminals)
        self._person = Person(
            *(peer, lambda: self.id, lambda: folder, self._updates.title, self.tell, self._caught_up, self.cancel),
            forms=client.forms,
        )
        self._driver = Driver(
            settings,
            self._person,
            on_event=self._take,
            on_earlier=self._keep_earlier,
            on_open=self._opened,
            on_failed=self._failed,
        )
        self._opening: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._earlier: Sequence[Json] = ()
        self._held: list[Event] | None = []
        self._seen = -1
        self._news = asyncio.Event()
        self._offers: Sequence[Offer] = ()
        self._inputs: list[tuple[str, str]] = []
        self._flushes: dict[str, asyncio.TimerHandle] = {}
        self._files: ClientFiles | None = None
        self._background: set[asyncio.Task[None]] = set()

    # -- opening and closing

    async def open(self) -> None:
        """Open it. Raises `RpcError` with what is missing and what to do about it."""
        self._driver.start()
        try:
            await self._opening
        except BaseException:
            await self._driver.close()
            raise

    def _opened(self) -> None:
        workspace = self.conversation.session.toolbox.commands.workspace
        offered = {"reads": self._client.reads, "writes": self._client.writes}
        if any(offered.values()):
            workspace.editor = self._files = ClientFiles(self._peer, self.id, workspace.root, self._folder, **offered)
        if not self._opening.done():
            self._opening.set_result(None)

    def _failed(self, why: str, remedy: str) -> None:
        if self._opening.done():
            self.tell(self._updates.remark(f"{why}{f' ({remedy})' if remedy else ''}"))
            return
        error = RpcError(INTERNAL_ERROR, f"{why.rstrip('.')}; {remedy}" if remedy else why)
        self._opening.set_exception(error)

    async def close(self) -> None:
        """End what works, and the session with all it started."""
        if (turn := self.turn) is not None:
            self.cancel()
            await turn.done.wait()
        for task in list(self._background):
            task.cancel()
        await self._driver.close()

    @property
    def conversation(self) -> Conversation:
        """The conversation, once it is open."""
        if self._driver.conversation is None:
            raise RpcError(INTERNAL_ERROR, "the session has ended; session/load opens it again")
        return self._driver.conversation

    @property
    def id(self) -> str:
        """The session's id."""
        return self.conversation.hub.session

    # -- telling

    def tell(self, update: Json) -> None:
        """Send an update."""
        self._peer.notify("session/update", {"sessionId": self.id, "update": update})

    def replay(self) -> None:
        """Tell all that the session holds already."""
        for update in replayed(self._earlier, self._folder):
            self.tell(update)
        self._updates.titled = bool(self._earlier)
        self._earlier = ()

    def release(self) -> None:
        """The client knows the session: tell what has happened since, what is offered, and all that happens."""
        held, self._held = self._held or [], None
        for event in held:
            self._show(event)
        self.tell(
            {"sessionUpdate": "available_commands_update", "availableCommands": offers.commands(self.conversation)}
        )
        self._spawn(self._look_for_models())

    def _keep_earlier(self, rows: Sequence[Json]) -> None:
        self._earlier = rows

    def _take(self, event: Event) -> None:
        if self._held is not None:
            self._held.append(event)
        elif self._driver.conversation is not None:
            self._show(event)
        self._seen = max(self._seen, event.envelope.seq)
        self._news.set()

    def _show(self, event: Event) -> None:
        body, call = event.body, event.envelope.call
        if isinstance(body, CallOutput):
            self._put_out(call, body.text)
            return
        if isinstance(body, CallFinished):
            self._flush(call)
        for update in self._updates.of(event):
            self.tell(update)
        match body:
            case RunStarted():
                self._echo(body.prompt, event.envelope.seq)
            case Steered():
                self._echo(body.text, event.envelope.seq)
            case ModeChanged():
                self.tell({"sessionUpdate": "current_mode_update", "currentModeId": body.mode})
                self._tell_options()
            case SettingChanged() if body.name in _SHOWN_SETTINGS:
                self._tell_options()
                if body.name == "model":
                    self._spawn(self._look_for_models())
            case UsageReported():
                self._tell_usage(body)
            case PlanProposed() | PlanDecided() if self.turn is not None:
                self.turn.proposed = body if isinstance(body, PlanProposed) else None
            case _:
                pass

    def _tell_usage(self, body: UsageReported) -> None:
        if window := self.conversation.status().window:
            used = body.usage.prompt + body.usage.completion
            self.tell({"sessionUpdate": "usage_update", "used": used, "size": window})

    def _tell_options(self) -> None:
        self.tell({"sessionUpdate": "config_option_update", "configOptions": self.options()})

    def _echo(self, text: str, seq: int) -> None:
        """Say of which of the client's inputs a prompt or a word is made."""
        for known in [one for one in self._inputs if one[1].strip() in text]:
            self._inputs.remove(known)
            ids = {"poolside/clientInputId": known[0], "poolside/inputEventId": str(seq)}
            self.tell({"sessionUpdate": "session_info_update", "_meta": ids})

    def _put_out(self, call: str, text: str) -> None:
        """Output of a running call: shown with what follows shortly."""
        live = self._updates.live_output(call)
        if live is None:
            return
        live.add(text)
        if call not in self._flushes:
            loop = asyncio.get_running_loop()
            self._flushes[call] = loop.call_later(UPDATE_SECONDS, self._flush, call)

    def _flush(self, call: str) -> None:
        timer = self._flushes.pop(call, None)
        live = self._updates.live_output(call)
        if timer is None or live is None or self._driver.conversation is None:
            return
        timer.cancel()
        self.tell(live.update())

    async def _caught_up(self) -> None:
        """Wait until all that has happened so far has been told."""
        until = self.conversation.hub.last_durable
        while self._seen < until:
            self._news.clear()
            await self._news.wait()

    # -- what the client wants

    async def prompt(self, text: str, input_id: str) -> Json:
        """Work a prompt; the answer to `session/prompt`. Raises `RpcError`.

        While one works another is refused, unless the first is being cancelled: then it comes after it.
        """
        while (before := self.turn) is not None:
            if not before.cancelled:
                raise RpcError(
                    INVALID_REQUEST,
                    "a prompt is being worked: cancel it first (session/cancel), or say something to it "
                    "(_poolside/session_steer)",
                )
            await before.done.wait()
        turn = self.turn = Turn(self.conversation, self._person, self._reply, self._say, self._caught_up)
        if input_id:
            self._inputs.append((input_id, text))
        try:
            return await turn.work(text)
        except asyncio.CancelledError:
            # The request itself was taken back: the run ends as with session/cancel.
            turn.cancel()
            await self._ended()
            raise
        finally:
            self.turn = None
            turn.done.set()

    async def _ended(self) -> None:
        with contextlib.suppress(RpcError):
            while self.conversation.busy:
                self._news.clear()
                await self._news.wait()

    def cancel(self) -> None:
        """Stop the turn, if there is one."""
        if self.turn is not None:
            self.turn.cancel()
        if self._files is not None:
            self._files.give_up()

    def steer(self, text: str, input_id: str) -> None:
        """Say something to the run that works. Raises `RpcError` if none does."""
        if input_id:
            self._inputs.append((input_id, text))
        if offers.is_command(text) or not self.conversation.steer(text):
            self._inputs = [one for one in self._inputs if one[0] != input_id]
            raise RpcError(INVALID_REQUEST, "nothing can be said to a run now: send it as a prompt (session/prompt)")

    async def rewind(self, event: str) -> Json:
        """Go back, files and conversation, to before the prompt that began with an event. Raises `RpcError`."""
        undo = self.conversation.session.undo
        if undo is None:
            raise RpcError(INVALID_REQUEST, "this session is not saved, so nothing is kept to go back to")
        if self.conversation.busy or self.turn is not None:
            raise RpcError(INVALID_REQUEST, "a prompt is being worked: cancel it first (session/cancel)")
        number = next((p.number for p in await undo.prompts() if str(p.seq) == event), 0)
        if not number:
            raise RpcError(INVALID_REQUEST, f"no prompt of this session began with the event {event!r}")
        done = await undo.carry_out(await undo.plan(str(number)))
        return {
            "files": [step.path for step in done.steps],
            "failures": [{"path": one.path, "why": one.why} for one in done.failures],
        }

    def modes(self) -> Json:
        """The approval modes."""
        return options.modes(self.conversation)

    def options(self) -> list[Json]:
        """The config options with their values."""
        return options.options(self.conversation, self._offers)

    def set_mode(self, name: str) -> None:
        """Set the approval mode. Raises `RpcError`."""
        options.set_mode(self.conversation, name)

    async def set_option(self, option: str, value: Any) -> list[Json]:
        """Set one; all of them as they are then. Raises `RpcError`."""
        await options.set_option(self.conversation, option, value, self._person.consents)
        if option == options.MODEL:
            await self._find_models()
        return self.options()

    def _reply(self, text: str) -> None:
        self.tell(self._updates.reply(text))

    def _say(self, text: str) -> None:
        self.tell(self._updates.remark(text))

    # -- in the background

    async def _look_for_models(self) -> None:
        before = self._offers
        await self._find_models()
        if [offer.name for offer in self._offers] != [offer.name for offer in before]:
            self._tell_options()

    async def _find_models(self) -> None:
        with contextlib.suppress(ServerProblem, SettingsError, RpcError, OSError):
            self._offers = await self.conversation.session.models.offers()

    def _spawn(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
