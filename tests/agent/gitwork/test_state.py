"""The state of a repository for a status line, on real repositories: what it knows, and that it never waits."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from pool.agent.gitwork import state as state_module
from pool.agent.gitwork.branch import GitState, branch_from_files
from pool.agent.gitwork.state import GitWatch, git_state
from pool_tools.commands import Commands
from pool_tools.sandbox.base import NoSandbox
from pool_tools.workspace import Workspace

from .conftest import change_line, git


def commands(folder: Path) -> Commands:
    return Commands(Workspace(folder), NoSandbox())


async def test_what_it_knows(repo: Path, tmp_path: Path) -> None:
    assert await git_state(commands(repo)) == GitState("main", dirty=False)
    (repo / "new.txt").write_text("new\n")
    assert await git_state(commands(repo)) == GitState("main", dirty=True)
    git(repo, "clone", "-q", ".", str(tmp_path / "clone"))
    clone = tmp_path / "clone"
    git(clone, "commit", "-q", "--allow-empty", "-m", "One more")
    assert await git_state(commands(clone)) == GitState("main", dirty=False, ahead=1)
    git(repo, "worktree", "add", "-q", "-b", "feature/x", str(tmp_path / "tree"))
    assert await git_state(commands(tmp_path / "tree")) == GitState("feature/x", dirty=False, worktree=True)
    git(clone, "checkout", "-q", "--detach")
    short = git(clone, "rev-parse", "HEAD")[:8]
    assert await git_state(commands(clone)) == GitState(short, detached=True, dirty=False)


async def test_a_merge_that_is_half_done_a_lock_and_a_broken_repository(repo: Path, tmp_path: Path) -> None:
    git(repo, "switch", "-qc", "other")
    change_line(repo / "b.txt", 1, "other")
    git(repo, "commit", "-qam", "Other")
    git(repo, "switch", "-q", "main")
    change_line(repo / "b.txt", 1, "main")
    git(repo, "commit", "-qam", "Main")
    git(repo, "merge", "other", check=False)
    (repo / ".git/index.lock").touch()
    assert await git_state(commands(repo)) == GitState("main", dirty=True, operation="a merge")
    (repo / ".git/index").write_bytes(b"no index")
    assert await git_state(commands(repo)) == GitState("main", operation="a merge")
    plain = tmp_path / "plain"
    plain.mkdir()
    assert await git_state(commands(plain)) is None
    (plain / ".git").write_text("gitdir: nowhere")
    assert branch_from_files(plain) is None


async def test_git_that_takes_too_long_is_unknown(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "bin"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nsleep 30\n")
    (slow / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow}{os.pathsep}{os.environ['PATH']}")
    assert await git_state(commands(repo), limit=0.2) == GitState("main")


async def test_the_watch_answers_at_once_and_looks_in_the_background(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = GitWatch(commands(repo))
    changed = asyncio.Event()
    watch.changed = changed.set
    assert watch.state() == GitState("main")
    await asyncio.wait_for(changed.wait(), 10)
    assert watch.state() == GitState("main", dirty=False)
    (repo / "new.txt").write_text("new\n")
    assert watch.state() == GitState("main", dirty=False)  # not due yet
    git(repo, "switch", "-qc", "other")
    assert watch.state() == GitState("other")
    changed.clear()
    monkeypatch.setattr(state_module, "LEAST_SECONDS", 0.0)
    watch._due = 0.0  # pyright: ignore[reportPrivateUsage] the clock is not waited for
    watch.state()
    await asyncio.wait_for(changed.wait(), 10)
    assert watch.state() == GitState("other", dirty=True)
