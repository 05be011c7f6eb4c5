"""Scripts with git: `pool run --worktree|--branch|--commit|--pr-body` and `pool worktree`, on a real repository."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pool.headless.command import main
from pool.headless.worktree import main as worktree
from tests.cases.driver import MODEL, ModelServer, Step, answer, call


def git(folder: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, text=True).stdout


@contextmanager
def serving(*steps: Step) -> Generator[str]:
    """A scripted server on a thread of its own, since a command has a loop of its own; its address."""

    ready, leave = threading.Event(), threading.Event()
    urls: list[str] = []

    async def serve() -> None:
        async with ModelServer(*steps) as server:
            urls.append(server.url)
            ready.set()
            while not leave.is_set():
                await asyncio.sleep(0.02)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait(10)
    try:
        yield urls[0]
    finally:
        leave.set()
        thread.join()


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home, top = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    top.mkdir()
    (home / ".gitconfig").write_text("[init]\n\tdefaultBranch = main\n[user]\n\tname = T\n\temail = t@example.org\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    git(top, "init", "-q")
    (top / "a.txt").write_text("one\n")
    git(top, "add", ".")
    git(top, "commit", "-qm", "First")
    return top


def run(repo: Path, url: str, *words: str) -> int:
    """A run that writes new.txt and says that it is done."""
    flags = ("-C", str(repo), "--base-url", url, "--model", MODEL, "--mode", "allow-all", "-q")
    return main([*flags, *words])


def steps(text: str = "Done.") -> tuple[Step, ...]:
    return call("write", path="new.txt", content="new\n"), answer(text)


def test_a_worktree_a_commit_and_back(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = repo.parent / "pr.md"
    with serving(*steps(), answer("Add a new file")) as url:
        assert run(repo, url, "--worktree", "Add a file", "--commit", "auto", "--pr-body", str(body)) == 0
    tree = repo.with_name("work.worktrees") / "pool-add-a-file"
    assert f"working in {tree}, branch pool/add-a-file" in capsys.readouterr().err
    assert git(tree, "log", "--format=%s") == "Add a new file\nFirst\n"
    assert git(tree, "status", "--porcelain") == git(repo, "status", "--porcelain") == ""
    text = body.read_text()
    assert text.startswith("# Add a new file\n")
    assert "| `new.txt` | 1 | 0 |" in text
    assert "No test was run." in text
    assert worktree(["list", "-C", str(repo), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["branch"], row["made_by_pool"]) for row in rows] == [("main", False), ("pool/add-a-file", True)]
    assert worktree(["merge", "-C", str(repo)]) == 2  # nobody is there to ask
    assert "1 file changed" in capsys.readouterr().out
    assert worktree(["merge", "-C", str(repo), "--yes", "--remove"]) == 0
    assert git(repo, "log", "-1", "--format=%s") == "Add a new file\n"
    assert not tree.parent.exists()


def test_a_branch_and_a_hook_that_refuses(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hook = repo / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho style: line 3\nexit 1\n")
    hook.chmod(0o755)
    body = repo.parent / "pr.md"
    with serving(*steps()) as url:
        assert run(repo, url, "Go.", "--branch", "feature/x", "--commit", "Add it", "--pr-body", str(body)) == 4
    assert "style: line 3" in capsys.readouterr().err
    assert git(repo, "branch", "--show-current") == "feature/x\n"
    assert git(repo, "log", "--format=%s") == "First\n"
    assert "1 file with changes not committed: `new.txt`" in body.read_text()


def test_a_branch_is_not_switched_over_changes_that_are_not_the_agents(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(
        call("read", "c0", path="a.txt"), call("write", path="a.txt", content="two\n"), answer("Done.")
    ) as url:
        assert run(repo, url, "Go.") == 0
        assert run(repo, url, "Go on.", "--branch", "new") == 2
        assert "not committed" in capsys.readouterr().err
    with serving(answer("Done.")) as url:
        assert run(repo, url, "Go on.", "-c", "--branch", "new") == 0
        assert git(repo, "branch", "--show-current") == "new\n"
        (repo / "a.txt").write_text("two\nmine\n")
        assert run(repo, url, "Go on.", "-c", "--branch", "newer") == 2
        assert "not only the agent's" in capsys.readouterr().err


def test_a_run_that_did_not_complete_commits_nothing(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(*steps()) as url:
        assert run(repo, url, "Go.", "--commit", "Add it", "--max-turns", "1") == 5
    assert "nothing was committed" in capsys.readouterr().err
    assert git(repo, "log", "--format=%s") == "First\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--commit", " ", "Go."), "needs a message"),
        (("--worktree=x", "--branch", "y", "Go."), "names the branch of the worktree"),
        (("--branch", "a..b", "Go."), "cannot be the name"),
        (("--pr-body", "nowhere/pr.md", "Go."), "its folder is not there"),
        (("--worktree=x", "-c", "Go."), "has no last session"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_done(
    repo: Path, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(repo, "http://127.0.0.1:1/v1", *words) == 2
    assert said in capsys.readouterr().err
    assert git(repo, "branch", "--format=%(refname:short)") == "main\n"


def test_outside_of_a_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "http://127.0.0.1:1/v1", "--worktree", "Do it now") == 2
    assert "in no git repository" in capsys.readouterr().err
    assert worktree(["-C", str(tmp_path)]) == 1
    assert os.listdir(tmp_path) == []
