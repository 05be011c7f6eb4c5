"""The session's server: found, named, and asked beside the first request what it is."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from pool.config.settings import USUAL_PORTS, Settings, SettingsError
from pool.wire.client import ChatClient
from pool.wire.dialects import Dialect, for_address
from pool.wire.endpoint import Endpoint, parse_endpoint
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.identify import ServerInfo
from pool.wire.probe import discover, probe
from pool.wire.retry import RetryPolicy
from pool.wire.trace import TraceWriter
from pool.wire.transport import Transport

START_HINT = (
    "start one, for example: vllm serve poolside/Laguna-S-2.1-NVFP4 --enable-auto-tool-choice "
    "--tool-call-parser poolside_v1 --reasoning-parser poolside_v1 --port 8000; "
    "or name one with --base-url or POOL_BASE_URL; or try Pool without a model: pool sim"
)


class NoServer(SettingsError):
    """No address is set, and no model server answers on the usual ports."""


PROBE_GAP_SECONDS = 1.0
CONTROL_SECONDS = 2.0
"""How long a server may take to accept that a thought is to end."""


class ServerLink:
    """A client to one server and what is known about it. `info` is None until the probe has answered."""

    def __init__(self, client: ChatClient, settings: Settings, model: str, info: ServerInfo | None) -> None:
        self.client = client
        self.model = model
        self.info = info
        self._given_window = settings.window
        self._thinking = settings.thinking
        self._task: asyncio.Task[ServerInfo] | None = None
        self._looked_again = False

    async def __aenter__(self) -> Self:
        if self.info is None:
            self._ask()
        return self

    def _ask(self) -> None:
        self._task = asyncio.create_task(probe(self.client.transport, self.model))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self.client.transport.aclose()

    @property
    def display(self) -> str:
        """The server's address without secrets."""
        return self.client.transport.endpoint.display

    def look(self) -> ServerInfo | None:
        """The probe's result, if it has come; never waits. A second one counts only if it found a window."""
        if self._task is not None and self._task.done():
            found, self._task = self._task.result(), None
            if self.info is None or (found.window and found.kind is self.info.kind):
                self.info = found
        return self.info

    async def settled(self) -> None:
        """Wait until the server has said what it is, or has not answered in its time: its window is known then."""
        if self._task is not None:
            await asyncio.wait({self._task})
        self.look()

    def look_again(self) -> None:
        """Ask once more, after a reply: some servers tell their window only once the model is loaded. Never waits."""
        if self._looked_again or self.window or not self.dialect.window_when_loaded or self._task is not None:
            return
        self._looked_again = True
        self._ask()

    @property
    def asked(self) -> bool:
        """Whether what the server says of itself is known, and no answer is awaited."""
        return self.look() is not None and self._task is None

    def set_thinking(self, on: bool) -> None:
        """Switch thinking for the requests to come."""
        self._thinking = on

    @property
    def window(self) -> int:
        """The context window in tokens as set by the user, else as the server says; 0 if unknown."""
        info = self.look()
        return self._given_window or (info.window if info else 0)

    @property
    def dialect(self) -> Dialect:
        """What this server understands; until it is known, what its address says, else the generic dialect."""
        info = self.look()
        return info.dialect if info else for_address(self.client.transport.endpoint.base_url)

    @property
    def extra(self) -> Mapping[str, Any]:
        """Request fields that this server understands beyond the common ones. None of them touches the prompt."""
        dialect = self.dialect
        extra: dict[str, Any] = dict(dialect.thinking(self._thinking))
        extra.pop(dialect.shape.thinking_field, None)
        extra.update(dialect.repetition_detection)
        extra.update(dialect.reasoning_control)
        if dialect.continuous_usage:
            extra["stream_options"] = {"continuous_usage_stats": True}
        return extra

    async def end_reasoning(self) -> bool:
        """Ask the server to end the thought that it is writing; False where it cannot (llama.cpp can)."""
        path, reply_id = self.dialect.reasoning_control_path, self.client.reply_id
        if not path or not reply_id:
            return False
        try:
            await self.client.transport.post_json(path, {"id": reply_id, "action": "reasoning_end"}, CONTROL_SECONDS)
        except ServerProblem:
            return False
        return True


def endpoint_of(settings: Settings) -> Endpoint:
    """The address that settings name. Raises `SettingsError`."""
    try:
        return parse_endpoint(settings.base_url, settings.api_key, settings.headers)
    except ValueError as error:
        raise SettingsError(f"the server's address or key cannot be used: {error}") from None


async def find_server(settings: Settings) -> ServerLink:
    """A link to the configured server, or to one on a usual port. Raises `SettingsError`, `ServerProblem`."""
    base_url, info = settings.base_url, None
    if not base_url:
        found = await discover(USUAL_PORTS)
        if not found:
            ports = ", ".join(str(p) for p in USUAL_PORTS)
            raise NoServer(f"no model server answers on this machine (ports {ports}); {START_HINT}")
        base_url, info = found[0].base_url, found[0].info
    endpoint = endpoint_of(replace(settings, base_url=base_url))
    transport = Transport(endpoint, idle_seconds=settings.idle_seconds)
    policy = RetryPolicy(
        wait_server_seconds=settings.wait_server_seconds, first_contact_seconds=settings.first_contact_seconds
    )
    trace = TraceWriter(settings.trace, endpoint) if settings.trace else None
    client = ChatClient(transport, policy, trace=trace)
    model = settings.model
    if not model:
        info = info or await _probe_patiently(transport, settings.first_contact_seconds)
        model = _only_model(info, endpoint.display)
    return ServerLink(client, settings, model, info)


async def _probe_patiently(transport: Transport, seconds: float) -> ServerInfo:
    """Ask the server what it is; while nothing answers, again until seconds have passed."""
    until = time.monotonic() + seconds
    while True:
        info = await probe(transport, None)
        if info.reachable or time.monotonic() >= until:
            return info
        await asyncio.sleep(PROBE_GAP_SECONDS)


def _only_model(info: ServerInfo, display: str) -> str:
    if info.model:
        return info.model
    if not info.reachable:
        told = " ".join(info.notes).removeprefix("Nothing listens at the server's address: ")
        raise ServerProblem(ProblemKind.REFUSED, told or f"nothing answers at {display}", START_HINT)
    if info.locked:
        raise ServerProblem(ProblemKind.UNAUTHORIZED, " ".join(info.notes), "set POOL_API_KEY to the server's key")
    if not info.models and info.notes:
        raise ServerProblem(ProblemKind.NOT_A_SERVER, " ".join(info.notes), "name the model with --model or POOL_MODEL")
    if not info.models:
        raise SettingsError(f"the server at {display} names no model; give one with --model or POOL_MODEL")
    names = ", ".join(info.models[:8])
    raise SettingsError(f"the server at {display} has several models ({names}); choose one with --model or POOL_MODEL")
