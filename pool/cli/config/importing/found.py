"""What was found in another agent's configuration, and help for reading it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pool.agent.rules.syntax import Action, RuleError, parse_rule
from pool.config.files import read_text
from pool.config.kinds import McpServers
from pool.config.settings import SettingsError

TOOLS = frozenset({"read", "write", "edit", "list", "search", "shell", "job", "git"})
"""Pool's tools that rules may be about; those of MCP servers begin with `mcp__`."""


@dataclass(slots=True)
class Found:
    """What may be copied. rules are by action, in Pool's syntax; left says what is not copied, and why."""

    files: list[Path] = field(default_factory=list[Path])
    rules: dict[Action, list[str]] = field(default_factory=lambda: {action: [] for action in Action})
    servers: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    base_url: str = ""
    model: str = ""
    skills: list[Path] = field(default_factory=list[Path])
    left: list[str] = field(default_factory=list[str])

    def rule(self, action: Action, tool: str, pattern: str, as_found: str) -> None:
        """Take a rule over, if Pool understands it."""
        text = tool if pattern in ("", "*") else f"{tool}({pattern})"
        try:
            if tool not in TOOLS and not tool.startswith("mcp__"):
                raise RuleError(text, 0, f"Pool has no tool {tool!r}")
            parse_rule(action, text)
        except RuleError as error:
            self.left.append(f"{action.value} {as_found}: {str(error).splitlines()[0]}")
            return
        if text not in self.rules[action]:
            self.rules[action].append(text)

    def server(self, name: str, given: Mapping[str, Any]) -> None:
        """Take an MCP server over."""
        wanted = {key: value for key, value in given.items() if value not in (None, "", [], {})}
        try:
            self.servers.update(McpServers().read({name: wanted}))
        except ValueError:
            self.left.append(f"MCP server {name}: it has neither a command nor an address that Pool understands")

    def skills_in(self, folder: Path) -> None:
        """Take the skills of a folder over: its folders that hold a SKILL.md. Links are left."""
        if not folder.is_dir():
            return
        for one in sorted(folder.iterdir()):
            if not one.is_symlink() and (one / "SKILL.md").is_file():
                self.skills.append(one)

    def text(self, path: Path) -> str | None:
        """The text of a file, noted as read; None if there is none. Raises `SettingsError`."""
        try:
            text = read_text(path)
        except OSError as error:
            raise SettingsError(f"{path}: it cannot be read: {error.strerror or error}") from None
        if text is not None:
            self.files.append(path)
        return text

    def json(self, path: Path) -> dict[str, Any]:
        """The object in a JSON file, {} if there is none; comments and commas at the end are allowed."""
        text = self.text(path)
        if text is None:
            return {}
        try:
            return table(json.loads(text))
        except ValueError:
            pass
        try:
            return table(json.loads(without_comments(text)))
        except (ValueError, RecursionError) as error:
            raise SettingsError(f"{path}: this is no JSON: {error}") from None


_JSONC = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)


def without_comments(text: str) -> str:
    """JSON with comments as plain JSON."""
    for pattern in (_JSONC, _LAST_COMMA):
        text = pattern.sub(lambda found: found[1] or "", text)
    return text


def table(value: object) -> dict[str, Any]:
    """A value if it is a table with names, else {}."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def texts(value: object) -> list[str]:
    """The texts in a list, [] for anything else."""
    items = cast(Iterable[object], value) if isinstance(value, list) else ()
    return [item for item in items if isinstance(item, str)]
