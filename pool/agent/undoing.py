"""Undo, diffs and forks of the session that is open: what a face may do to files and conversation between two runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path

from pool import __version__
from pool.agent.checkpointing import Checkpointer
from pool.agent.gitwork.blocks import merged
from pool.agent.history import History
from pool.agent.hub import EventHub
from pool.agent.ids import new_id
from pool.sessions.checkpoints.changes import ChangesView, FileChange
from pool.sessions.checkpoints.checkpoints import Checkpoints, checkpoints_folder
from pool.sessions.checkpoints.contents import Damaged
from pool.sessions.checkpoints.textdiff import without
from pool.sessions.checkpoints.undo import Undone, carry_out, revert_hunks
from pool.sessions.forks import fork
from pool.sessions.log import read_rows
from pool.sessions.promptwork import PromptWork, prompt_work
from pool.sessions.replay import resumed
from pool.sessions.rewind import Rewind, plan_back, plan_to
from pool.sessions.rewinds import Prompt, Row, prompts
from pool.sessions.store import by_id
from pool.sessions.workrows import WorkRows


class Scope(StrEnum):
    """Whose changes a diff shows: the last prompt's, the session's, or all since git's last commit."""

    RUN = "run"
    SESSION = "session"
    WORKTREE = "worktree"


class SessionUndo:
    """For an open session. No run may be at work while something is planned or carried out."""

    def __init__(
        self,
        log: Path,
        workspace: Path,
        kept: Checkpointer,
        history: History,
        hub: EventHub,
        went_back: Callable[[WorkRows], object] = lambda work: None,
    ) -> None:
        """log is the path of the session's log. went_back takes what the session set out to do at the place gone to."""
        self._log = log
        self._workspace = workspace
        self._kept = kept
        self._history = history
        self._hub = hub
        self._went_back = went_back

    async def prompts(self) -> list[Prompt]:
        """The session's prompts, without those that were taken back."""
        return prompts(await self._rows())

    async def work(self) -> list[PromptWork]:
        """The same with what each changed in files."""
        return prompt_work(await self._rows())

    async def plan(
        self, to: str = "", *, files: bool = True, conversation: bool = True, over_mine: bool = False
    ) -> Rewind:
        """What going back to before a prompt would do; see `plan_to`. Raises `NoSuchPrompt`."""
        rows = await self._rows()
        async with self._kept.alone() as checkpoints:
            used = checkpoints if files else None
            return await asyncio.to_thread(plan_to, rows, used, to, conversation=conversation, over_mine=over_mine)

    async def plan_back(self, *, files: bool = True, conversation: bool = True, over_mine: bool = False) -> Rewind:
        """What taking the last undo back would do; see `plan_back`."""
        rows = await self._rows()
        async with self._kept.alone() as checkpoints:
            used = checkpoints if files else None
            return await asyncio.to_thread(plan_back, rows, used, conversation=conversation, over_mine=over_mine)

    async def carry_out(self, rewind: Rewind) -> Undone:
        """Do it. Raises `OSError` where the disk fails."""
        done = Undone((), ())
        async with self._kept.alone() as checkpoints:
            if rewind.files is not None and rewind.files.todo and checkpoints is not None:
                done = await asyncio.to_thread(carry_out, checkpoints, rewind.files)
        if rewind.to_seq >= 0:
            self._hub.emit(rewind.event)
            now = resumed(await self._rows())
            self._history.rewind(now.messages)
            self._went_back(now.work)
        return done

    async def changes(self, scope: Scope, run: str = "") -> list[FileChange]:
        """What a diff shows, also while a run is at work. run is its id, "" for the last. Raises `NoObject`."""
        if scope is Scope.RUN and not run:
            every = await self.prompts()
            run = every[-1].run if every else "none"
        return await asyncio.to_thread(self._changes, scope, run)

    async def revert(self, change: FileChange, indices: Iterable[int]) -> Undone:
        """Take hunks of a change back, by their numbers. What was changed since elsewhere in the file stays.

        A file of which the same lines were changed since is left alone, and that is said. `Undone` has neither steps
        nor failures where the hunks are taken back already.
        """
        async with self._kept.alone() as checkpoints:
            if checkpoints is None:
                return Undone((), ())
            return await asyncio.to_thread(_revert, checkpoints, change, frozenset(indices))

    async def fork(self, at: str = "") -> str:
        """The id of a new session that begins as this one, or as it was before a prompt. Raises `NoSuchPrompt`."""
        session = new_id()
        await asyncio.to_thread(self._fork, session, at)
        return session

    def _fork(self, session: str, at: str) -> None:
        source = by_id(self._log.parent, self._log.stem)
        fork(source, session, __version__, at=at)

    def _changes(self, scope: Scope, run: str) -> list[FileChange]:
        with ChangesView(checkpoints_folder(self._log.parent, self._log.stem), self._workspace) as view:
            match scope:
                case Scope.RUN:
                    return view.of_runs({run})
                case Scope.SESSION:
                    return view.of_session()
                case Scope.WORKTREE:
                    return view.of_worktree()

    async def _rows(self) -> list[Row]:
        return await asyncio.to_thread(lambda: read_rows(self._log.read_bytes())[0])


def _revert(checkpoints: Checkpoints, change: FileChange, indices: frozenset[int]) -> Undone:
    """As `revert_hunks`, in the file as it is now."""
    checkpoints.now()
    try:
        state = checkpoints.keep_now(change.path)
        now = checkpoints.bytes_of(state) if state is not None else None
    except Damaged:
        return revert_hunks(checkpoints, change, indices)
    if state is None or now is None or change.after is None or change.note or now == change.after:
        return revert_hunks(checkpoints, change, indices)
    target = merged(change.after, now, without(change.after, change.hunks(), indices))
    if target is None:
        return revert_hunks(checkpoints, change, indices)
    if target == now:
        return Undone((), ())
    since = FileChange(change.path, target, now, state.mode, state.mode)
    return revert_hunks(checkpoints, since, range(len(since.hunks())))
