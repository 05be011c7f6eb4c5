"""MCP servers of the session: what they do, their tools, what these take of the window."""

from __future__ import annotations

from pool.agent.commands.kinds import Command, CommandError, CommandResult, Rows, Typed, said
from pool.agent.control import Conversation

_NONE = "no MCP servers are configured; `pool mcp add` adds one"
_PAIR = "tools that are not in the prompt are found and called by find_tool and call_tool"


async def _mcp(conversation: Conversation, typed: Typed) -> CommandResult:
    servers = conversation.session.mcp
    if servers is None:
        return said(_NONE)
    servers.begin()
    if typed.rest:
        return _tools(conversation, typed.rest)
    window = conversation.session.replies.window
    rows = tuple(
        (
            one.name,
            f"{one.state.value}{'' if one.sandboxed else ', no sandbox'}",
            f"{len(one.tools):,}",
            f"{len(one.listed):,}",
            f"{one.tokens / window:.1%}" if window else f"{one.tokens:,.0f}",
        )
        for one in servers.status()
    )
    titles = ("server", "state", "tools", "in the prompt", "of the window" if window else "tokens")
    whole = [f"{part.tokens:,} tokens, {part.share:.1%}" for part in conversation.context().parts if "MCP" in part.name]
    lines = [f"in the prompt: {whole[0]}"] if whole else []
    troubles = [f"{one.name}: {one.reason}" for one in servers.status() if one.reason]
    return CommandResult((*lines, _PAIR, *troubles), Rows(titles, rows, frozenset({2, 3, 4})))


def _tools(conversation: Conversation, name: str) -> CommandResult:
    servers = conversation.session.mcp
    one = next((s for s in servers.status() if s.name == name), None) if servers else None
    if one is None:
        raise CommandError(f"there is no MCP server {name!r}; /mcp shows them")
    rows = tuple(
        (tool.name, "in the prompt" if tool.name in one.listed else "by find_tool", _line(tool.description))
        for tool in one.tools
    )
    lines = [f"{one.name}: {one.state.value}{f', {one.version}' if one.version else ''}", *filter(None, [one.reason])]
    return CommandResult(tuple(lines), Rows(("tool", "the model sees it", "what it does"), rows) if rows else None)


def _line(text: str) -> str:
    return next((line.strip()[:80] for line in text.splitlines() if line.strip()), "")


def _names(conversation: Conversation) -> tuple[str, ...]:
    servers = conversation.session.mcp
    return servers.names if servers else ()


COMMANDS = (Command("mcp", "MCP servers: what they do, and their tools", _mcp, hint="[SERVER]", arguments=_names),)
