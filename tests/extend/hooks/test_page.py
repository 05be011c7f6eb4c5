"""Every example of docs/hooks.md, run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from pool.config.hooks import Hook
from pool.config.settings import SandboxChoice, Settings
from pool.events import CallFinished, HookRan, StopReason
from tests.cases.driver import ModelServer, answer, call, driving, last_result, last_user
from tests.config.places import Home

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "hooks.md").read_text("utf-8")
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)

pytestmark = pytest.mark.skipif(shutil.which("ruff") is None, reason="the page's examples use ruff")


def settings(folder: Path) -> Settings:
    """What all examples together configure."""
    loaded = Home(folder, user="\n".join(BLOCKS)).load()
    assert not loaded.warnings
    return loaded.settings


def repository(folder: Path) -> Path:
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[tool.ruff]\n")
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    return folder


async def test_the_hooks(tmp_path: Path) -> None:
    hooks = tuple(replace(hook, seconds=50) for hook in settings(tmp_path / "home").hooks)
    folder = repository(tmp_path / "w")
    steps = (
        call("write", "c1", path="a.py", content="import os\nx=1\n"),
        call("edit", "c2", path="a.py", old_text="x = 1", new_text="x = 2"),
        call("shell", "c3", command="git push origin main"),
        call("shell", "c4", command="pytest"),
        answer("The file is there."),
        call("write", "c5", path="NOTES.md", content="notes\n"),
        answer("See the notes."),
        answer("An account."),
    )
    async with (
        ModelServer(*steps) as server,
        driving(server.url, folder, hooks=hooks) as driver,
    ):
        run = await driver.run()
        refused = await driver.run(f"my key is sk-{'a1' * 10}")
        await driver.session.agent.compact()
    assert server.complaints == []
    assert last_user(server.bodies[0]).endswith("[the hook branch adds:]\nThe branch is main.")
    assert run.calls == [("write", "ok"), ("edit", "ok"), ("shell", "denied"), ("shell", "failed"), ("write", "ok")]
    written = last_result(server.bodies[1])
    assert "+x = 1" in written
    assert "F401" in written
    results = [body.text for body in run.of(CallFinished)]
    assert "push a branch, and open a pull request" in results[2]
    assert '{"command": "pytest -q"}' in results[3]
    assert last_user(server.bodies[5]).endswith("write NOTES.md first")
    assert run.answer == "See the notes."
    assert (refused.reason, refused.finished.turns) == (StopReason.DENIED, 0)
    assert "there is a key in it" in refused.finished.detail
    assert "sk-a1" not in json.dumps(server.bodies)
    assert "Keep every decision about the database schema." in json.dumps(server.bodies[-1])
    ran = [event.body for event in driver.events if isinstance(event.body, HookRan)]
    assert {body.hook for body in ran} == {hook.name for hook in hooks}
    assert all(body.outcome != "failed" for body in ran)
    assert [body.sandboxed for body in ran if body.hook == "bell"] == [False, False]


async def test_the_checkers(tmp_path: Path) -> None:
    given = settings(tmp_path / "home").diagnostics
    folder = repository(tmp_path / "w")
    (folder / "a.py").write_text("def f():\n    return 1\n")
    changed = call("edit", "c1", path="a.py", old_text="return 1", new_text="return undefined  # TODO")
    async with (
        ModelServer(changed, answer("Done.")) as server,
        driving(server.url, folder, diagnostics=replace(given, seconds=100.0), sandbox=SandboxChoice.AUTO) as driver,
    ):
        run = await driver.run()
    (finished,) = run.of(CallFinished)
    checks: list[dict[str, Any]] = finished.data["diagnostics"]["checks"]
    assert {check["name"] for check in checks} >= {"todo", "ruff"}
    assert "Undefined name `undefined`" in finished.text
    assert "a.py:2: error return undefined # TODO" in finished.text


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ":".join(str(ROOT / p) for p in (".", "tools", "themes")))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own = tmp_path / "config" / "pool" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text("\n".join(BLOCKS))
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "a.py").write_text("x=1\n")
    (script,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    shell = f'set -e\npool() {{ {sys.executable} -m pool "$@"; }}\n{script}'
    done = subprocess.run(["sh", "-c", shell], cwd=folder, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")
    assert "bell  stop, 30 s, on_error allow, outside the sandbox" in done.stdout
    assert "format works; it lets all go on as it is" in done.stdout
    assert (folder / "a.py").read_text() == "x = 1\n"


def test_the_tables_name_every_point_and_every_field() -> None:
    rows = set(re.findall(r"^\| `([a-z_-]+)`", PAGE, re.MULTILINE))
    points = {"session-start", "prompt", "before-tool", "after-tool", "before-compaction", "stop"}
    assert points <= rows
    assert {one.name for one in fields(Hook)} - {"name", "point"} <= set(re.findall(r"`([a-z_]+)`", PAGE))
