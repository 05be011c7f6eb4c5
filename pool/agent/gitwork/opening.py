"""Git for a person's own commands: a sandbox around the whole repository, found from the folder that was named."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from pool.agent.confinement import confine
from pool.agent.gitwork.errors import GitWorkError
from pool.config.settings import Settings
from pool.sessions.checkpoints.repository import Repository, repository_of
from pool_tools.api import ToolError
from pool_tools.commands import Commands
from pool_tools.frozen import frozen
from pool_tools.git.failures import failure, lock_hint, reach_of
from pool_tools.git.reading import Reader
from pool_tools.git.runner import Git, Output
from pool_tools.git.signing import Signing
from pool_tools.git.status import Status
from pool_tools.sandbox.base import Policy
from pool_tools.sandbox.probe import probe
from pool_tools.text import visible
from pool_tools.workspace import Workspace

ARGUMENT_PATHS = 200
"""Paths that one git process is given."""

IDENTITY = (
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"),
    *("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE", "EMAIL"),
)
"""Variables by which a person says who commits; no other variable for git reaches it."""


@frozen
class RepoGit:
    """A repository, and git in it. hidden are files that commands do not see."""

    repository: Repository
    git: Git
    reader: Reader
    hidden: Collection[Path] = ()

    @property
    def top(self) -> Path:
        """The work tree's own folder, by its real path."""
        return self.repository.top

    def with_env(self, env: Mapping[str, str]) -> RepoGit:
        """The same with variables for git besides."""
        git = self.git.with_env(env)
        return replace(self, git=git, reader=Reader(git))

    @property
    def signing(self) -> Signing:
        return Signing(self.git, self.reader)

    async def ask(self, *args: str) -> Output:
        """A reading command of git. Raises `GitWorkError` if it fails."""
        return self.checked(f"git {args[0]}", await self.git.read(*args))

    async def do(self, *args: str, what: str = "") -> Output:
        """A writing command of git. Raises `GitWorkError` if it fails."""
        return self.checked(what or f"git {args[0]}", await self.git.write(*args))

    async def script(self, what: str, script: str, *args: str) -> Output:
        """A script for sh, as `Git.script`. Raises `GitWorkError` if it fails."""
        return self.checked(what, await self.git.script(script, *args))

    async def status(self) -> Status:
        """The work tree's state. Raises `GitWorkError`."""
        try:
            return await self.reader.status()
        except ToolError as error:
            raise GitWorkError(str(error)) from None

    async def of_paths(self, paths: Sequence[str], *args: str) -> list[str]:
        """The NUL-separated records that git gives for paths, which are asked in portions."""
        out: list[str] = []
        for at in range(0, len(paths), ARGUMENT_PATHS):
            output = await self.ask(*args, "--", *paths[at : at + ARGUMENT_PATHS])
            out += [record for record in output.text.split("\0") if record]
        return out

    def refuse_if_locked(self) -> None:
        """Raise `GitWorkError` if the index is locked. The lock is never removed here."""
        lock = self.repository.folder / "index.lock"
        if os.path.lexists(lock):
            raise GitWorkError(lock_hint(f"'{lock}': File exists"))

    def checked(self, what: str, output: Output) -> Output:
        """output, if git did it. Raises `GitWorkError` with its complaint if not."""
        if not output.ok:
            raise GitWorkError(failure(what, output, reach_of(self.git.commands)))
        return output


def find_repository(folder: Path) -> Repository:
    """The repository that a folder is in. Raises `GitWorkError` outside of any."""
    found = repository_of(Path(os.path.realpath(folder)))
    if found is None:
        raise GitWorkError(f"{visible(str(folder))} is in no git repository; git init makes one")
    return found


@asynccontextmanager
async def open_repository(settings: Settings, *, more: Sequence[Path] = ()) -> AsyncGenerator[RepoGit]:
    """Git in the repository around the settings' workspace, in a sandbox of its own that may write all of it.

    more are further folders that git may write. Raises `GitWorkError` outside of a repository and `SettingsError` where
    a sandbox is required and none works.
    """
    repository = find_repository(settings.workspace)
    async with AsyncExitStack() as stack:
        hidden: Collection[Path] = ()
        if more:
            found = await asyncio.to_thread(probe, Policy((repository.top, *more)))
            stack.callback(found.sandbox.close)
        else:
            confinement = await confine(replace(settings, workspace=repository.top), stack)
            found, hidden = confinement.found, confinement.hidden or ()
        sandbox = found.sandbox
        workspace = Workspace(repository.top, more)
        stack.callback(workspace.close)
        commands = Commands(workspace, sandbox)
        stack.push_async_callback(commands.close)
        git = Git(commands, {name: os.environ[name] for name in IDENTITY if name in os.environ})
        yield RepoGit(repository, git, Reader(git), hidden)
