"""OpenCode: `~/.config/opencode/opencode.json` (or `.jsonc`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pool.agent.rules.syntax import Action
from pool.cli.config.importing.found import Found, table, texts

_TOOLS = {"bash": "shell", "edit": "write", "write": "write", "read": "read", "grep": "search", "list": "list"}
_ACTIONS = {action.value: action for action in Action}


def read(config: Path) -> Found:
    """Read the user's file; config is the folder that holds `opencode`. Raises `SettingsError`."""
    found = Found()
    folder = config / "opencode"
    settings = found.json(folder / "opencode.json") or found.json(folder / "opencode.jsonc")
    for name, one in table(settings.get("permission")).items():
        given = table(one) or {"*": one}
        for pattern, action in given.items():
            if pattern == "*" and len(given) > 1:
                # The last rule that fits counts there, so this one is only for the rest. In Pool it would be for all.
                found.left.append(f"permission.{name}: *: what no rule is about follows the mode (--mode)")
                continue
            _rule(found, name, pattern, action)
    for name, one in table(settings.get("mcp")).items():
        found.server(name, _server(table(one)))
    _provider(found, settings)
    for name in ("skill", "skills"):
        found.skills_in(folder / name)
    return found


def _rule(found: Found, name: str, pattern: str, action: object) -> None:
    if action not in _ACTIONS or name not in _TOOLS:
        found.left.append(f"permission.{name}: {pattern}: Pool has no such tool or answer")
        return
    found.rule(_ACTIONS[str(action)], _TOOLS[name], pattern, f"{name}: {pattern}")


def _server(one: dict[str, Any]) -> dict[str, Any]:
    words = texts(one.get("command"))
    return {
        "command": words[0] if words else None,
        "args": words[1:],
        "env": one.get("environment"),
        "url": one.get("url"),
        "headers": one.get("headers"),
    }


def _provider(found: Found, settings: dict[str, Any]) -> None:
    """The model is named `PROVIDER/MODEL`; without one, the only provider with an address of its own counts."""
    providers = table(settings.get("provider"))
    chosen, _, model = str(settings.get("model", "")).partition("/")
    urls = {name: table(table(one).get("options")).get("baseURL") for name, one in providers.items()}
    urls = {name: url for name, url in urls.items() if isinstance(url, str)}
    if chosen in urls:
        found.base_url, found.model = str(urls[chosen]), model
    elif len(urls) == 1 and not chosen:
        found.base_url = str(next(iter(urls.values())))
    elif urls:
        found.left.append(f"{len(urls)} providers with addresses, none of them chosen: {', '.join(sorted(urls))}")
