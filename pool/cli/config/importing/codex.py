"""Codex: `~/.codex/config.toml`, and the rules for commands in `~/.codex/rules/*.rules`."""

from __future__ import annotations

import ast
import itertools
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pool.agent.rules.syntax import Action
from pool.cli.config.importing.found import Found, table
from pool.config.settings import SettingsError

_DECISIONS = {"allow": Action.ALLOW, "prompt": Action.ASK, "forbidden": Action.DENY}
MOST_RULES = 200
"""Rules with alternatives stand for many; beyond so many they are left."""


def read(home: Path, env: Mapping[str, str]) -> Found:
    """Read the user's files. Raises `SettingsError`."""
    found = Found()
    folder = Path(env["CODEX_HOME"]) if env.get("CODEX_HOME") else home / ".codex"
    path = folder / "config.toml"
    text = found.text(path)
    try:
        settings = tomllib.loads(text or "")
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: this is no TOML: {error}") from None
    for name, one in table(settings.get("mcp_servers")).items():
        found.server(name, _server(table(one)))
    provider = table(table(settings.get("model_providers")).get(str(settings.get("model_provider", ""))))
    if isinstance(url := provider.get("base_url"), str):
        found.base_url = url
        found.model = str(settings.get("model", ""))
    for file in sorted((folder / "rules").glob("*.rules")):
        for action, pattern in _rules(found, file):
            for words in pattern:
                found.rule(action, "shell", f"{shlex.join(words)} *", " ".join(words))
    found.skills_in(folder / "skills")
    return found


def _server(one: dict[str, Any]) -> dict[str, Any]:
    kept = {name: one.get(name) for name in ("command", "args", "env", "url")}
    return {**kept, "headers": one.get("http_headers")}


def _rules(found: Found, path: Path) -> Iterator[tuple[Action, list[tuple[str, ...]]]]:
    """The `prefix_rule` calls of a file. They are written in Starlark, whose calls read like Python's."""
    try:
        tree = ast.parse(found.text(path) or "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        found.left.append(f"{path}: it is written in a form that Pool does not read")
        return
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "prefix_rule"):
            continue
        given = {word.arg: word.value for word in node.keywords if word.arg}
        try:
            pattern: Any = ast.literal_eval(given["pattern"])
            decision = str(ast.literal_eval(given["decision"])) if "decision" in given else "allow"
            action = _DECISIONS[decision]
            choices = [[str(x)] if isinstance(x, str) else [str(y) for y in x] for x in pattern]
        except (KeyError, ValueError, TypeError):
            found.left.append(f"{path}:{node.lineno}: a rule of a form that Pool does not know")
            continue
        yield action, list(itertools.islice(itertools.product(*choices), MOST_RULES))
