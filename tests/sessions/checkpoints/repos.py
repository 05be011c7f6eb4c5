"""Real repositories for checkpoints, and a session's checkpoints over them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from pool.sessions.checkpoints.checkpoints import Checkpoints
from pool.sessions.checkpoints.looks import Limits

Act = Callable[[], object]


def git(folder: Path, *args: str) -> str:
    names = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=N", "-c", "user.email=n@x", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ("git", *identity, *args), cwd=folder, env={**os.environ, **names}, capture_output=True, check=True
    )
    return done.stdout.decode("utf-8", "surrogateescape")


def repository(folder: Path, **files: str) -> Path:
    """A repository with one commit of these files, by name with `__` for a slash."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if files:
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "first")
    return folder


@contextmanager
def checkpoints(state: Path, root: Path, limits: Limits | None = None, session: str = "s1") -> Generator[Checkpoints]:
    made = Checkpoints(state / "checkpoints" / session, root, limits)
    try:
        yield made
    finally:
        made.close()


def act(made: Checkpoints, run: str, doing: Act, path: str = "") -> list[str]:
    """A call of a run: checkpoint, what it does, and the changes found, as `kind path`."""
    made.before(run, 1, "c", path)
    doing()
    return [f"{c.kind} {c.path}" for c in made.after(path).changes]


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and bytes (of a link: its target) of everything but git's own."""
    out: dict[str, tuple[int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if ".git" in path.parts or (path.is_dir() and not path.is_symlink()):
            continue
        data = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
        out[name] = (path.lstat().st_mode, data)
    return out
