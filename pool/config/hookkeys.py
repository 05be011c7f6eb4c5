"""The keys of hooks and of diagnostics after edits. What they make is imported where somebody sets them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from pool.config.diagnostics import AUTO, BUILT_IN
from pool.config.keys import Key, Trust
from pool.config.kinds import Choice, Count, Number, Switch, Text, Texts
from pool.config.tablekind import NamedTables, Names

POINTS = ("session-start", "prompt", "before-tool", "after-tool", "before-compaction", "stop")
ON_ERROR = ("allow", "deny")
MOST_SECONDS = 600.0
"""Longest limit that a hook may have."""


def _hooks_of(value: object) -> object:
    from pool.config.hooks import hooks_of

    return hooks_of(value)


def _for_checkout(value: object) -> tuple[object, str]:
    from pool.config.hooks import for_checkout

    return for_checkout(value)


def _commands_of(value: object) -> object:
    from pool.config.checkers import commands_of

    return commands_of(value)


def _servers_of(value: object) -> object:
    from pool.config.checkers import servers_of

    return servers_of(value)


class Pattern(Text):
    """A regular expression with a group `message`."""

    @property
    def words(self) -> str:
        return "a regular expression with a group (?P<message>...)"

    def read(self, value: object) -> str:
        text = super().read(value)
        try:
            groups = re.compile(text).groupindex
        except re.error as error:
            raise ValueError(f"{self.words}: {error}") from None
        if "message" not in groups:
            raise self._no()
        return text


def _command_lines(value: object) -> tuple[str, ...]:
    return tuple(str(one["command"]) for one in cast(Mapping[str, Mapping[str, object]], value).values())


_HOOKS = NamedTables(
    "hooks, each with on and command",
    '{ on = "after-tool", match = "write", command = "make lint" }',
    {
        "on": Choice(POINTS),
        "command": Text(lines=True),
        "match": Text(),
        "seconds": Number(least=0.1, most=MOST_SECONDS),
        "on_error": Choice(ON_ERROR),
        "sandbox": Switch(),
        "disabled": Switch(),
    },
    ("on", "command"),
)

_COMMANDS = NamedTables(
    "checkers, each with command, files and pattern",
    '{ command = "lint $CHECK_FILE", files = ["*.x"], pattern = "(?P<line>[0-9]+): (?P<message>.*)" }',
    {"command": Text(lines=True), "files": Texts(), "pattern": Pattern(), "whole": Switch()},
    ("command", "files", "pattern"),
)

_SERVERS = NamedTables(
    "language servers, each with command, files and language",
    '{ command = "ruff server", files = ["*.py"], language = "python" }',
    {"command": Text(), "files": Texts(), "language": Text()},
    ("command", "files", "language"),
)

HOOK_KEYS: tuple[Key, ...] = (
    Key(
        "hooks",
        _HOOKS,
        "Commands that run at fixed points of a session (`[hooks.NAME]`): `on`, `command`, and `match`, `seconds`, "
        "`on_error`, `sandbox`, `disabled`; see hooks.md.",
        "hooks",
        danger="these commands run, in the sandbox, and may block or change what the agent does",
        make=_hooks_of,
        adds=True,
        for_checkout=_for_checkout,
        lines=_command_lines,
    ),
    Key(
        "diagnostics.tools",
        Names(names=(AUTO, *BUILT_IN)),
        "Checkers that run around an edit; `[]` for none. `auto` is ruff, where it is installed and the project "
        "configures it.",
        "diagnostics.tools",
        danger="these programs run, in the sandbox, after each edit; cargo and go run code of the project",
    ),
    Key(
        "diagnostics.commands",
        _COMMANDS,
        "Further checkers by name (`[diagnostics.commands.NAME]`), with a pattern for the lines that they print.",
        "diagnostics.commands",
        danger="these commands run, in the sandbox, after each edit",
        make=_commands_of,
        adds=True,
        lines=_command_lines,
    ),
    Key(
        "diagnostics.servers",
        _SERVERS,
        "Language servers by name (`[diagnostics.servers.NAME]`).",
        "diagnostics.servers",
        danger="these programs run, in the sandbox, as long as a session does",
        make=_servers_of,
        adds=True,
        lines=_command_lines,
    ),
    Key(
        "diagnostics.seconds",
        Number(least=0.1, most=120.0),
        "How much longer an edit may take for all checkers together.",
        "diagnostics.seconds",
        Trust.LOWER,
        danger="each edit may take longer",
    ),
    Key(
        "diagnostics.most",
        Count(least=1),
        "How many new problems the model is told after an edit.",
        "diagnostics.most",
        Trust.LOWER,
        danger="the model is told more after each edit",
    ),
)
