"""Hidden files and git inside the sandbox: whatever is added, they are not, and a checkout leaves them alone."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pool_tools.sandbox.base import Policy, Sandbox
from pool_tools.sandbox.probe import probe
from pool_tools.sandbox.trial import output_of
from pool_tools.sandbox.unseen import exclude_files
from pool_tools.secretfiles import HiddenFiles

from ..conftest import missing

SECRET = "KEY=1\n"


def git(folder: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with one commit, and secrets that nothing ignores; one has a name that patterns take for more."""
    work = tmp_path / "work"
    work.mkdir()
    for args in (("init", "-q"), ("config", "user.name", "T"), ("config", "user.email", "t@example.org")):
        git(work, *args)
    (work / "a.py").write_text("1\n")
    git(work, "add", "a.py")
    git(work, "commit", "-q", "-m", "one")
    (work / ".env").write_text(SECRET)
    (work / "deploy").mkdir()
    (work / "deploy/[a] b*.pem").write_text(SECRET)
    (work / "deploy/a b.pem.txt").write_text("kept\n")
    return work


@pytest.fixture
def sandbox(work: Path) -> Iterator[Sandbox]:
    found = probe(Policy((work,), hidden=HiddenFiles(work)))
    if found.tier != "bubblewrap":
        missing(f"no bubblewrap here: {found.reason}")
    yield found.sandbox
    found.sandbox.close()


def run(sandbox: Sandbox, work: Path, command: str) -> str:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(work)}
    return output_of(sandbox, ("/bin/sh", "-c", f"{command} 2>&1; echo rc $?"), work, env, 20.0)


@pytest.mark.parametrize(
    "command",
    ["git add -A && git commit -qm two", "git add . && git commit -qm two", "git add deploy && git commit -qam two",
     "git stash -qu && git stash pop -q && git add -A && git commit -qm two"],
)  # fmt: skip
def test_git_adds_everything_but_hidden_files(work: Path, sandbox: Sandbox, command: str) -> None:
    (work / "a.py").write_text("2\n")
    assert run(sandbox, work, command) == "rc 0\n"
    assert git(work, "ls-tree", "-r", "--name-only", "HEAD").split("\n")[:-1] == ["a.py", "deploy/a b.pem.txt"]
    git(work, "reset", "-q", "--hard")
    assert [(work / name).read_text() for name in (".env", "deploy/[a] b*.pem")] == [SECRET, SECRET]


def test_git_cannot_be_made_to_add_one(work: Path, sandbox: Sandbox) -> None:
    out = run(
        sandbox, work, "git add -f .env; git stash -qa; git update-index --add .env; git clean -fdxq; git add -fA ."
    )
    assert ".env: can only add regular files" in out
    assert ".env" not in git(work, "ls-files")
    assert (work / ".env").read_text() == SECRET


def test_a_linked_worktree_leaves_them_out_too(work: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git(work, "worktree", "add", "-q", str(tree))
    (tree / ".env").write_text(SECRET)
    found = probe(Policy((tree,), hidden=HiddenFiles(tree)))
    if found.tier != "bubblewrap":
        missing(f"no bubblewrap here: {found.reason}")
    try:
        assert run(found.sandbox, tree, "touch b && git add -A && git commit -qm two && git status --short") == "rc 0\n"
    finally:
        found.sandbox.close()
    assert git(tree, "ls-files") == "a.py\nb\n"
    assert ".env" not in (work / ".git/info/exclude").read_text(), "the user's own list stays as it is"


def test_what_the_user_leaves_out_stays_left_out(work: Path) -> None:
    exclude = work / ".git/info/exclude"
    exclude.write_text("*.log")
    made = exclude_files([work / ".env", work / "deploy/x\n.pem"], [work], writable=True)
    assert made == {exclude: b"*.log\n/.env\n"}
    assert exclude_files([work / ".env"], [work / "deploy"], writable=True) == {}
    exclude.unlink()
    assert exclude_files([work / ".env"], [work], writable=True) == {exclude: b"/.env\n"}
    assert exclude_files([work / ".env"], [work], writable=False) == {}
    exclude.symlink_to("/etc/passwd")
    assert exclude_files([work / ".env"], [work], writable=True) == {}
