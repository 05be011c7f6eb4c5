"""The branch in the status bar, from real repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pool.tui.gitline import Branch, branch_of


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_branch_detached_worktree_and_none(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    assert branch_of(repo) is None
    git(repo, "init", "-q", "-b", "feature/one")
    assert branch_of(repo) == Branch("feature/one")
    git(repo, "commit", "-q", "--allow-empty", "-m", "start")
    git(repo, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    below = tmp_path / "tree" / "sub"
    below.mkdir()
    assert branch_of(below) == Branch("other", worktree=True)
    git(repo, "checkout", "-q", "--detach")
    assert branch_of(repo) == Branch(git(repo, "rev-parse", "HEAD")[:8])


def test_a_broken_git_file_is_no_branch(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: nowhere")
    assert branch_of(tmp_path) is None
