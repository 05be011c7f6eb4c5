"""`pool commit` after a headless run: on a real repository, without a server, with its exit codes."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from pool.events import CommitMade
from pool.headless.commit import main
from pool.sessions.log import read_rows
from pool.sessions.store import last_of, sessions_folder
from tests.cases.driver import ModelServer, answer, call, driving


def git(folder: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, text=True).stdout


async def run_once(repo: Path) -> None:
    """A run that changes one of two lines and makes a file; the server is gone afterwards."""
    steps = (call("read", "c0", path="a.txt"), call("edit", path="a.txt", old="two", new="TWO"))
    new = call("write", "c2", path="new.txt", content="new\n")
    async with ModelServer(*steps, new, answer("Done.")) as server, driving(server.url, repo) as driver:
        await driver.run()


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in which a run has worked, and the user too."""
    home, top = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    top.mkdir()
    (home / ".gitconfig").write_text("[init]\n\tdefaultBranch = main\n[user]\n\tname = T\n\temail = t@example.org\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    git(top, "init", "-q")
    (top / "a.txt").write_text("one\ntwo\n3\n4\n5\n6\n")
    git(top, "add", ".")
    git(top, "commit", "-qm", "fix: first")
    asyncio.run(run_once(top))
    (top / "a.txt").write_text((top / "a.txt").read_text().replace("6", "mine"))
    return top


def test_without_a_server_the_message_is_by_rule_and_nothing_happens_unasked(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-C", str(repo)]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("    chore: change a.txt and new.txt\n  (message by rule: the model could not be asked")
    assert "modified a.txt  +1 -1  (1 of 2 hunks stay out)" in out
    assert "--yes does it" in err
    assert git(repo, "log", "--format=%s") == "fix: first\n"


def test_the_configuration_asks_for_the_trailer(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POOL_GIT_ASSISTED_BY", "true")
    assert main(["-C", str(repo), "-y", "-m", "fix: say two"]) == 0
    assert "\nAssisted-by: Pool (" in git(repo, "log", "-1", "--format=%B")


def test_with_yes_it_is_committed_and_the_session_knows(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-C", str(repo), "-y", "-m", "fix: say two", "--assisted-by"]) == 0
    assert "committed" in capsys.readouterr().out
    assert git(repo, "log", "-1", "--format=%B").strip() == "fix: say two\n\nAssisted-by: Pool (laguna-test)"
    assert git(repo, "status", "--porcelain") == " M a.txt\n"
    rows, _ = read_rows(last_of(sessions_folder(), str(repo)).path.read_bytes())
    assert rows[-1]["type"] == CommitMade.type
    assert rows[-1]["files"] == ["a.txt", "new.txt"]
    assert main(["-C", str(repo), "-y", "-m", "again"]) == 1
    assert "not the agent's: 1 change" in capsys.readouterr().err


def test_as_json_nothing_but_one_object(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-C", str(repo), "--no-model", "--json", "--all", "--yes"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["files"] == ["a.txt", "new.txt"]
    assert row["message_by"] == "rule"
    assert row["commit"] == git(repo, "rev-parse", "HEAD").strip()
    assert git(repo, "status", "--porcelain") == ""


def test_a_hook_that_refuses_is_not_0(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hook = repo / ".git/hooks/commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho too vague >&2\nexit 1\n")
    hook.chmod(0o755)
    assert main(["-C", str(repo), "-y", "-m", "stuff"]) == 1
    assert "too vague" in capsys.readouterr().err
    assert git(repo, "log", "--format=%s") == "fix: first\n"


def test_where_it_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-C", str(tmp_path), "--all"]) == 1
    assert "in no git repository" in capsys.readouterr().err
    assert main(["-C", str(tmp_path)]) == 2
    assert "no session" in capsys.readouterr().err
