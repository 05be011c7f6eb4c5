"""The network of a session's commands: what they began with, and what a person lets them reach since."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from pool_tools.network.grants import Grant
from pool_tools.network.rules import AllowList, RuleError
from pool_tools.network.traffic import Flow
from pool_tools.sandbox.base import NoSandbox, ReachesHosts, Sandbox

if TYPE_CHECKING:
    from pool_tools.network.choice import Network
    from pool_tools.network.connection import Ask
    from pool_tools.network.dial import Dialer
    from pool_tools.network.proxy import NetworkProxy


class SessionNetwork:
    """What the commands of one sandbox reach. All of it runs on one event loop; `close` ends what is open."""

    def __init__(
        self,
        sandbox: Sandbox,
        environ: Mapping[str, str],
        roots: Sequence[Path] = (),
        caches: Path | None = None,
        base: Network | None = None,
        proxy: NetworkProxy | None = None,
    ) -> None:
        """environ is the user's environment. roots: no program is taken from there. caches: where those of presets are
        made. base is what the session began with, proxy what serves it, which stays its maker's to close.
        """
        self._sandbox = sandbox
        self._environ = environ
        self._roots = roots
        self._caches = caches
        self._on = base is not None and base.on
        self._env = dict(base.env) if base else {}
        self._folders = list(base.caches) if base else []
        self.proxy = proxy
        self._forbidden: list[tuple[str, int]] = []
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._ask: Ask | None = None

    @property
    def env(self) -> Mapping[str, str]:
        """Variables that commands need for it."""
        return self._env

    @property
    def listed(self) -> str:
        """What commands reach, for people; "" for nothing, or for no list."""
        return str(self.proxy.allow) if self.proxy else ""

    @property
    def can_grant(self) -> str:
        """Why nothing more can be granted here, "" if it can."""
        if self._on:
            return "the network is on already"
        if isinstance(self._sandbox, NoSandbox):
            return "no sandbox confines commands here, so nothing limits their network"
        if not isinstance(self._sandbox, ReachesHosts):
            return f"the tier {self._sandbox.name} cannot hold a list of hosts; start again with --net on"
        return ""

    def ask_with(self, ask: Ask) -> None:
        """Ask about hosts that are not on the list. A yes holds for the session, or as long as what ask grants."""
        self._ask = ask

    @property
    def reached(self) -> AllowList | None:
        """The hosts that commands reach just now, None for every one."""
        if self._on:
            return None
        return self.proxy.allow if self.proxy else AllowList()

    async def page_dialer(self) -> Dialer:
        """What Pool itself connects by where the model asks for a page: never to the model server."""
        from pool_tools.network.dial import Dialer

        dialer = Dialer(self._environ)
        for host, port in self._forbidden:
            await dialer.forbid(host, port)
        return dialer

    def grants(self) -> tuple[Grant, ...]:
        """What was granted and still holds, oldest first."""
        return self.proxy.grants.current() if self.proxy else ()

    async def grant(self, what: str, seconds: float | None = None) -> Grant:
        """Let commands reach what besides, from the next one on: hosts, `localhost:PORT`, presets, as `--net` has it.

        seconds: for so long, else until the session ends. Raises `RuleError` for what cannot be granted, such as the
        model server's port.
        """
        if refusal := self.can_grant:
            raise RuleError(refusal)
        async with self._lock:
            network = await asyncio.to_thread(self._worked_out, what)
            if network.on or network.allow is None:
                raise RuleError(f"{what!r} cannot be granted; name a host, a port of localhost or a preset")
            proxy = await self._opened()
            if refused := proxy.refused_port(network.allow):
                raise RuleError(refused)
            self._folders += [folder for folder in network.caches if folder not in self._folders]
            await self._widen(proxy.allow.merged(network.allow), proxy.folder)
            self._env |= network.env
            return proxy.grants.add(what.strip(), network.allow, seconds)

    async def worked_out(self, what: str) -> AllowList:
        """The hosts and ports that a grant of what would be about. Raises `RuleError`."""
        network = await asyncio.to_thread(self._worked_out, what)
        return network.allow or AllowList()

    def revoke(self, what: str) -> bool:
        """Take a grant back by its text; False if there is none. Connections that are open end with their command."""
        return self.proxy.grants.revoke(what.strip()) if self.proxy else False

    async def forbid(self, host: str, port: int) -> None:
        """Let commands never reach the model server. Raises `RuleError` if the session began with its port."""
        self._forbidden.append((host, port))
        if self.proxy is not None:
            await self.proxy.forbid(host, port)

    async def flows(self) -> tuple[Flow, ...]:
        """What commands asked of the proxy since the last time."""
        return await self.proxy.take_flows() if self.proxy else ()

    async def close(self) -> None:
        """Close what was opened here."""
        await self._stack.aclose()

    def _worked_out(self, what: str) -> Network:
        from pool_tools.network.choice import network_for
        from pool_tools.network.presets import PresetError

        try:
            return network_for(what, self._environ, self._roots, self._caches or Path())
        except PresetError as error:
            raise RuleError(str(error)) from None

    async def _opened(self) -> NetworkProxy:
        if self.proxy is None:
            from pool_tools.network.proxy import open_proxy

            self.proxy = await self._stack.enter_async_context(
                open_proxy(AllowList(), self._environ, ask=self.ask_person)
            )
            for host, port in self._forbidden:
                await self.proxy.forbid(host, port)
        return self.proxy

    async def _widen(self, allow: AllowList, folder: Path) -> None:
        assert isinstance(self._sandbox, ReachesHosts)
        if failure := await asyncio.to_thread(self._sandbox.reach, allow, folder, tuple(self._folders)):
            raise RuleError(failure)

    async def ask_person(self, host: str, port: int) -> bool:
        """What the proxy asks about a host that is not on the list."""
        return await self._ask(host, port) if self._ask else False
