"""Showing what another agent's configuration holds, and copying it into the user's own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any, cast

from pool.agent.rules.syntax import Action
from pool.cli.config.change import open_document, save_user_file, table_of
from pool.cli.config.command import Here
from pool.cli.config.importing.found import Found
from pool.cli.config.show import without_password
from pool.config.describe import toml
from pool.config.keys import keys
from pool.config.writing import changing
from pool.headless.plain import safe
from pool_tools.home import base_folder
from pool_tools.home import home as users_home

SKILLS = "skills"
MOST_SKILL_BYTES = 20 * 1024 * 1024


def import_from(here: Here, agent: str, *, yes: bool) -> int:
    """Show what would be copied from an agent's own files of the user; with yes, copy it. Raises `SettingsError`."""
    found = _read(agent)
    if not found.files and not found.skills:
        print(f"nothing of {agent} was found in your home")
        return 0
    for line in _shown(found, here):
        print(safe(line, terminal=sys.stdout.isatty()))
    if not yes:
        print(f"\nNothing was copied yet. `pool config import {agent} --yes` copies it into {here.places.user_file}")
        return 0
    _copy(found, here)
    print(f"\nCopied into {here.places.user_file}")
    return 0


def _read(agent: str) -> Found:
    home, config = users_home(), base_folder("XDG_CONFIG_HOME")
    match agent:
        case "poolside":
            from pool.cli.config.importing.poolside import read as poolside

            return poolside(config)
        case "claude":
            from pool.cli.config.importing.claude import read as claude

            return claude(home, os.environ)
        case "codex":
            from pool.cli.config.importing.codex import read as codex

            return codex(home, os.environ)
        case _:
            from pool.cli.config.importing.opencode import read as opencode

            return opencode(config)


def _shown(found: Found, here: Here) -> Iterator[str]:
    if found.files:
        yield "Read: " + ", ".join(str(path) for path in found.files)
    for action, rules in found.rules.items():
        if rules:
            yield f"\nRules, {action.value}:"
            yield from (f"  {rule}" for rule in rules)
    if found.rules[Action.DENY]:
        yield "  Look at what is denied: Pool matches words, not characters (docs/approvals.md)."
    if found.servers:
        yield "\nMCP servers:"
        yield from (f"  {name}: {_one_line(one)}" for name, one in found.servers.items())
    if found.base_url:
        model = f", model {found.model}" if found.model else ""
        yield f"\nServer: {without_password(found.base_url)}{model}"
    if found.skills:
        yield f"\nSkills, into {here.places.user / SKILLS}:"
        yield from (f"  {folder.name}" for folder in found.skills)
    if found.left:
        yield "\nNot copied:"
        yield from (f"  {line}" for line in found.left)


def _one_line(server: dict[str, Any]) -> str:
    """A server without the values of its variables and headers, which may be secret."""
    where = server.get("url") or " ".join([str(server.get("command", "")), *server.get("args", [])])
    hidden = sorted([*server.get("env", {}), *server.get("headers", {})])
    return where + (f" (with {', '.join(hidden)})" if hidden else "")


def _copy(found: Found, here: Here) -> None:
    """What is there already stays; lists grow."""
    import tomlkit

    path = here.places.user_file
    with changing(path):
        document = open_document(path)
        for action, rules in found.rules.items():
            if rules:
                table = table_of(document, ["approvals"])
                old = [str(x) for x in cast(list[object], table.get(action.value, []))]
                table[action.value] = tomlkit.value(toml(tuple(dict.fromkeys([*old, *rules]))))
        for name, value in (("server.base_url", found.base_url), ("server.model", found.model)):
            table_name, _, leaf = keys()[name].name.partition(".")
            if value and leaf not in table_of(document, [table_name]):
                table_of(document, [table_name])[leaf] = value
        for name, server in found.servers.items():
            servers = table_of(document, ["mcp_servers"])
            if name in servers:
                print(safe(f"the MCP server {name} is there already; it stays as it is", terminal=sys.stdout.isatty()))
                continue
            _put_server(servers, name, server)
        save_user_file(path, document)
    for folder in found.skills:
        _copy_skill(folder, here.places.user / SKILLS / folder.name)


def _put_server(servers: MutableMapping[str, Any], name: str, server: dict[str, Any]) -> None:
    import tomlkit

    table = tomlkit.table()
    for key, value in server.items():
        table[key] = tomlkit.value(toml(tuple(cast(list[object], value)) if isinstance(value, list) else value))
    servers[name] = table


def _copy_skill(source: Path, target: Path) -> None:
    """Copy a skill's folder, links left out; one that is there stays."""
    name = source.name
    if target.exists():
        print(safe(f"the skill {name} is there already; it stays as it is", terminal=sys.stdout.isatty()))
        return
    size = sum(path.lstat().st_size for path in source.rglob("*"))
    if size > MOST_SKILL_BYTES:
        print(safe(f"the skill {name} is larger than {MOST_SKILL_BYTES:,} bytes; it is left", terminal=True))
        return
    shutil.copytree(source, target, ignore=lambda at, names: {n for n in names if (Path(at) / n).is_symlink()})
