"""`pool undo`, `pool diff` and `pool sessions fork` as they are typed after a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pool.agent.hub import EventHub
from pool.agent.ids import new_id
from pool.cli.main import main
from pool.events import RunStarted
from pool.sessions.checkpoints.checkpoints import Checkpoints, checkpoints_folder
from pool.sessions.log import Header, SessionLog
from pool.sessions.store import sessions_folder, short_id
from tests.sessions.checkpoints.repos import act, repository

ODD = "x\n\x1b[31m.txt"


@pytest.fixture
def session(tmp_path: Path) -> tuple[str, Path]:
    """A session of two runs in a repository: the first edited a, the second b and made a file with an odd name."""
    root = repository(tmp_path / "r", a="one\n", b="one\n")
    name = new_id()
    with SessionLog.create(sessions_folder(), Header(name, str(root), 1.0, "0"), print) as log:
        hub = EventHub(name, log)
        made = Checkpoints(checkpoints_folder(sessions_folder(), name), root)
        for hub.run in ("run-one", "run-two"):
            hub.emit(RunStarted(f"prompt of {hub.run}", str(root), "m", "s", "auto", "none"))
            if hub.run == "run-one":
                act(made, hub.run, lambda: (root / "a").write_text("two\n"))
            else:
                act(made, hub.run, lambda: [(root / "b").write_text("two\n"), (root / ODD).write_text("\x1b[2J\n")])
        made.close()
    return name, root


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = main(args)
    out, err = capsys.readouterr()
    return code, out, err


def test_undo_shows_asks_does_and_takes_back(session: tuple[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    name, root = session
    code, out, err = run(capsys, "undo", "-C", str(root))
    assert (code, (root / "b").read_text()) == (2, "two\n")
    assert "--yes" in err
    assert "restore b  +1 -1" in out
    assert "\x1b" not in out
    assert "delete  x\\n\\x1b[31m.txt" in out
    code, out, _ = run(capsys, "undo", short_id(name), "--yes")
    assert (code, (root / "b").read_text(), (root / ODD).exists()) == (0, "one\n", False)
    assert "pool undo --redo takes this back" in out
    code, out, _ = run(capsys, "undo", "-C", str(root), "--dry-run")
    assert "prompt 1: prompt of run-one" in out
    (root / "a").write_text("mine\n")
    code, out, _ = run(capsys, "undo", "-C", str(root), "--to", "1", "--json", "--yes")
    assert [f["verdict"] for f in json.loads(out)["files"] if f["path"] == "a"] == ["yours"]
    assert (root / "a").read_text() == "mine\n"
    code, _, _ = run(capsys, "undo", "-C", str(root), "--redo", "--yes")
    assert (code, (root / "b").read_text()) == (0, "two\n")
    assert run(capsys, "undo", "-C", str(root), "--to", "7")[0] == 2


def test_diff_of_session_run_and_paths(session: tuple[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    name, root = session
    code, out, _ = run(capsys, "diff", "-C", str(root))
    assert code == 0
    assert "\x1b" not in out
    assert "+++ b/a\n@@ -1 +1 @@\n-one\n+two\n" in out
    code, out, _ = run(capsys, "diff", name[:20], "--run", "2", "--stat")
    assert " 2 files changed, 2 lines added, 1 removed" in out
    assert "a" not in [line.split("|")[0].strip() for line in out.splitlines()]
    code, out, _ = run(capsys, "diff", "-C", str(root), "--json", "a")
    assert [json.loads(line)["path"] for line in out.splitlines()] == ["a"]
    code, out, _ = run(capsys, "diff", "-C", str(root), "--worktree", "--color", "always", "b")
    assert "\x1b[32m+two\x1b[0m" in out
    assert run(capsys, "diff", "-C", str(root), "gone.py") == (0, "", "no changes\n")
    assert run(capsys, "diff", "-C", str(root), "00000000")[0] == 2


def test_fork_on_the_shell(session: tuple[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    name, _ = session
    code, out, _ = run(capsys, "sessions", "fork", name, "--at", "2", "--json")
    row = json.loads(out)
    assert code == 0
    assert row["forked_from"] == name
    assert Path(row["path"]).exists()
    assert run(capsys, "sessions", "fork", name, "--at", "3")[0] == 2


def test_a_session_that_went_on_in_another_folder(
    session: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each folder has its own changes: what is named says in which one is acted."""
    name, root = session
    other = repository(tmp_path / "other", a="one\n")
    log, rows, _ = SessionLog.reopen(sessions_folder() / f"{name}.jsonl", print)
    with log:
        hub = EventHub(name, log, next_seq=rows[-1]["seq"] + 1)
        hub.run = "run-three"
        hub.emit(RunStarted("prompt three", str(other), "m", "s", "auto", "none"))
        made = Checkpoints(checkpoints_folder(sessions_folder(), name), other)
        act(made, hub.run, lambda: (other / "a").write_text("three\n"))
        made.close()

    code, out, err = run(capsys, "diff", name)
    assert (code, "+three" in out, "+two" in out) == (0, True, False)
    assert f"the session worked in {root} too: pool diff {short_id(name)} -C {root}" in err
    assert "+two" in run(capsys, "diff", name, "-C", str(root))[1]
    assert "+two" in run(capsys, "diff", name, "--run", "1")[1]
    assert "+three" in run(capsys, "diff", name, "--run", "3")[1]
    code, out, err = run(capsys, "commit", name, "--no-model", "--dry-run")
    assert (code, f"worked in {root} too" in err, "a" in out) == (0, True, True)

    code, out, _ = run(capsys, "undo", name, "--to", "2", "--dry-run")
    assert f"files that later prompts changed in {other} stay" in out
    code, out, _ = run(capsys, "undo", name, "--yes")
    assert (code, (other / "a").read_text(), (root / "a").read_text()) == (0, "one\n", "two\n")
    assert f"in {other}" in out
    code, _, _ = run(capsys, "undo", name, "--redo", "--yes")
    assert (code, (other / "a").read_text()) == (0, "three\n")
