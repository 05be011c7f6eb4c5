"""`pool hooks list`: the hooks that count, and what waits for trust."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict

from pool.agent.configured import settings_for
from pool.config.hooks import Hook
from pool.headless.configured import folder_of
from pool.headless.plain import safe

TABLE = "hooks"


def show_all(folder: str, *, as_json: bool) -> int:
    """Two lines for each hook. Raises `SettingsError`."""
    loaded = settings_for(folder_of(folder), os.environ, with_key=False)
    for hook in loaded.settings.hooks:
        if as_json:
            print(json.dumps({"project": hook.projects, **asdict(hook)}, ensure_ascii=True))
        else:
            print(_safe(f"{hook.name}  {_words(hook)}\n    {'; '.join(hook.command.strip().splitlines())}"))
    if not loaded.settings.hooks and not as_json:
        print("No hooks are configured; see docs/hooks.md.")
    for path, names in loaded.ignored.items():
        if any(TABLE in name.split(".") for name in names):
            sys.stderr.write(_safe(f"hooks of {path} wait for your trust: pool config trust") + "\n")
    return 0


def _words(hook: Hook) -> str:
    words = [
        hook.point.value,
        *([hook.match] if hook.match else []),
        f"{hook.seconds:g} s",
        f"on_error {hook.on_error}",
    ]
    words += [] if hook.sandbox else ["outside the sandbox"]
    words += ["disabled"] if hook.disabled else []
    return ", ".join(words)


def _safe(text: str) -> str:
    return safe(text, terminal=sys.stdout.isatty())
