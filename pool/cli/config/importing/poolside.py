"""Poolside's pool: `~/.config/poolside/settings.yaml`.

What is known of the file is public documentation of version 1.0.16; its `paths` were not seen in full, so what has
another form is left and said.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from pool.agent.rules.syntax import Action
from pool.cli.config.importing.found import Found, table, texts
from pool.config.settings import SettingsError

_ACTIONS = {"allow": Action.ALLOW, "deny": Action.DENY}


def read(config: Path) -> Found:
    """Read the user's file; config is the folder that holds `poolside`. Raises `SettingsError`."""
    found = Found()
    folder = config / "poolside"
    settings = _yaml(found, folder / "settings.yaml")
    for tool, one in table(settings.get("tools")).items():
        for name, action in _ACTIONS.items():
            for pattern in texts(table(one).get(name)):
                found.rule(action, tool, pattern, f"{tool}: {pattern}")
        if table(one).get("disabled") is True:
            found.rule(Action.DENY, tool, "", f"{tool}: disabled")
    for name, action in _ACTIONS.items():
        _paths(found, action, table(settings.get("paths")).get(name))
    for name, one in table(settings.get("mcp_servers")).items():
        found.server(name, _server(table(one)))
    if url := table(settings.get("pool")).get("api_url"):
        found.left.append(f"pool.api_url ({url}): it is Poolside's platform, not a model server; see server.base_url")
    for name in ("hooks", "subagents", "sandbox", "secrets", "web_search", "prompts"):
        if settings.get(name):
            found.left.append(f"{name}: Pool has other settings for it, or none yet")
    found.skills_in(folder / "skills")
    return found


def _yaml(found: Found, path: Path) -> dict[str, Any]:
    import yaml

    text = found.text(path)
    if text is None:
        return {}
    try:
        return table(yaml.safe_load(text))
    except (yaml.YAMLError, RecursionError) as error:
        raise SettingsError(f"{path}: this is no YAML: {' '.join(str(error).split())}") from None


def _paths(found: Found, action: Action, value: object) -> None:
    """Paths are texts, or tables with path and write."""
    for one in cast(list[object], value) if isinstance(value, list) else []:
        path = one if isinstance(one, str) else table(one).get("path")
        if not isinstance(path, str):
            found.left.append(f"paths.{action.value}: an entry of a form that Pool does not know")
            continue
        found.rule(action, "read", path, f"paths: {path}")
        if action is Action.DENY or table(one).get("write") is True:
            found.rule(action, "write", path, f"paths: {path}")


def _server(one: dict[str, Any]) -> dict[str, Any]:
    return {name: one.get(name) for name in ("command", "args", "env", "url", "headers", "transport")}
