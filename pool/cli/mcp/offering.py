"""Pool's own tools for another agent: validated, judged by rules and sandbox, run as in a session."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from pool.agent.approvals import Approvals, NobodyThere, Unsettled
from pool.agent.confinement import confine
from pool.agent.rules.given import rules_of
from pool.agent.rules.kept import KeptApprovals
from pool.agent.secretuse import session_secrets
from pool.config.settings import Mode, Settings, SettingsError
from pool.wire.coerce import coerce
from pool_tools import Effect, Tool, ToolError, ToolResult
from pool_tools.api import Step, SteppedTool, effect_of
from pool_tools.sandbox import NoSandbox
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace

READING = ("read", "list", "search")
"""What is offered where nothing else is asked for."""

ALL = "all"


class OfferedTools:
    """Some tools over one workspace. Reads run side by side, everything else alone."""

    def __init__(self, tools: Sequence[Tool], approvals: Approvals, note: str) -> None:
        """note says what confines commands."""
        self.tools = {tool.spec.name: tool for tool in tools}
        self.note = note
        self._approvals = approvals
        self._alone = asyncio.Lock()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a call. Never raises for what a client sends: what is wrong is the result's text."""
        tool = self.tools.get(name)
        if tool is None:
            return ToolResult(False, f"There is no tool {name!r}; there are {', '.join(self.tools)}.")
        fit = coerce(arguments, tool.spec.parameters)
        if fit.problems:
            return ToolResult(False, f"{name} was not run: {' '.join(fit.problems)}")
        try:
            await asyncio.to_thread(tool.preview, fit.arguments)
            effect = effect_of(tool, fit.arguments)
            if why := await self._refused(name, fit.arguments, effect):
                return ToolResult(False, why)
            async with contextlib.nullcontext() if effect is Effect.READ else self._alone:
                return await self._run(tool, fit.arguments)
        except ToolError as error:
            return ToolResult(False, str(error), dict(error.data))

    async def _run(self, tool: Tool, args: Mapping[str, Any]) -> ToolResult:
        async def confirm(step: Step) -> str:
            return await self._refused(tool.spec.name, step.args, step.gravity)

        if isinstance(tool, SteppedTool):
            return await tool.run_steps(args, _unheard, confirm)
        return await tool.run(args, _unheard)

    async def _refused(self, name: str, args: Mapping[str, Any], effect: Effect) -> str:
        """Why a call does not run, "" if it does: nobody can be asked, so what would be asked is refused."""
        answer = await asyncio.to_thread(self._approvals.judge, name, args, effect)
        if isinstance(answer, Unsettled):
            return f"Denied: nobody is there to approve it ({answer.why}). {answer.lift}".rstrip()
        return "" if answer.allowed else f"Denied: {answer.reason}"


@asynccontextmanager
async def offered(settings: Settings, names: Sequence[str]) -> AsyncGenerator[OfferedTools]:
    """The tools of these names, in the sandbox that the settings ask for. Raises `SettingsError`."""
    async with AsyncExitStack() as stack:
        confinement = await confine(settings, stack)
        workspace = Workspace(settings.workspace)
        stack.callback(workspace.close)
        # Others' models get none of the user's secrets, and see none.
        secrets = (await asyncio.to_thread(session_secrets, settings.workspace)).secrets.masking()
        workspace.mask = secrets.mask
        toolbox = Toolbox(workspace, confinement.found.sandbox, None, confinement.network, secrets)
        stack.push_async_callback(toolbox.close)
        confined = confinement.found.sandbox.name != NoSandbox.name
        tools = _chosen(toolbox.tools, names)
        approvals = Approvals(
            settings.mode or (Mode.AUTO if confined else Mode.DEFAULT),
            sandboxed=confined,
            approver=NobodyThere(),
            rules=rules_of(settings, [tool.spec.name for tool in toolbox.tools]),
            kept=KeptApprovals(settings.workspace),
            tell=lambda body: None,
        )
        toolbox.read_only_when(lambda: approvals.mode is Mode.PLAN)
        approvals.read_only_sandbox = toolbox.only_reading
        if confinement.hidden is not None:
            approvals.show_allowed(confinement.hidden)
        yield OfferedTools(tools, approvals, confinement.note)


def _chosen(tools: Sequence[Tool], names: Sequence[str]) -> list[Tool]:
    if ALL in names:
        return list(tools)
    known = {tool.spec.name: tool for tool in tools}
    if missing := [name for name in names if name not in known]:
        raise SettingsError(f"--tools: there is no tool {missing[0]!r}; there are {', '.join(known)}, run_task and all")
    return [known[name] for name in names]


def _unheard(text: str) -> None:
    """Live output has no place in an answer to a client."""
