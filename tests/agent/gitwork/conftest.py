"""A real repository, an agent's session with checkpoints in it, and git in a sandbox around it."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

import pytest

from pool.agent.gitwork.opening import RepoGit, open_repository
from pool.config.settings import Settings
from pool.sessions.checkpoints.changes import ChangesView
from pool.sessions.checkpoints.checkpoints import Checkpoints


def git(folder: Path, *args: str, check: bool = True) -> str:
    """Git as the user runs it."""
    done = subprocess.run(["git", *args], cwd=folder, check=check, capture_output=True, text=True)
    return done.stdout


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with no git settings but these."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / ".gitconfig").write_text("[init]\n\tdefaultBranch = main\n[user]\n\tname = T\n\temail = t@example.org\n")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with one commit of a.txt, which has ten lines, and b.txt."""
    top = tmp_path / "work"
    top.mkdir()
    git(top, "init", "-q")
    (top / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    (top / "b.txt").write_text("b\n")
    git(top, "add", ".")
    git(top, "commit", "-qm", "First")
    return top


class Work:
    """An agent's session in a folder: `agent` runs work as one of its calls, all else is somebody else's."""

    open: ClassVar[list[Work]] = []

    def __init__(self, root: Path) -> None:
        self.open.append(self)
        self.root = root
        self.folder = root.parent / "state" / "pool" / "checkpoints" / "s1"
        self._kept = Checkpoints(self.folder, root)
        self._kept.begin()
        self._calls = 0

    def agent(self, work: Callable[[], object]) -> None:
        self._calls += 1
        self._kept.before("r1", 1, f"c{self._calls}")
        work()
        self._kept.after()

    def view(self) -> ChangesView:
        return ChangesView(self.folder, self.root)

    def close(self) -> None:
        self._kept.close()


@pytest.fixture(autouse=True)
def closed_at_the_end() -> Iterator[None]:
    """Sessions let go of their files."""
    yield
    while Work.open:
        Work.open.pop().close()


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[RepoGit]:
    async with open_repository(Settings(folder)) as found:
        yield found


def change_line(path: Path, number: int, text: str) -> None:
    """Replace a line, counted from 1."""
    lines = path.read_text().split("\n")
    lines[number - 1] = text
    path.write_text("\n".join(lines))
