"""What the pages say between sentences: commands, flags, commands of a session, keys and settings that there are.

The longer examples of each page are run by tests of their own.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from functools import cache

import pytest

from pool.agent.commands.table import COMMANDS
from pool.cli.cmdline import Command, whole
from pool.config.keys import keys, tables
from tests.cli.pages import ROOT, commands, pages

FITTING_IN = ("configuration", "agents-md", "skills", "hooks", "secrets", "models", "mcp", "web", "subagents", "plan")
"""Pages whose flags, keys and slash commands are all Pool's."""

OTHERS = {"/inspect", "/metrics"}
"""The example of a custom command, and an address of servers."""

FIELDS = {"sandbox", "transport", "whole", "disabled"}
"""Fields of hooks, checkers and servers: keys of tables that people name."""

HELP = {"-h", "--help", "--version"}


@cache
def root() -> Command:
    return whole()


def flags(command: Command) -> set[str]:
    return {name for option in command.options for name in option.names}


def inline(page: str) -> list[str]:
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`([^`]+)`", text.replace("\n", " "))


def unknown(line: str) -> list[str]:
    """The flags of a `pool` line that its command does not have; the line itself if there is no such command."""
    words = shlex.split(re.sub(r"[][|]|\.\.\.", " ", line.removeprefix("pool")))
    words = words[: words.index("--")] if "--" in words else words
    command, known = root(), HELP | flags(root())
    while words and (found := {one.words[-1]: one for one in command.actions}.get(words[0])):
        # A command without an action does what one of them does, so that its flags count before it, too.
        command, known, words = found, flags(found) | {f for one in found.walk() for f in flags(one)} | HELP, words[1:]
    if command.actions and words and re.match("[a-z]", words[0]) and (command is not root() or '"' not in line):
        return [line]
    return [word for word in words if word.startswith("--") and word.partition("=")[0] not in known]


def test_there_are_commands_to_look_at() -> None:
    assert sum(1 for page in pages() for _ in commands(page)) > 150


@pytest.mark.parametrize("page", pages())
def test_commands_and_their_flags_exist(page: str) -> None:
    lines = [*(code for code in inline(page) if code.startswith("pool ")), *commands(page)]
    assert [wrong for line in lines for wrong in unknown(line)] == []


@pytest.mark.parametrize("page", FITTING_IN)
def test_flags_keys_and_commands_of_a_session_exist(page: str) -> None:
    codes = inline(f"docs/{page}.md")
    every = HELP.union(*(flags(command) for command in root().walk()))
    slash = OTHERS.union(*({f"/{name}" for name in (one.name, *one.aliases)} for one in COMMANDS))
    assert {c.split()[0] for c in codes if re.match("/[a-z]+( |$)", c)} <= slash
    assert {re.split("[ =]", c)[0] for c in codes if c.startswith("--")} <= every | {"--"}
    named = {c for c in codes if re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", c) and c.partition(".")[0] in tables()}
    assert {c for c in named if not c.endswith(".md")} <= {*keys(), *tables()}


@pytest.mark.parametrize("page", FITTING_IN)
def test_settings_in_a_line_are_read(page: str) -> None:
    for code in inline(f"docs/{page}.md"):
        if not re.match("[a-z_.]+ = ", code) or code.partition(" = ")[0] in FIELDS:
            continue
        ((name, value),) = tomllib.loads(code).items()
        fitting = [full for full in keys() if full.rpartition(".")[2] == name]
        assert any(_reads(full, value) for full in fitting) or (not fitting and _reads("keys", {name: value})), code


def _reads(name: str, value: object) -> bool:
    try:
        keys()[name].kind.read(value)
    except ValueError:
        return False
    return True
