"""Claude Code: `~/.claude/settings.json`, and the MCP servers in `~/.claude.json`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pool.agent.rules.syntax import Action
from pool.cli.config.importing.found import Found, table, texts

_RULE = re.compile(r"(\w+)(?:\((.*)\))?", re.DOTALL)
_TOOLS = {"Bash": "shell", "Read": "read", "Edit": "write", "Write": "write", "Grep": "search", "Glob": "list"}
"""Its rules for editing are for writing too, as Pool's `write` is for both."""


def read(home: Path, env: Mapping[str, str]) -> Found:
    """Read the user's files. Raises `SettingsError`."""
    found = Found()
    folder = Path(env["CLAUDE_CONFIG_DIR"]) if env.get("CLAUDE_CONFIG_DIR") else home / ".claude"
    permissions = table(found.json(folder / "settings.json").get("permissions"))
    for action in Action:
        for text in texts(permissions.get(action.value)):
            _rule(found, action, text)
    for name, one in table(found.json(home / ".claude.json").get("mcpServers")).items():
        found.server(name, _server(table(one)))
    found.skills_in(folder / "skills")
    return found


def _rule(found: Found, action: Action, text: str) -> None:
    parts = _RULE.fullmatch(text.strip())
    tool = parts[1] if parts else ""
    if parts is None or (tool not in _TOOLS and not tool.startswith("mcp__")):
        found.left.append(f"{action.value} {text}: Pool has no such tool")
        return
    pattern = parts[2] or ""
    if tool == "Bash":
        # `git log:*` is `git log` with anything after it.
        pattern = pattern[:-2] + " *" if pattern.endswith(":*") else pattern
    elif pattern.startswith("//"):
        # Two slashes stand for the root there, one for the folder of the settings.
        pattern = pattern[1:]
    found.rule(action, _TOOLS.get(tool, tool), pattern, text)


def _server(one: dict[str, Any]) -> dict[str, Any]:
    kept = {name: one.get(name) for name in ("command", "args", "env", "url", "headers")}
    return {**kept, "transport": one.get("type")}
