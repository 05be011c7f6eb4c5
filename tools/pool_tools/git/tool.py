"""The tool `git`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pool_tools.api import Confirm, Effect, OutputSink, Preview, ToolError, ToolResult, ToolSpec
from pool_tools.blocking import run_blocking
from pool_tools.commands import Commands
from pool_tools.foreign import tell_changes, tell_earlier
from pool_tools.git.words import OPERATIONS, REMOTE, Action, inside, parse
from pool_tools.text import printable, visible

if TYPE_CHECKING:
    # Imported with the first call. The tool is declared in a session's first request, which should not wait for this.
    from pool_tools.git.transport import Transport
    from pool_tools.git.working import Work


class GitTool:
    """Git by typed actions. Reading takes no locks and runs no hooks; commits run the user's hooks, in the sandbox."""

    spec = ToolSpec(
        name="git",
        description=(
            "Work with git. Actions: status; diff (staged, rev, paths); log (rev, paths, count); show (rev, paths; "
            "rev:file for a file's old content); blame (one path, lines); add (paths or all); commit (message, all, "
            "paths); restore (paths, staged, rev: discards changes); branch (name, rev); stash (message, rev); "
            "worktree (paths, name, rev); fetch and push (name = remote, rev = branch) ask the user."
        ),
        parameters={
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": [action.value for action in Action]},
                "op": {
                    "type": "string",
                    "description": "; ".join(f"{action}: {', '.join(ops)}" for action, ops in OPERATIONS.items()),
                },
                "paths": {"type": "array", "items": {"type": "string"}, "description": "Exact names"},
                "rev": {"type": "string", "description": "Commit, branch or range"},
                "name": {"type": "string"},
                "message": {"type": "string"},
                "lines": {"type": "string", "description": "10-40"},
                "staged": {"type": "boolean"},
                "all": {"type": "boolean"},
                "count": {"type": "integer"},
            },
            "required": ["action"],
        },
        effect=Effect.NETWORK,
    )

    def __init__(self, commands: Commands, transport: Transport | None = None) -> None:
        self._commands = commands
        self._transport = transport

    @cached_property
    def _work(self) -> Work:
        from pool_tools.git.working import work_with

        return work_with(self._commands, self._transport)

    def effect(self, args: Mapping[str, Any]) -> Effect:
        """Reading actions read; fetch and push leave the machine; the rest may run hooks."""
        try:
            call = parse(args)
        except ToolError:
            return Effect.NETWORK
        if call.action in REMOTE:
            return Effect.NETWORK
        return Effect.READ if call.reads else Effect.EXECUTE

    def preview(self, args: Mapping[str, Any]) -> Preview:
        from pool_tools.git.writing import arguments

        call = parse(args)
        where = f"in {visible(str(self._commands.folder))}"
        if call.action in REMOTE:
            transport = self._work.transport
            return Preview("command", f"{transport.describe(call)} {where}", transport.command(call))
        paths = inside(self._commands.workspace, call.paths)
        if call.reads:
            return Preview("text", f"git {call.action} {call.op}".rstrip(), printable(" ".join((call.rev, *paths))))
        return Preview("command", f"Run git {where}", printable(shlex.join(("git", *arguments(call, paths)))), paths)

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        from pool_tools.git.signing import refuse

        return await self.run_steps(args, output, refuse)

    async def run_steps(self, args: Mapping[str, Any], output: OutputSink, confirm: Confirm) -> ToolResult:
        """Run a call; confirm is asked before a commit is signed, which is done outside the sandbox."""
        call, work = parse(args), self._work
        if call.action in REMOTE:
            reply = await work.transport.run(call, work.git, work.reader)
            return ToolResult(True, reply.text, reply.data)
        if call.reads:
            reply = await work.reader.run(call)
            return ToolResult(True, reply.text, reply.data)
        earlier = await run_blocking(tell_earlier, self._commands.workspace)
        reply = await work.writer.run(call, confirm)
        foreign = await run_blocking(tell_changes, self._commands.workspace)
        text = "\n".join(part for part in (reply.text, earlier, foreign.text) if part)
        return ToolResult(True, text, reply.data, foreign.changes)
