"""The tools of MCP servers as the model has them: some listed, all others by `find_tool` and `call_tool`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pool.extend.mcp.known import PREFIX, KnownTool
from pool.extend.mcp.servers import McpServers
from pool_tools import Effect, OutputSink, Preview, Tool, ToolError, ToolResult, ToolSpec
from pool_tools.text import printable

FIND, CALL = "find_tool", "call_tool"

SHOWN_WHOLE = 5
"""So many tools that fit best are shown with their parameters."""

SHOWN_CHARS = 12_000
NAMED_MOST = 100
"""What one answer of `find_tool` holds at most."""

_SERVERS_CHARS = 120
_LINE_CHARS = 100
_NAME_WEIGHT = 3
_WORD = re.compile(r"[a-z0-9]+")


def tools_of(servers: McpServers, listed: Sequence[KnownTool]) -> tuple[Tool, ...]:
    """The pair, and a tool for each that is listed. They stay the same while the session runs."""
    return (FindTool(servers), CallTool(servers), *(ListedTool(servers, tool) for tool in listed))


class FindTool:
    """Looks for tools among those of all servers."""

    def __init__(self, servers: McpServers) -> None:
        names = ", ".join(servers.names)
        short = names if len(names) <= _SERVERS_CHARS else f"{names[:_SERVERS_CHARS]}..."
        about = f"Find tools of the MCP servers ({printable(short)}) by words; shows names and parameters. Empty: all."
        parameters = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
        self.spec = ToolSpec(FIND, about, parameters, Effect.READ)
        self._servers = servers

    def preview(self, args: Mapping[str, Any]) -> Preview:
        return Preview("text", f"{FIND} {args['query']}".rstrip(), "")

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        await self._servers.settle()
        return ToolResult(True, found_text(self._servers.known(), str(args["query"]), self._servers.troubles()))


class CallTool:
    """Calls a tool of a server by its name."""

    def __init__(self, servers: McpServers) -> None:
        properties = {"name": {"type": "string"}, "arguments": {"type": "object"}}
        parameters = {"type": "object", "properties": properties, "required": ["name", "arguments"]}
        about = f"Call a tool that {FIND} showed, by its name `{PREFIX}...` and with its parameters."
        self.spec = ToolSpec(CALL, about, parameters, Effect.FOREIGN)
        self._servers = servers

    def rules_name(self, args: Mapping[str, Any]) -> str:
        """Rules are about the tool that is called."""
        name = str(args.get("name", ""))
        return name if name.startswith(PREFIX) else CALL

    def rules_args(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments of the tool that is called."""
        return _inner(args)

    def preview(self, args: Mapping[str, Any]) -> Preview:
        name = str(args["name"])
        if self._servers.may_come(name):
            return _preview(name, _inner(args), self._servers.place(name))
        tool = self._servers.tool(name)
        return _preview(name, self._servers.arguments(tool, _inner(args)), self._servers.place(name), tool)

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        return await self._servers.call(str(args["name"]), _inner(args))


class ListedTool:
    """A tool that the model has in its list."""

    def __init__(self, servers: McpServers, tool: KnownTool) -> None:
        self.spec = ToolSpec(tool.name, tool.description, tool.parameters, Effect.FOREIGN)
        self._servers = servers
        self._tool = tool

    def preview(self, args: Mapping[str, Any]) -> Preview:
        return _preview(self._tool.name, args, self._servers.place(self._tool.name), self._tool)

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        return await self._servers.call(self._tool.name, args)


def found_text(tools: Sequence[KnownTool], query: str, troubles: Sequence[str]) -> str:
    """What the model is told: the best with their parameters, others by name, and which servers cannot be asked."""
    words = frozenset(_WORD.findall(query.lower()))
    scored = [(_score(tool, words, query), tool) for tool in tools]
    fitting = [tool for score, tool in sorted(scored, key=lambda one: -one[0]) if score] if words else list(tools)
    whole = fitting[:SHOWN_WHOLE] if words else []
    out: list[str] = []
    left = SHOWN_CHARS
    for tool in whole:
        text = f"{tool.name}: {tool.description}\n  parameters: {json.dumps(tool.parameters, ensure_ascii=False)}"
        if len(text) > left:
            break
        left -= len(text)
        out.append(text)
    others = fitting[len(out) :]
    if others:
        out.append(
            "More that fit:" if whole else f"{len(others):,} tools; look for one by words to see its parameters:"
        )
        out += [f"{tool.name}: {_first_line(tool)}" for tool in others[:NAMED_MOST]]
        if len(others) > NAMED_MOST:
            out.append(f"and {len(others) - NAMED_MOST:,} more")
    if not fitting:
        known = f" There are {len(tools):,}; an empty query names them." if tools else ""
        out.append(f"No tool fits.{known}")
    if troubles:
        out += ["Servers that cannot be asked just now:", *troubles]
    return printable("\n".join(out))


def _score(tool: KnownTool, words: frozenset[str], query: str) -> int:
    if query.strip() == tool.name:
        return 1_000
    name, about = tool.name.lower(), tool.description.lower()
    return sum(_NAME_WEIGHT * (word in name) + (word in about) for word in words)


def _first_line(tool: KnownTool) -> str:
    line = next((line.strip() for line in tool.description.splitlines() if line.strip()), "")
    return line[:_LINE_CHARS]


def _inner(args: Mapping[str, Any]) -> dict[str, Any]:
    given = args.get("arguments")
    return dict(cast(Mapping[str, Any], given)) if isinstance(given, Mapping) else {}


def _preview(name: str, args: Mapping[str, Any], place: str, tool: KnownTool | None = None) -> Preview:
    try:
        body = json.dumps(args, ensure_ascii=False, indent=1)
    except (TypeError, ValueError) as error:
        raise ToolError(f"The arguments are no JSON: {error}") from None
    reads = "\nThe server says that this only reads." if tool is not None and tool.reads else ""
    return Preview("text", name, f"{name} {body}\n{place}{reads}")
