"""`pool report`: what it says of sessions of real runs, of those that were killed, and of damaged logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.agent.digest import result_of, runs_of
from pool.headless.columns import width
from pool.headless.report import main, shown
from pool.sessions.log import SessionLog, read_rows
from pool.sessions.store import by_id, sessions_folder
from pool.sessions.summary import summarized
from tests.cases.driver import ModelServer, Step, answer, call, driving

Capture = pytest.CaptureFixture[str]
PASSES = "import unittest\nclass T(unittest.TestCase):\n    def test_one(self): pass\n"


async def session(folder: Path, *steps: Step, prompts: tuple[str, ...] = ("Do it.",), **changes: Any) -> str:
    """The id of a session in which prompts were worked."""
    async with ModelServer(*steps) as server, driving(server.url, folder, **changes) as driver:
        for prompt in prompts:
            await driver.run(prompt)
    return driver.session.hub.session


def report(capsys: Capture, *args: str) -> str:
    assert main(list(args)) == 0
    return capsys.readouterr().out


async def test_a_session_of_two_prompts_fits_a_screen(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_it.py").write_text(PASSES)
    steps = (
        call("shell", "t", command="python -m unittest -q"),
        call("shell", "d", command="rm test_it.py"),
        answer("The tests pass.\n\n" + "A long account. " * 60),
        call("write", "w", path="a.py", content="x\n"),
        answer("Written."),
    )
    prompts = ("Test it.\nThen more.", "Write \x1b[2Jit.")
    name = await session(tmp_path, *steps, prompts=prompts, deny=("shell(rm *)",))
    monkeypatch.setenv("COLUMNS", "80")
    text = report(capsys, name)
    lines = text.splitlines()
    assert len(lines) < 24
    assert max(map(width, lines)) <= 80
    assert "\x1b" not in text
    assert "asked        Test it.\n             Write \\x1b[2Jit.\n" in text
    assert "ended        completed (exit 0)" in text
    assert "not verified files were changed after the last test run" in text
    assert "tests        passed: python -m unittest -q" in text
    assert "denied       shell: rm test_it.py (by rule)" in text
    assert "+1 -0 created" in text
    assert "done         Written." in text


async def test_json_holds_the_results_of_the_runs(tmp_path: Path, capsys: Capture) -> None:
    name = await session(tmp_path, call("write", path="a.py", content="x"), answer("All tests pass."))
    got = json.loads(report(capsys, "--json", name[-8:]))
    assert (got["type"], got["v"], got["session"]) == ("session.report", 1, name)
    assert [(run["reason"], run["exit_code"], len(run["calls"])) for run in got["runs"]] == [("unverified", 9, 1)]
    assert "no test was run" in got["not_verified"][0]


async def test_the_last_session_of_a_folder_and_one_that_is_not_there(tmp_path: Path, capsys: Capture) -> None:
    await session(tmp_path / "here", answer("Done."))
    assert "asked        Do it." in report(capsys, "-C", str(tmp_path / "here"))
    assert main(["-C", str(tmp_path)]) == 2
    assert main(["0123456789"]) == 2
    assert "no session" in capsys.readouterr().err


async def test_a_run_that_was_killed_is_told_as_such(tmp_path: Path, capsys: Capture) -> None:
    name = await session(tmp_path, call("shell", command="echo hi"), answer("Done."))
    path = by_id(sessions_folder(), name).path
    rows, _ = read_rows(path.read_bytes())
    cut = next(i for i, row in enumerate(rows) if row["type"] == "call.finished")
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows[:cut]))
    text = report(capsys, name)
    assert "no end: its process was killed" in text
    assert "not verified 1 call cut off in the middle" in text
    with SessionLog(path, print):
        text = report(capsys, name)
    assert "not yet: it is at work" in text
    assert "cut off" not in text


_ANY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["path", "added", "prompt"]), inner),
    max_leaves=4,
)
_KINDS = ("run.started", "call.proposed", "call.finished", "usage", "turn.finished", "run.finished")
_FIELDS = ("run", "turn", "mono", "call", "prompt", "usage", "data", "changes", "status", "reason", "seconds", "text")


def row(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "type": kind}


_KEYS = st.sampled_from([*_FIELDS, "arguments", "exit_code", "name"])
_ROWS = st.lists(st.builds(row, st.sampled_from(_KINDS), st.dictionaries(_KEYS, _ANY, max_size=5)), max_size=8)


@given(_ROWS)
def test_any_rows_make_a_report(rows: list[dict[str, Any]]) -> None:
    results = [result_of(run) for run in runs_of(rows)]
    lines = list(shown(summarized(rows, Path("x.jsonl")), results, 80))
    assert all(width(line) <= 80 for line in lines)
    assert "\x1b" not in "".join(lines)
