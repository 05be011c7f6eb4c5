"""Where a session starts: in a worktree of its own (`--worktree`), or on a branch (`pool run --branch`)."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from pool.config.settings import Mode, Settings, SettingsError
from pool.headless.plain import safe

if TYPE_CHECKING:
    from pool.agent.gitwork.opening import RepoGit
    from pool.sessions.checkpoints.repository import Repository

NIGHT_PROFILE = "night"
PROFILE_VARIABLE = "POOL_PROFILE"
ABOUT_CHARS = 80
"""Of the prompt so much goes into the name of a branch."""


def started_in(args: argparse.Namespace, settings: Settings, prompt: str, program: str) -> Settings:
    """The settings for where the session is to start. Raises `SettingsError` where that cannot be."""
    if args.worktree is None and not args.worktree_with_changes and not _night_apart(args, settings, program):
        return settings
    from pool.agent.gitwork.errors import GitWorkError
    from pool.agent.gitwork.opening import find_repository
    from pool.agent.gitwork.worktrees import add_worktree

    about = prompt.strip().split("\n", 1)[0][:ABOUT_CHARS]
    try:
        repository = find_repository(settings.workspace)
        top = repository.top
        if settings.continue_last and not _has_worktree(repository, args.worktree or ""):
            raise SettingsError("--worktree: a new worktree has no last session; -r ID takes a session there")
        tree = asyncio.run(
            add_worktree(settings, args.worktree or "", about=about, with_changes=args.worktree_with_changes)
        )
    except GitWorkError as error:
        raise SettingsError(f"--worktree: {error}") from None
    below = settings.workspace.resolve().relative_to(top)
    folder = tree.path / below
    if not folder.is_dir():
        raise SettingsError(f"--worktree: {below} is not in the last commit, so it is not in {tree.path}")
    sys.stderr.write(safe(f"{program}: working in {folder}, branch {tree.branch}", terminal=True) + "\n")
    return replace(settings, workspace=folder)


def _night_apart(args: argparse.Namespace, settings: Settings, program: str) -> bool:
    """Whether a run of the profile night is to have a worktree of its own, without being told to."""
    night = NIGHT_PROFILE in (args.profile, os.environ.get(PROFILE_VARIABLE, ""))
    elsewhere = settings.resume or settings.continue_last or settings.fork or settings.mode is Mode.PLAN
    if not night or elsewhere or getattr(args, "in_place", True) or args.branch:
        return False
    from pool.agent.gitwork.errors import GitWorkError
    from pool.agent.gitwork.opening import find_repository

    try:
        find_repository(settings.workspace)
    except GitWorkError:
        sys.stderr.write(f"{program}: no git repository, so the night works in the folder itself\n")
        return False
    return True


def _has_worktree(repository: Repository, branch: str) -> bool:
    from pool.agent.gitwork.worktrees import path_of

    return bool(branch) and path_of(repository, branch).is_dir()


async def on_branch(settings: Settings, name: str) -> str:
    """Switch to a branch, made at HEAD if there is none; what was done, for people. Raises `GitWorkError`.

    Changes that are not committed come along only if all of them are the agent's, of the session that goes on.
    """
    from pool.agent.gitwork.errors import GitWorkError
    from pool.agent.gitwork.opening import open_repository

    async with open_repository(settings) as repo:
        if not (await repo.git.read("check-ref-format", "--branch", name)).ok or name.startswith("-"):
            raise GitWorkError(f"{name!r} cannot be the name of a branch")
        repo.refuse_if_locked()
        status = await repo.status()
        if status.operation or status.conflicts:
            raise GitWorkError(f"{status.operation or 'a merge'} is in progress; finish it first, or give it up")
        if status.branch == name:
            return f"on branch {name} already"
        if status.staged or status.unstaged:
            await _refuse_others(repo, settings)
        known = (await repo.git.read("show-ref", "--verify", "--quiet", f"refs/heads/{name}")).ok
        await repo.do("switch", "--quiet", *(("--no-guess", name) if known else ("--create", name)))
        return f"on {'branch' if known else 'the new branch'} {name}"


async def _refuse_others(repo: RepoGit, settings: Settings) -> None:
    """Raise unless all changes to tracked files are those of the session that is gone on with."""
    from pool.agent.gitwork.authorship import Whose
    from pool.agent.gitwork.errors import GitWorkError
    from pool.agent.gitwork.sessionwork import propose_work
    from pool.sessions.store import NoSuchSession, by_id, last_of, sessions_folder

    words = "the work tree has changes that are not committed; commit or stash them before switching to a branch"
    if not (settings.resume or settings.continue_last):
        raise GitWorkError(words)
    folder = sessions_folder()
    try:
        found = by_id(folder, settings.resume) if settings.resume else last_of(folder, str(settings.workspace))
    except NoSuchSession as error:
        raise GitWorkError(str(error)) from None
    proposal = await propose_work(repo, found.id, settings.workspace, everything=True)
    others = [h.path for h in proposal.hunks if h.whose is not Whose.AGENT and proposal.file(h.path).before_mode]
    if others:
        raise GitWorkError(f"{words} ({others[0]} is not only the agent's)")
