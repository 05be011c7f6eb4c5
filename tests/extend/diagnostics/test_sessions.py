"""Diagnostics after edits through the whole agent, with real ruff, real language servers and a scripted model."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from pool.config.checkers import CheckCommand, LanguageServer
from pool.config.diagnostics import DiagnosticsSettings
from pool.config.hooks import Hook, HookPoint
from pool.config.settings import SandboxChoice
from pool.events import CallFinished, Notice
from tests.cases.driver import ModelServer, answer, call, driving, last_result, play

needs_ruff = pytest.mark.skipif(shutil.which("ruff") is None, reason="ruff is not installed")

OLD = "import os\n\n\ndef f():\n    return 1\n"


def using(*tools: str, **more: Any) -> DiagnosticsSettings:
    return DiagnosticsSettings(tools, seconds=30.0, **more)


def project(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
    (folder / "a.py").write_text(OLD)
    return folder


def gone(pid: str) -> bool:
    """Whether a process has ended; one that nobody has collected yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def edit(number: int, old: str, new: str) -> Any:
    return call("edit", f"c{number}", path="a.py", old_text=old, new_text=new)


@needs_ruff
async def test_only_new_problems_are_told_and_known_ones_are_not_asked_for_twice(tmp_path: Path) -> None:
    steps = (
        edit(1, "return 1", "return undefined"),
        edit(2, "import os\n", "import os\nimport re\n"),
        edit(3, "return undefined", "return 1"),
        answer("Done."),
    )
    run, bodies = await play(project(tmp_path / "w"), *steps, diagnostics=using("ruff"))
    first, second, third = (body.text for body in run.of(CallFinished))
    assert "1 new problem since this edit, 1 older not shown]" in first
    assert "a.py:5:12: warning F821 Undefined name `undefined`" in first
    assert "F401 `re` imported but unused" in second
    assert "F821" not in second
    assert "ruff" not in third
    assert "F821" in last_result(bodies[1])
    data = [body.data["diagnostics"] for body in run.of(CallFinished)]
    assert [check["new"] for one in data for check in one["checks"]] == [1, 1, 0]
    assert data[0]["new"][0]["line"] == 5


@needs_ruff
async def test_ruff_runs_unasked_in_the_sandbox_where_the_project_configures_it(tmp_path: Path) -> None:
    folder = project(tmp_path / "w")
    steps = (edit(1, "return 1", "return undefined"), answer("Done."))
    run, _ = await play(folder, *steps, sandbox=SandboxChoice.AUTO)
    (finished,) = run.of(CallFinished)
    if run.events and "none" in repr(run.events[0].body):
        pytest.skip("no sandbox works here")
    assert "F821" in finished.text
    (folder / "pyproject.toml").unlink()
    (folder / "a.py").write_text(OLD)
    run, _ = await play(folder, *steps, sandbox=SandboxChoice.AUTO)
    assert "diagnostics" not in run.of(CallFinished)[0].data


@needs_ruff
async def test_a_formatter_hook_runs_first(tmp_path: Path) -> None:
    fmt = Hook("fmt", HookPoint.AFTER_TOOL, 'ruff format -q "$HOOK_FILE"', "write")
    steps = (edit(1, "return 1", "return {'a':undefined}"), edit(2, "undefined", "1"), answer("Done."))
    run, _ = await play(project(tmp_path / "w"), *steps, diagnostics=using("ruff"), hooks=(fmt,))
    first, second = run.of(CallFinished)
    assert first.text.index('+    return {"a": undefined}') < first.text.index("F821")
    assert second.status == "ok"


async def test_a_users_checker_with_a_pattern_and_one_that_is_too_slow_or_broken(tmp_path: Path) -> None:
    lint = CheckCommand("todo", 'grep -n TODO "$CHECK_FILE"', ("*.py",), r"^(?P<line>\d+):\s*(?P<message>.*)$")
    broken = CheckCommand("broken", "echo 'no config' >&2; exit 126", ("*.py",), "(?P<message>x)")
    slow = CheckCommand("slow", "sleep 600", ("*.py",), "(?P<message>x)")
    steps = (
        edit(1, "return 1", "return 2  # TODO \033[31mred"),
        edit(2, "return 2", "return 3"),
        edit(3, "return 3", "return 4"),
        answer("Done."),
    )
    # The others must be done within half of it, also where much else runs.
    checks = DiagnosticsSettings((), (lint, broken, slow), seconds=6.0)
    run, _ = await play(project(tmp_path / "w"), *steps, diagnostics=checks)
    assert [status for _, status in run.calls] == ["ok", "ok", "ok"]
    said = [notice.text for notice in run.of(Notice)]
    assert "the checker broken does not work: it ended with status 126: no config" in said
    assert any("slow took longer than 3 s" in text for text in said)
    assert sum("is left out from now on" in text for text in said) == 2
    told = [body.text for body in run.of(CallFinished) if "todo" in body.text]
    assert all("\x1b" not in text for text in told)


@needs_ruff
async def test_a_real_language_server_is_started_once_and_ends_with_the_session(tmp_path: Path) -> None:
    folder = project(tmp_path / "w")
    pids = tmp_path / "pids"
    server = LanguageServer(
        "ruffd", f"bash -c 'setsid sleep 600 & echo $! $$ >> {pids}; exec ruff server'", ("*.py",), "python"
    )
    steps = (
        edit(1, "return 1", "return undefined"),
        edit(2, "def f():", "def g():"),
        edit(3, "return undefined", "return another"),
        answer("Done."),
    )
    async with (
        ModelServer(*steps) as model,
        driving(model.url, folder, diagnostics=using(servers=(server,))) as driver,
    ):
        run = await driver.run()
        left, pid = pids.read_text().split()
        assert not gone(pid)
    # At once for the server; what it had started is killed by then, and may be about to vanish.
    assert gone(pid)
    async with asyncio.timeout(20):
        while not gone(left):
            await asyncio.sleep(0.01)
    first, second, third = run.of(CallFinished)
    assert "a.py:5:12: error F821 Undefined name `undefined`" in first.text
    assert "ruffd" not in second.text
    assert "Undefined name `another`" in third.text
    assert second.data["diagnostics"]["checks"][0]["all"] >= 2


async def test_a_server_that_dies_or_talks_nonsense_costs_no_edit(tmp_path: Path) -> None:
    servers = (
        LanguageServer("dies", "echo 'cannot go on' >&2; exit 3", ("*.py",), "python"),
        LanguageServer("babbles", "yes nonsense", ("*.py",), "python"),
    )
    steps = (edit(1, "return 1", "return 2"), edit(2, "return 2", "return 3"), answer("Done."))
    run, _ = await play(project(tmp_path / "w"), *steps, diagnostics=using(servers=servers))
    assert run.calls == [("edit", "ok"), ("edit", "ok")]
    said = [notice.text for notice in run.of(Notice)]
    assert any("dies does not work: it ended" in text for text in said)
    assert any("babbles does not work: it sent lines that are no header" in text for text in said)
    assert sum("left out" in text for text in said) == 2
