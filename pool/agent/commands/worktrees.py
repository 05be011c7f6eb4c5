"""Commands on worktrees: taking the session to one of its own, and bringing its work back."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

from pool import __version__
from pool.agent.commands.kinds import (
    Action,
    ActionKind,
    Ask,
    Choice,
    Command,
    CommandError,
    CommandResult,
    Typed,
    said,
    words,
)
from pool.agent.control import Conversation
from pool.agent.ids import new_id
from pool.messages import Role, user
from pool.sessions.store import NoSuchSession, by_id, sessions_folder, short_id

NOW = "--now"
WITH_CHANGES = "--with-changes"
COMMITS_SHOWN = 20


async def _move(conversation: Conversation, typed: Typed) -> CommandResult:
    # Git is not loaded before it is asked for.
    from pool.agent.gitwork.errors import GitWorkError
    from pool.agent.gitwork.opening import find_repository
    from pool.agent.gitwork.worktrees import add_worktree

    session = conversation.session
    settings = session.settings
    names = [word for word in typed.words if word != WITH_CHANGES]
    if len(names) > 1:
        raise CommandError(f"usage: /move [{WITH_CHANGES}] [BRANCH]")
    if settings.ephemeral:
        raise CommandError("this session is not saved, so it cannot be taken elsewhere")
    try:
        source = await asyncio.to_thread(by_id, sessions_folder(), conversation.hub.session)
        top = find_repository(settings.workspace).top
        about = source.prompt or "work"
        with_changes = WITH_CHANGES in typed.words
        tree = await add_worktree(settings, names[0] if names else "", about=about, with_changes=with_changes)
    except NoSuchSession as error:
        raise CommandError(f"{error}; a session without a prompt has nothing to take along: /new") from None
    except GitWorkError as error:
        raise CommandError(str(error)) from None
    folder = tree.path / os.path.relpath(os.path.realpath(settings.workspace), top)
    folder = Path(os.path.normpath(folder))
    if not folder.is_dir():
        raise CommandError(f"{folder} is not in the last commit, so the session cannot work there")
    moved = await asyncio.to_thread(_forked, conversation, folder, tree.branch)
    lines = (
        f"the session goes on as {short_id(moved)} in {folder}, branch {tree.branch}",
        f"this one stays as it is, and its changes can be undone there: pool -r {short_id(conversation.hub.session)}",
        "/merge brings the work back",
    )
    return CommandResult(lines, action=Action(ActionKind.RESUME, moved, str(folder)))


def _forked(conversation: Conversation, folder: Path, branch: str) -> str:
    """A copy of the session that works in folder, and whose model is told so."""
    from pool.sessions.forks import fork

    history = conversation.session.agent.history
    old = conversation.session.settings.workspace
    note = (
        f"[Pool] The session goes on in another folder: {folder}, a git worktree on branch {branch}. What was said of "
        f"{old} was about the folder before: look at files again, and work only in {folder}."
    )
    last = history.messages[-1].message
    text = f"{last.content}\n\n{note}" if last.role is Role.USER else note
    session = new_id()
    source = by_id(sessions_folder(), conversation.hub.session)
    title = f"{source.prompt[:60]} (in {branch})" if source.prompt else ""
    data = history.encode(user(text)).data
    fork(source, session, __version__, workspace=str(folder), last=data, title=title)
    return session


async def _merge(conversation: Conversation, typed: Typed) -> CommandResult:
    from pool.agent.gitwork.errors import GitWorkError
    from pool.agent.gitwork.opening import find_repository, open_repository
    from pool.agent.gitwork.worktrees import conflict_words, main_of, merge, plan_merge

    settings = conversation.session.settings
    names = [word for word in typed.words if word != NOW]
    if len(names) > 1:
        raise CommandError("usage: /merge [BRANCH]")
    try:
        main = main_of(find_repository(settings.workspace))
        async with open_repository(replace(settings, workspace=main)) as repo:
            plan = await plan_merge(repo, settings, names[0] if names else "")
            into, branch = plan.main.branch, plan.tree.branch
            if not plan.commits:
                return said(f"{into} has all of {branch} already")
            if NOW not in typed.words:
                how = "forward" if plan.forward else "by a merge commit"
                more = len(plan.commits) - COMMITS_SHOWN
                lines = [f"{branch} into {into}, {how}:", *plan.commits[:COMMITS_SHOWN]]
                lines += [f"… and {more} more commits"] if more > 0 else []
                choices = (Choice("merge", f"/merge {NOW} {branch}"), Choice("leave it"))
                return CommandResult((*lines, *plan.stat.split("\n")), ask=Ask("Merge this?", choices))
            merged = await merge(repo, plan)
    except GitWorkError as error:
        raise CommandError(str(error)) from None
    if merged.conflicts:
        return CommandResult((conflict_words(plan, merged),), ok=False)
    done = f"merged: {into} is at {merged.head[:10]}"
    return said(done, f"when you are done here: pool worktree remove {branch} -C {plan.main.path}")


COMMANDS = (
    Command(
        "move",
        "take the session to a git worktree of its own",
        _move,
        hint="[--with-changes] [BRANCH]",
        needs_idle=True,
        arguments=words(WITH_CHANGES),
    ),
    Command(
        "merge",
        "merge the worktree's branch into that of the main checkout, shown first",
        _merge,
        hint="[BRANCH]",
        needs_idle=True,
    ),
)
