"""What confines the commands of a session: the sandbox that works here, with the network that the settings ask for."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Collection, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pool.agent.unfinished import journals_folder
from pool.agent.workspacestate import state_path
from pool.config.settings import SandboxChoice, Settings, SettingsError
from pool_tools.frozen import frozen
from pool_tools.home import base_folder
from pool_tools.network.session import SessionNetwork
from pool_tools.private_process import keep_private
from pool_tools.sandbox import Access, NoSandbox, Policy
from pool_tools.sandbox.probe import Probe, probe
from pool_tools.secretfiles import HiddenFiles

if TYPE_CHECKING:
    from pool_tools.network.choice import Network
    from pool_tools.network.proxy import NetworkProxy

_ACCESS = {
    SandboxChoice.AUTO: Access.WORKSPACE_WRITE,
    SandboxChoice.REQUIRED: Access.WORKSPACE_WRITE,
    SandboxChoice.READ_ONLY: Access.READ_ONLY,
    SandboxChoice.EXTERNAL: Access.EXTERNAL,
}
_MUST_HOLD = frozenset({SandboxChoice.REQUIRED, SandboxChoice.READ_ONLY})
"""Nothing less than what these ask for will do."""

_CAN_HIDE = frozenset({"bubblewrap", "seatbelt"})
"""Tiers that can hide single files in a folder that may be written."""

_HIDDEN = "hidden"
"""Where in the state folder it is remembered what was hidden in a workspace."""

MOST_NAMED = 3
"""So many hidden files are named to people."""

_HASH_CHARS = 12
_PORTS = {"http": 80, "https": 443}


@frozen
class Confinement:
    """A probed sandbox, and the network of its commands. note tells people what is enforced and what not.

    hidden are files that commands see only once that is allowed, None where the tier cannot hide any. lesser: where all
    this is less than the settings ask for, what is missing and why.
    """

    found: Probe
    note: str
    network: SessionNetwork
    hidden: HiddenFiles | None = None
    lesser: str = ""

    async def forbid(self, base_url: str) -> None:
        """Keep commands away from the model server. Raises `SettingsError` if the settings name its port."""
        from pool_tools.network.rules import RuleError

        parts = urlsplit(base_url)
        try:
            await self.network.forbid(parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0))
        except RuleError as error:
            raise SettingsError(f"--net: {error}") from None


async def confine(settings: Settings, stack: AsyncExitStack) -> Confinement:
    """Probe a sandbox and open what it needs; the stack closes both.

    Raises `SettingsError` if a sandbox is required and none holds what is asked for, or for a network that is no
    network.
    """
    keep_private()
    network = await asyncio.to_thread(_network, settings) if settings.network not in ("", "off") else None
    if settings.sandbox is SandboxChoice.OFF:
        note = "it was switched off by --sandbox off"
        return _made(settings, stack, Probe(NoSandbox(kept=True), note), network, note)
    hidden = await asyncio.to_thread(HiddenFiles, settings.workspace, state_path(settings.workspace, _HIDDEN))
    policy = Policy(
        (settings.workspace,),
        _ACCESS[settings.sandbox],
        gpu=settings.gpu,
        readable=settings.readable,
        hidden=_Both(hidden, settings.unseen) if settings.unseen else hidden,
        journals=journals_folder(settings.workspace),
    )
    if network is None or network.allow is None:
        policy = replace(policy, network=network is not None and network.on)
        return _hiding(hidden, settings.workspace, await _plain(settings, policy, network, stack))
    if settings.sandbox is SandboxChoice.EXTERNAL:
        raise SettingsError("--sandbox external cannot hold a list of hosts; use --net off or --net on")
    return _hiding(hidden, settings.workspace, await _listed(settings, policy, network, stack))


class _Both(Collection[Path]):
    """Two collections as one that follows them."""

    def __init__(self, first: Collection[Path], second: Collection[Path]) -> None:
        self._parts = (first, second)

    def __contains__(self, path: object) -> bool:
        return any(path in part for part in self._parts)

    def __iter__(self) -> Iterator[Path]:
        for part in self._parts:
            yield from part

    def __len__(self) -> int:
        return sum(map(len, self._parts))


async def _plain(settings: Settings, policy: Policy, network: Network | None, stack: AsyncExitStack) -> Confinement:
    """Without a list of hosts. Where no tier can show GPUs, commands have none, which is less than was asked for."""
    found = await _probe(settings, policy)
    if not policy.gpu or found.tier != NoSandbox.name:
        return _made(settings, stack, found, network)
    without = await _probe(settings, replace(policy, gpu=False))
    if without.tier == NoSandbox.name:
        return _made(settings, stack, without, network)
    lesser = f"Commands have no GPU: {found.reason}. {found.remedy}"
    return replace(_made(settings, stack, without, network, f"{without.note}. {lesser}"), lesser=lesser)


async def _listed(settings: Settings, policy: Policy, network: Network, stack: AsyncExitStack) -> Confinement:
    """A list of hosts; where no tier can hold one, the network is off, which is less than was asked for."""
    from pool_tools.network.proxy import open_proxy

    assert network.allow is not None
    session: list[SessionNetwork] = []

    async def ask(host: str, port: int) -> bool:
        return await session[0].ask_person(host, port)

    proxy = await stack.enter_async_context(open_proxy(network.allow, os.environ, ask=ask))
    policy = replace(policy, caches=network.caches)
    found = await _probe(settings, replace(policy, allow=network.allow, proxy_folder=proxy.folder))
    if found.tier != NoSandbox.name:
        made = _made(settings, stack, found, network, proxy=proxy)
        session.append(made.network)
        return made
    without = await _probe(settings, replace(policy, gpu=False))
    if without.tier == NoSandbox.name:
        note = f"{found.note}; so --net limits nothing"
        return replace(_made(settings, stack, found, network, note), lesser=note)
    lesser = f"The network is off: no sandbox that works here can hold a list of hosts ({found.reason})"
    return replace(_made(settings, stack, without, network, f"{without.note}. {lesser}"), lesser=lesser)


def _made(
    settings: Settings,
    stack: AsyncExitStack,
    found: Probe,
    base: Network | None,
    note: str = "",
    proxy: NetworkProxy | None = None,
) -> Confinement:
    stack.callback(found.sandbox.close)
    caches = package_caches(settings.workspace)
    network = SessionNetwork(found.sandbox, os.environ, (settings.workspace,), caches, base, proxy)
    stack.push_async_callback(network.close)
    return Confinement(found, note or found.note, network)


def _hiding(hidden: HiddenFiles, workspace: Path, made: Confinement) -> Confinement:
    """Tell which files commands do not see."""
    if not hidden or made.found.tier not in _CAN_HIDE:
        return made
    names = ", ".join(os.path.relpath(path, workspace) for path in islice(hidden, MOST_NAMED))
    more = ", ..." if len(hidden) > MOST_NAMED else ""
    return replace(made, note=f"{made.note}. Hidden from commands until allowed: {names}{more}", hidden=hidden)


async def _probe(settings: Settings, policy: Policy) -> Probe:
    found = await asyncio.to_thread(probe, policy)
    if policy.hidden and found.tier == NoSandbox.name:
        # Landlock cannot hide a file in a folder that may be written; the rest that it holds is worth having.
        found = await asyncio.to_thread(probe, replace(policy, hidden=()))
    if settings.sandbox in _MUST_HOLD and found.tier == NoSandbox.name:
        raise SettingsError(f"--sandbox {settings.sandbox.value}, but {found.reason}. {found.remedy}")
    return found


def _network(settings: Settings) -> Network:
    from pool_tools.network.choice import network_for
    from pool_tools.network.presets import PresetError
    from pool_tools.network.rules import RuleError

    try:
        return network_for(settings.network, os.environ, (settings.workspace,), package_caches(settings.workspace))
    except (RuleError, PresetError) as error:
        raise SettingsError(f"--net: {error}") from None


def package_caches(workspace: Path) -> Path:
    """Where packages are kept for a workspace's commands: each its own, as they could put anything in there."""
    key = hashlib.sha256(os.fsencode(os.path.realpath(workspace))).hexdigest()[:_HASH_CHARS]
    return base_folder("XDG_CACHE_HOME") / "pool" / "packages" / f"{workspace.name or 'root'}-{key}"
