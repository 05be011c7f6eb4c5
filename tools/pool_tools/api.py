"""What a tool is: its specification, its preview for approval, and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class Effect(StrEnum):
    """What a call can do to the world; decides whether it runs concurrently and whether it needs approval."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it. parameters is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    effect: Effect


@dataclass(frozen=True, slots=True)
class Preview:
    """What exactly a call will do, for the person who approves it. kind is command, diff or text."""

    kind: str
    title: str
    body: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A file that a call changed. kind is created, modified or deleted; added and removed count lines."""

    path: str
    kind: str
    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
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

It is free of terminal escapes; line feeds and tabs are in it, and a carriage return means that its line begins anew.
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
