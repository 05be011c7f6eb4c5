"""The tool `task`: the model gives work to a subagent and gets its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pool.agent.subagents.host import Host
from pool.agent.subagents.kinds import kinds_of
from pool.config.agents import AgentSettings
from pool.config.settings import Mode, Settings
from pool.wire.locality import is_hosted
from pool_tools import Effect, Preview, ToolError, ToolResult
from pool_tools.api import OutputSink, ToolSpec

TITLE_CHARS = 80


def spec_of(settings: Settings) -> ToolSpec:
    """The tool as the model sees it: with the kinds of subagents that these settings name."""
    kinds = kinds_of(settings)
    named = "; ".join(f"{name}: {' '.join(kind.about.split())}" for name, kind in kinds.items())
    return ToolSpec(
        name="task",
        description="Give a task to a subagent, which starts with nothing but `prompt` and returns a short result. "
        f"Several in one turn work side by side. Agents: {named}.",
        parameters={
            "type": "object",
            "properties": {
                "agent": {"type": "string", "enum": list(kinds)},
                "prompt": {"type": "string"},
            },
            "required": ["agent", "prompt"],
        },
        effect=Effect.READ,
    )


class TaskTool:
    """The tool `task`. host is None where a request is only shown and nothing ever runs."""

    def __init__(self, settings: Settings, host: Host | None = None) -> None:
        self.spec = spec_of(settings)
        self._kinds = kinds_of(settings)
        self._host = host

    def effect(self, args: Mapping[str, Any]) -> Effect:
        """READ for what changes nothing here: it only reads, or works in a worktree. Else it is one more command.

        NETWORK where what it reads leaves the user's own machines, and that of the session does not.
        """
        kind = self._kinds.get(str(args.get("agent")))
        if kind is None or self._host is None:
            return Effect.READ
        if self._leaves(kind):
            return Effect.NETWORK
        if self._only_reads(kind):
            return Effect.READ
        from pool.sessions.checkpoints.repository import repository_of

        return Effect.READ if repository_of(self._host.given.workspace) is not None else Effect.EXECUTE

    def preview(self, args: Mapping[str, Any]) -> Preview:
        kind, prompt = self._asked(args)
        leaves = f"[the task, and the files that it reads, go to {kind.base_url}]\n" if self._leaves(kind) else ""
        return Preview("text", f"{kind.name}: {_title(prompt)}", leaves + prompt)

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        """As `run_call`, of no call."""
        return await self.run_call("", args, output)

    async def run_call(self, call_id: str, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        kind, prompt = self._asked(args)
        if self._host is None:
            raise ToolError("There is no session to work in.")
        # What works a task is loaded with the first one.
        from pool.agent.subagents.working import Asked, work_task

        asked = Asked(call_id, kind, _title(prompt), prompt, only_reads=self._only_reads(kind))
        return await work_task(self._host, asked, output)

    def _asked(self, args: Mapping[str, Any]) -> tuple[AgentSettings, str]:
        name, prompt = str(args.get("agent") or "").strip(), str(args.get("prompt") or "").strip()
        if (kind := self._kinds.get(name)) is None:
            raise ToolError(f"There is no agent {name!r}; there are {', '.join(self._kinds)}.")
        if not prompt:
            raise ToolError("`prompt` is empty: the subagent knows nothing but that.")
        return kind, prompt

    def _leaves(self, kind: AgentSettings) -> bool:
        """Whether work for this kind goes to somebody else's server, and that of the session does not."""
        if not kind.base_url or self._host is None or self._host.replies is None:
            return False
        return _is_hosted(kind.base_url) and not _is_hosted(self._host.settings.base_url)

    def _only_reads(self, kind: AgentSettings) -> bool:
        return kind.read_only or (self._host is not None and self._host.mode is Mode.PLAN)


def _is_hosted(base_url: str) -> bool:
    return is_hosted(urlsplit(base_url if "://" in base_url else f"http://{base_url}").hostname or "")


def _title(prompt: str) -> str:
    """The first line of a prompt, for people."""
    line = " ".join(prompt.strip().split("\n", 1)[0].split())
    return line if len(line) <= TITLE_CHARS else f"{line[: TITLE_CHARS - 1]}…"
