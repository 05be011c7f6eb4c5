"""Checkers and language servers that the user has configured; imported where there are any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pool_tools.frozen import frozen


@frozen
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


@frozen
class LanguageServer:
    """A language server: a line for bash that speaks the protocol by its standard streams.

    files are patterns for the names that it is about, language is its name in the protocol, such as `python`.
    """

    name: str
    command: str
    files: tuple[str, ...]
    language: str


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
