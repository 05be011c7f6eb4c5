from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pool_tools.sandbox.base import NoSandbox

from ..conftest import Desk, bubblewrap, make_desk

Run = Callable[..., str]


def run_git(folder: Path, *args: str, check: bool = True) -> str:
    """Git as the user runs it."""
    done = subprocess.run(["git", *args], cwd=folder, check=check, capture_output=True, text=True)
    return done.stdout


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with no git settings but these."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[init]\n\tdefaultBranch = main\n[user]\n\tname = T\n\temail = t@example.org\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("XDG_CONFIG_HOME", "GIT_DIR", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture(params=["none", "bubblewrap"])
def repo(request: pytest.FixtureRequest, folder: Path, own_home: Path) -> Iterator[Desk]:
    """A desk in each tier whose workspace is a repository with one commit of a.txt."""
    run_git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\ntwo\n")
    run_git(folder, "add", "a.txt")
    run_git(folder, "commit", "-qm", "first")
    yield from make_desk(folder, NoSandbox() if request.param == "none" else bubblewrap(folder))
