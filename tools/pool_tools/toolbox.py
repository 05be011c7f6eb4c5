"""All tools of an agent, in the order in which the model sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pool_tools.api import Tool
from pool_tools.commands import Commands
from pool_tools.edit import EditTool
from pool_tools.git import GitTool
from pool_tools.job import JobTool
from pool_tools.jobs import Jobs
from pool_tools.listing import ListTool
from pool_tools.read import ReadTool
from pool_tools.sandbox.base import Sandbox
from pool_tools.sandbox.bounds import MEMORY_KEPT_FOR_SERVER
from pool_tools.search import SearchTool
from pool_tools.secretenv import NO_SECRETS, CommandSecrets
from pool_tools.shell import ShellTool
from pool_tools.workspace import Workspace
from pool_tools.write import WriteTool

if TYPE_CHECKING:
    from pool_tools.network.session import SessionNetwork


class Toolbox:
    """The tools over one workspace and one sandbox, which stay their maker's to close.

    A subagent gets a toolbox over `workspace.for_agent()`, so that it has its own picture of the files.
    """

    def __init__(
        self,
        workspace: Workspace,
        sandbox: Sandbox,
        extra_env: Mapping[str, str] | None = None,
        network: SessionNetwork | None = None,
        secrets: CommandSecrets = NO_SECRETS,
    ) -> None:
        """extra_env are variables that the user wants commands to have, besides the allowed ones. network is what
        commands reach, and stays its maker's to close. secrets are what single commands may be given.
        """
        self._commands = Commands(workspace, sandbox, extra_env, network, secrets)
        self._jobs = JobTool(self._commands)
        self.tools: tuple[Tool, ...] = (
            ReadTool(workspace),
            WriteTool(workspace),
            EditTool(workspace),
            ListTool(workspace),
            SearchTool(workspace),
            ShellTool(self._commands),
            self._jobs,
            GitTool(self._commands),
        )

    @property
    def commands(self) -> Commands:
        """What runs the tools' commands."""
        return self._commands

    def read_only_when(self, asked: Callable[[], bool]) -> None:
        """Commands write nothing whenever asked says so as they start, where the sandbox can hold that."""
        self._commands.read_only_when(asked)

    def only_reading(self) -> bool:
        """Whether a command that started now could write nothing but temporary files. Blocks the first time."""
        return self._commands.only_reading()

    @property
    def jobs(self) -> Jobs:
        """The commands in the background."""
        return self._jobs.jobs

    def jobs_running(self) -> bool:
        """Whether a command runs in the background just now."""
        return self._jobs.running

    def protect_memory(self, kept: int = MEMORY_KEPT_FOR_SERVER) -> None:
        """The model's server runs on this machine: commands that would take its memory, kept bytes, are ended."""
        self._commands.protect_memory(kept)

    async def close(self) -> None:
        """End the commands and jobs that are still running; no process is left afterwards."""
        await self._jobs.close()
        await self._commands.close()


def build_tools(workspace: Workspace, sandbox: Sandbox) -> tuple[Tool, ...]:
    """read, write, edit, list, search, shell, job, git."""
    return Toolbox(workspace, sandbox).tools
