"""Git outside the sandbox, after approval: in an empty repository, with the user's own configuration and keys.

Nothing of the checkout is there for git to follow: no configuration, no hooks, no attributes, no filters. The
repository borrows the workspace's objects. Programs are looked up outside the workspace only.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from pool_tools.api import ToolError
from pool_tools.environment import FIXED, find_program, why_no_program
from pool_tools.frozen import frozen
from pool_tools.git.reading import Reader
from pool_tools.git.runner import Git
from pool_tools.home import home as users_home
from pool_tools.text import visible

_FLAGS = (
    *("--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.alternateRefsCommand=true"),
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "color.ui=false"),
)


@frozen
class Surroundings:
    """folder is the empty repository; roots what may be written by commands, so that nothing in them is run.

    environ is the user's environment: git may use an agent for keys, or a credential helper. limit is in seconds.
    """

    folder: Path
    roots: Sequence[Path]
    environ: Mapping[str, str]
    limit: float


@frozen
class Done:
    """How git ended, and what it said on both streams."""

    status: int | None
    out: bytes

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "replace")


async def run_outside(
    args: Sequence[str],
    around: Surroundings,
    env: Mapping[str, str] = MappingProxyType({}),
    given: bytes = b"",
) -> Done:
    """Run git with args and given as its input. Raises `ToolError` if it cannot be started or takes too long."""
    search_path = around.environ.get("PATH", os.defpath)
    program = find_program("git", search_path, around.roots)
    if program is None:
        raise ToolError(f"{why_no_program('git', search_path, around.roots)}. Tell the user.")
    process = await asyncio.create_subprocess_exec(
        *(program, *_FLAGS, *args),
        cwd=around.folder,
        env={**_environment(around), **env, "GIT_DIR": str(around.folder)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(around.limit):
            told, _ = await process.communicate(given)
    except TimeoutError:
        raise ToolError(f"git {_action(args)} took longer than {around.limit:.0f} s and was ended.") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return Done(process.returncode, told)


def _action(args: Sequence[str]) -> str:
    """The action among arguments that may begin with settings."""
    at = 0
    while args[at] == "-c":
        at += 2
    return args[at]


def _environment(around: Surroundings) -> dict[str, str]:
    """The user's environment without git's own variables, without a terminal, and with nothing that waits for one."""
    kept = {name: value for name, value in around.environ.items() if not name.startswith("GIT_") and name != "GPG_TTY"}
    quiet = {name: value for name, value in FIXED.items() if name.startswith(("GIT_", "SSH_"))}
    return {**kept, **quiet, "PATH": _own_path(around), "LC_ALL": "C.UTF-8"}


def _own_path(around: Surroundings) -> str:
    """The search path without folders in the workspace, such as a virtual environment's, and without relative ones."""
    folders = around.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(f for f in folders if os.path.isabs(f) and not in_roots(f, around.roots))


def check_configuration(around: Surroundings) -> None:
    """Raise `ToolError` if the user's own configuration of git lies where commands can write."""
    home = around.environ.get("HOME") or str(users_home())
    other = around.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    for path in (os.path.join(home, ".gitconfig"), os.path.join(other, "git/config")):
        if os.path.isabs(path) and os.path.lexists(path) and in_roots(path, around.roots):
            raise ToolError(
                f"The user's git configuration {visible(path)} lies in the workspace, where commands can change it, so "
                "git is not run outside the sandbox with it. The user can do it in a terminal."
            )


def in_roots(path: str, roots: Sequence[Path]) -> bool:
    """Whether an absolute path lies in one of roots, as it is written or where its links lead."""
    ways = {os.path.normpath(path), os.path.realpath(path)}
    return any(os.path.commonpath((root, way)) == str(root) for root in roots for way in ways)


async def object_folder(git: Git, reader: Reader) -> Path:
    """Where the workspace's repository keeps its objects."""
    found = await git.read("rev-parse", "--path-format=absolute", "--git-path", "objects")
    return Path(reader.checked("git rev-parse", found).text.rstrip("\n"))


def borrow_objects(folder: Path, objects: Path) -> None:
    """Let the repository at folder read the objects of another."""
    (folder / "objects/info").mkdir(parents=True, exist_ok=True)
    (folder / "objects/info/alternates").write_bytes(os.fsencode(f"{objects}\n"))
