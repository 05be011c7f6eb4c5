"""How a command line becomes a process: which shell, which environment, in which folder."""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pool_tools.api import ToolError
from pool_tools.denials import Reach
from pool_tools.environment import clean_environment, find_program, why_no_program
from pool_tools.network.traffic import Flow
from pool_tools.private import PrivateFolder, make_private
from pool_tools.process import Ended, run_command
from pool_tools.sandbox.base import CanOnlyRead, Sandbox, StartsAhead
from pool_tools.sandbox.memscope import TakesScope, find_scope
from pool_tools.sandbox.sharednet import SharesNetwork
from pool_tools.sandbox.trial import only_reads
from pool_tools.scratch import HasScratch, Scratch
from pool_tools.secretenv import NO_SECRETS, CommandSecrets
from pool_tools.workspace import Workspace

if TYPE_CHECKING:
    from pool_tools.network.session import SessionNetwork

_FALLBACK_SHELL = "/bin/sh"

_LONG_COMMAND_CHARS = 30_000
"""From here on a command may be too long for the system (Linux: 128 KiB an argument)."""


class Commands:
    """Runs commands in the workspace's main folder, in the sandbox, with a clean environment."""

    def __init__(
        self,
        workspace: Workspace,
        sandbox: Sandbox,
        extra_env: Mapping[str, str] | None = None,
        network: SessionNetwork | None = None,
        secrets: CommandSecrets = NO_SECRETS,
    ) -> None:
        """extra_env are variables that the user wants commands to have. network is what they reach, if anything.

        secrets are values that single commands may be given; no output shows them.
        """
        self.workspace = workspace
        self.sandbox = sandbox
        self.secrets = secrets
        self._extra_env = dict(extra_env or {})
        self._network = network
        self._memory_kept = 0
        self._scoping = False
        self._to_read: Callable[[], bool] | None = None
        self._holds_reading: bool | None = None
        self._own_folder: PrivateFolder | None = None
        self._running: set[asyncio.Task[Any]] = set()

    @property
    def folder(self) -> Path:
        """Where commands run."""
        return self.workspace.root

    def environment(self) -> dict[str, str]:
        network: Mapping[str, str] = self._network.env if self._network else {}
        return clean_environment(os.environ, {**network, **self._extra_env})

    def program(self, name: str) -> str | None:
        """A program of the user's PATH that lies outside the workspace."""
        return find_program(name, self._search_path(), self.workspace.roots)

    def why_no_program(self, name: str) -> str:
        """Why `program` finds none."""
        return why_no_program(name, self._search_path(), self.workspace.roots)

    def _search_path(self) -> str:
        return self.environment().get("PATH", os.defpath)

    async def shell(
        self,
        command: str,
        limit: float,
        on_output: Callable[[bytes], None],
        on_restored: Callable[[Sequence[str]], object] | None = None,
        secrets: Sequence[str] = (),
    ) -> Ended:
        """Run a command line in bash (sh where there is none), as `run_command` does. Raises `ToolError`.

        secrets are the names of those that it gets.
        """
        argv = (self.program("bash") or _FALLBACK_SHELL, "-c", command)
        if not self.secrets and not self.secrets.mask:
            return await self.run(argv, limit, on_output, on_restored=on_restored)
        env = self.secrets.environment(secrets)
        # Of every command: one that got no secret may print a file that another wrote.
        stream = self.secrets.mask.stream()
        try:
            return await self.run(argv, limit, lambda data: on_output(stream.feed(data)), env, on_restored)
        finally:
            on_output(stream.end())

    async def run(
        self,
        argv: tuple[str, ...],
        limit: float,
        on_output: Callable[[bytes], None],
        env: Mapping[str, str] = MappingProxyType({}),
        on_restored: Callable[[Sequence[str]], object] | None = None,
    ) -> Ended:
        """Run argv as `run_command` does, with env besides. Raises `ToolError` if it cannot be started."""
        self.workspace.check()
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            # A sandbox that is still being probed would block here.
            sandbox = await asyncio.to_thread(self._sandbox_now)
            env = {**self.environment(), **env}
            return await run_command(argv, self.folder, env, sandbox, limit, on_output, self._memory_kept, on_restored)
        except OSError as error:
            long = sum(map(len, argv)) > _LONG_COMMAND_CHARS
            remedy = " Write long text to a file with `write`." if long else ""
            raise ToolError(f"The command could not be started: {error.strerror or error}.{remedy}") from None
        finally:
            self._running.discard(task)

    def read_only_when(self, asked: Callable[[], bool]) -> None:
        """From now on commands write nothing whenever asked says so as they start, where the sandbox can hold that."""
        self._to_read = asked

    def reading(self) -> Commands:
        """The same for commands that write nothing, where the sandbox can hold that. They end when this is closed."""
        view = copy.copy(self)
        view._to_read, view._holds_reading = lambda: True, None
        return view

    def only_reading(self) -> bool:
        """Whether a command that started now could write nothing but temporary files.

        Tries that out the first time that it is asked for, which blocks for some 10 to 50 ms.
        """
        if self._to_read is None or not self._to_read():
            return False
        if self._holds_reading is None:
            view = self.sandbox.read_only() if isinstance(self.sandbox, CanOnlyRead) else None
            self._holds_reading = view is not None and only_reads(view, self.folder, self.environment())
        return self._holds_reading

    def _sandbox_now(self) -> Sandbox:
        """Blocks where the sandbox is still being probed, and before the first command for what starts it."""
        if self._scoping and isinstance(self.sandbox, TakesScope):
            self._scoping = False
            if scope := find_scope(os.environ, self.workspace.roots):
                self.sandbox.scope_memory(scope, self._memory_kept)
        if self.only_reading() and isinstance(self.sandbox, CanOnlyRead):
            return self.sandbox.read_only()
        if isinstance(self.sandbox, StartsAhead):
            self.sandbox.ready_to_start()
        return self.sandbox

    def protect_memory(self, kept: int) -> None:
        """Commands that start from now on leave kept bytes of memory to other programs, or are ended.

        The kernel sees to that where it can, else a watch.
        """
        self._memory_kept = kept
        self._scoping = isinstance(self.sandbox, TakesScope)

    def reach(self) -> Reach:
        """What commands reach in the network, to explain why one failed."""
        from pool_tools.network.choice import advice

        listed = self._network.listed if self._network else ""
        return Reach(listed, advice(self.folder), read_only=self.only_reading())

    async def flows(self) -> tuple[Flow, ...]:
        """What commands asked of the proxy since the last time."""
        return await self._network.flows() if self._network else ()

    def scratch(self) -> Scratch:
        """The folder by which files are handed to commands."""
        found = self.sandbox.scratch_folder() if isinstance(self.sandbox, HasScratch) else None
        if found is not None:
            return Scratch(*found)
        if self._own_folder is None:
            self._own_folder = make_private("commands")
        return Scratch(self._own_folder.path, str(self._own_folder.path))

    async def share_network(self) -> str:
        """Let all further commands have one loopback between them; why that cannot be, "" if it can."""
        sandbox = self.sandbox
        return await asyncio.to_thread(sandbox.share_network) if isinstance(sandbox, SharesNetwork) else ""

    async def close(self) -> None:
        """End the commands that are running, wait until their processes are gone, remove what was handed to them."""
        tasks = self._running - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._own_folder is not None:
            self._own_folder.remove()
            self._own_folder = None
