"""What a tool is: its specification, its preview for approval, and its result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from pool_tools.frozen import frozen


class Effect(StrEnum):
    """What a call can do to the world; decides whether it runs concurrently and whether it needs approval."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    """Leaves the machine with the user's own rights, outside the sandbox: `git push`. At least as grave as EXECUTE."""
    WEB = "web"
    """Asks a host of the web, with nothing of the user's but an address or words that the model chose. As grave."""
    FOREIGN = "foreign"
    """Done by a program of somebody else's that is asked to, such as an MCP server. As grave as NETWORK."""


@frozen
class ToolSpec:
    """A tool as the model sees it. parameters is a JSON schema of type object, effect the gravest of any call."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    effect: Effect


@frozen
class Preview:
    """What exactly a call will do, for the person who approves it. kind is command, diff or text."""

    kind: str
    title: str
    body: str
    paths: tuple[str, ...] = ()


@frozen
class Change:
    """A file that a call changed. kind is created, modified or deleted; added and removed count lines."""

    path: str
    kind: str
    added: int = 0
    removed: int = 0


@frozen
class ToolResult:
    """How a call ended. text goes to the model (valid Unicode, no terminal escapes); data is for programs."""

    ok: bool
    text: str
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    changes: tuple[Change, ...] = ()


class ToolError(Exception):
    """A call that could not be done. The message is for the model: cause, place and remedy."""

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.data = data


OutputSink = Callable[[str], None]
"""Takes live output of a running call, called on the event loop.

Colours (SGR sequences) may be in it, as `colours.people_text` leaves them, and no other terminal escape; line feeds and
tabs are in it, and a carriage return means that its line begins anew.
"""


class Tool(Protocol):
    """One tool. Arguments have been coerced to the schema and hold every required key.

    `preview` and `run` raise `ToolError` for anything that is the model's to mend. `run` may be cancelled: it then
    leaves no process and no half-written file behind.
    """

    @property
    def spec(self) -> ToolSpec: ...

    def preview(self, args: Mapping[str, Any]) -> Preview: ...

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult: ...


@runtime_checkable
class VariedTool(Protocol):
    """A tool whose calls differ in what they can do."""

    def effect(self, args: Mapping[str, Any]) -> Effect:
        """What the call with these arguments can do. Never raises; in doubt the gravest."""
        ...


def effect_of(tool: Tool, args: Mapping[str, Any]) -> Effect:
    """What one call can do: the tool's own word where its calls differ, else that of its specification."""
    return tool.effect(args) if isinstance(tool, VariedTool) else tool.spec.effect


@runtime_checkable
class StandsForTools(Protocol):
    """A tool whose calls are calls of other tools: rules and approvals are about those."""

    def rules_name(self, args: Mapping[str, Any]) -> str:
        """The name of the tool that a call with these arguments is about. Never raises."""
        ...

    def rules_args(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """That tool's arguments. Never raises."""
        ...


@frozen
class Step:
    """A part of a call that needs an approval of its own, once it is known what exactly it is.

    args stand for it in rules, as arguments of the same tool. gravity is what it can do.
    """

    args: Mapping[str, Any]
    gravity: Effect
    preview: Preview


Confirm = Callable[[Step], Awaitable[str]]
"""Asks for a step; "" if it is approved, else the reason for the model."""


@runtime_checkable
class SteppedTool(Protocol):
    """A tool that may ask in the middle of a call."""

    async def run_steps(self, args: Mapping[str, Any], output: OutputSink, confirm: Confirm) -> ToolResult:
        """As `Tool.run`, with the way to ask."""
        ...


@runtime_checkable
class CalledTool(Protocol):
    """A tool that wants to know which call it works on."""

    async def run_call(self, call_id: str, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        """As `Tool.run`, with the call's id."""
        ...
