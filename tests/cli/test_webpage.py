"""The examples of docs/web.md: configuration that is read without a warning, commands that run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pool.agent.configured import settings_for
from pool.agent.webtools import web_tools
from pool_tools import Tool

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "web.md").read_text("utf-8")


def tools_of(text: str, own: Path) -> tuple[Tool, ...]:
    own.write_text(text)
    loaded = settings_for(own.parents[1] / "work", os.environ)
    assert list(loaded.warnings) == []
    return web_tools(loaded.settings, None)


def test_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("BRAVE_KEY", "k3y")
    (tmp_path / "pool").mkdir()
    (tmp_path / "work").mkdir()
    own = tmp_path / "pool" / "config.toml"
    found = [[t.spec.name for t in tools_of(block, own)] for block in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)]
    assert found == [["fetch"], ["web_search"], ["web_search"]]


def test_the_commands(tmp_path: Path) -> None:
    (script,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    env = {
        **os.environ,
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "PYTHONPATH": ":".join(str(ROOT / p) for p in (".", "tools", "themes")),
    }
    shell = f'set -e\npool() {{ {sys.executable} -m pool "$@"; }}\n{script}'
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, timeout=50, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert '"name": "fetch"' in done.stdout
    assert "fetch = true" in (tmp_path / "config" / "pool" / "config.toml").read_text()
