"""Diagnostics after edits as they are configured: programs that check what was edited, and language servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

AUTO = "auto"
BUILT_IN = ("ruff", "pyright", "tsc", "cargo", "go")
"""Checkers that Pool knows. `auto` stands for those that are quick, run nothing of the project and fit it."""


@dataclass(frozen=True, slots=True)
class CheckCommand:
    """A checker of the user's: a line for bash, and a regular expression for a line of its output.

    files are patterns for the names that it is about. The pattern's groups are path, line, column, severity, code and
    message; message must be there. whole: it checks more than the file that was edited.
    """

    name: str
    command: str
    files: tuple[str, ...]
    pattern: str
    whole: bool = False


@dataclass(frozen=True, slots=True)
class LanguageServer:
    """A language server: a line for bash that speaks the protocol by its standard streams.

    files are patterns for the names that it is about, language is its name in the protocol, such as `python`.
    """

    name: str
    command: str
    files: tuple[str, ...]
    language: str


@dataclass(frozen=True, slots=True)
class DiagnosticsSettings:
    """tools are names of `BUILT_IN`, or `auto`. seconds: how much longer an edit may take for all of them together.

    most: how many new problems the model is told after one edit.
    """

    tools: tuple[str, ...] = (AUTO,)
    commands: tuple[CheckCommand, ...] = ()
    servers: tuple[LanguageServer, ...] = ()
    seconds: float = 5.0
    most: int = 10

    @property
    def used(self) -> bool:
        """Whether anything is to be checked at all."""
        return bool(self.tools or self.commands or self.servers)

    @property
    def named(self) -> bool:
        """Whether somebody has named a checker, so that it is said where none can run."""
        return any(tool != AUTO for tool in self.tools) or bool(self.commands or self.servers)


def commands_of(value: object) -> tuple[CheckCommand, ...]:
    """Checkers from what the configuration's kind reads."""
    return tuple(
        CheckCommand(name, one["command"], tuple(one["files"]), one["pattern"], one.get("whole", False))
        for name, one in cast(Mapping[str, Mapping[str, Any]], value).items()
    )


def servers_of(value: object) -> tuple[LanguageServer, ...]:
    """Language servers from what the configuration's kind reads."""
    return tuple(
        LanguageServer(name, one["command"], tuple(one["files"]), one["language"])
        for name, one in cast(Mapping[str, Mapping[str, Any]], value).items()
    )
