"""Ways around the guard over what git takes orders from, as a command or a checkout could try them."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pool_tools.sandbox.gitfiles import HELD_BACK, hold_back, put_file, read_regular
from pool_tools.sandbox.gitrestore import MOST_NOTES, GitGuard
from tests.tools.sandbox.test_gitrestore import git, guarded, repository

EVIL = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = touch pwned\n"
NOBODY = 65_534
APART_SECONDS = 0.1
"""Longer than change times may lag behind the clock: what was done before is older beyond doubt."""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return repository(tmp_path / "work")


@pytest.fixture
def mine() -> Iterator[Path]:
    """A repository of a plain user, as whom the test then runs: nothing that modes forbid is allowed to him."""
    if os.getuid():
        pytest.skip("only root can become a plain user")
    folder = Path(tempfile.mkdtemp())
    os.chown(folder, NOBODY, NOBODY)
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        work = folder / "work"
        (work / ".git/hooks").mkdir(parents=True)
        for name in ("objects", "refs"):
            (work / ".git" / name).mkdir()
        (work / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (work / ".git/config").write_text("[core]\n\tbare = false\n")
        yield work
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)
        shutil.rmtree(folder)


def parts(folder: Path) -> None:
    """All of a repository but HEAD, with a configuration that runs something."""
    for name in ("objects", "refs", "hooks"):
        (folder / name).mkdir(parents=True)
    (folder / "config").write_text(EVIL)
    (folder / "hooks/post-checkout").write_text("touch pwned")


def test_prepared_by_one_command_made_a_repository_by_the_next(work: Path) -> None:
    guard = GitGuard((work,))
    guard.before()
    parts(work / "x/parts")
    parts(work / "bare")
    assert guard.after() == ()
    time.sleep(APART_SECONDS)
    guard.before()
    (work / "x/parts/HEAD").write_text("ref: refs/heads/main\n")
    (work / "x/parts").rename(work / "x/.git")
    (work / "bare/HEAD").write_text("ref: refs/heads/main\n")
    assert len(guard.after()) == 4
    for folder in ("x/.git", "bare"):
        assert "fsmonitor" not in (work / folder / "config").read_text()
        assert (work / folder / f"hooks/post-checkout{HELD_BACK}").exists()


def test_brought_from_where_nobody_looks(work: Path) -> None:
    hidden = work / "__pycache__/r"
    guard = GitGuard((work,))
    guard.before()
    parts(hidden / ".git")
    (hidden / ".git/HEAD").write_text("ref: refs/heads/main\n")
    assert guard.after() == ()
    time.sleep(APART_SECONDS)
    guard.before()
    hidden.rename(work / "r")
    assert len(guard.after()) == 2
    assert "fsmonitor" not in (work / "r/.git/config").read_text()


@pytest.mark.parametrize("text", ["[include]\n\tpath = a\0b\n", "[core]\n\tworktree = a\0b\n"])
def test_configuration_with_a_nul(work: Path, text: str) -> None:
    new = repository(work / "new")

    def change() -> None:
        (new / ".git/config").write_text(text)
        (repository(work / "newer") / ".git/config").write_text(text)

    assert len(guarded(work, change)) == 2


def test_pointer_with_a_nul(work: Path) -> None:
    nested = work / "nested"
    nested.mkdir()

    def change() -> None:
        (nested / ".git").write_text("gitdir: a\0b\n")
        shutil.rmtree(work / ".git")
        (work / ".git").write_text("gitdir: a\0b\n")

    assert len(guarded(work, change)) == 2


def test_a_pipe_where_a_file_is_expected_is_not_waited_for(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "fake").mkdir(parents=True)

    def change() -> None:
        os.mkfifo(work / "fake/gitdir")
        (work / ".git").write_text(f"gitdir: {work}/fake\n")

    assert "leads git to another folder" in guarded(work, change)[0]


def test_no_end_of_notes(work: Path) -> None:
    new = work / "new/.git"

    def change() -> None:
        parts(new)
        (new / "HEAD").write_text("ref: refs/heads/main\n")
        for number in range(MOST_NOTES + 10):
            (new / f"hooks/{number}").touch()

    notes = guarded(work, change)
    assert len(notes) == MOST_NOTES + 1
    assert notes[-1] == "and 12 more of the kind"
    assert all(name.endswith(HELD_BACK) for name in os.listdir(new / "hooks"))


def test_a_folder_that_a_job_has_just_swapped_for_a_link(tmp_path: Path) -> None:
    """What the guard found to be a folder may be a link when it mends it: nothing beyond is read, moved or written."""
    outside, work = tmp_path / "outside", tmp_path / "work"
    outside.mkdir()
    work.mkdir()
    (outside / "pre-push").write_text("theirs")
    (work / "hooks").symlink_to(outside)
    with pytest.raises(OSError, match=r"symbolic|directory"):
        read_regular(work / "hooks/pre-push", 100)
    with pytest.raises(OSError, match=r"symbolic|directory"):
        hold_back(work / "hooks/pre-push")
    put_file(work / "hooks/pre-push", b"ours", 0o755)
    assert (work / "hooks/pre-push").read_text() == "ours"
    assert os.listdir(outside) == ["pre-push"]
    assert (outside / "pre-push").read_text() == "theirs"
    assert (work / f"hooks{HELD_BACK}").is_symlink()


def test_a_file_swapped_for_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config")
    with pytest.raises(OSError, match="no file any more"):
        read_regular(tmp_path / "config", 100)


def test_a_folder_that_may_not_be_listed(mine: Path) -> None:
    hooks = mine / ".git/hooks"

    def change() -> None:
        (hooks / "pre-commit").write_text("touch pwned")
        hooks.chmod(0o311)
        parts(mine / "closed/new/.git")
        (mine / "closed/new/.git/HEAD").write_text("ref: refs/heads/main\n")
        (mine / "closed").chmod(0o311)

    assert len(guarded(mine, change)) == 3
    assert os.listdir(hooks) == [f"pre-commit{HELD_BACK}"]
    assert "fsmonitor" not in (mine / "closed/new/.git/config").read_text()


def test_what_the_user_locked_stays_locked(mine: Path) -> None:
    closed = mine / "closed"
    closed.mkdir(mode=0o311)
    assert guarded(mine, lambda: None) == ()
    assert closed.stat().st_mode & 0o777 == 0o311


def test_a_name_that_cannot_be_taken(mine: Path) -> None:
    hooks = mine / ".git/hooks"

    def change() -> None:
        (hooks / "pre-commit").write_text("touch pwned")
        (hooks / f"pre-commit{HELD_BACK}/x").mkdir(parents=True)
        (hooks / f"pre-commit{HELD_BACK}/x/y").touch()
        (hooks / f"pre-commit{HELD_BACK}/x").chmod(0o500)
        (mine / ".git/config").write_text(EVIL)
        (mine / ".git/config").chmod(0o000)
        hooks.chmod(0o500)
        (mine / ".git").chmod(0o500)

    guarded(mine, change)
    assert not (hooks / "pre-commit").exists()
    assert (mine / ".git/config").read_text() == "[core]\n\tbare = false\n"


def test_a_real_commit_still_works_afterwards(work: Path) -> None:
    def change() -> None:
        parts(work / "bare")
        (work / "bare/HEAD").write_text("ref: refs/heads/main\n")

    guarded(work, change)
    (work / "a").write_text("x")
    git(work, "add", "a")
    git(work, "commit", "-q", "-m", "two")
