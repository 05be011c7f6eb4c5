"""Undo of a whole session on disk: files, conversation or both, to before one of its prompts, and back again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from pool.events import Envelope, Event, Rewound
from pool.sessions.checkpoints.checkpoints import Checkpoints, checkpoints_folder
from pool.sessions.checkpoints.undo import Plan, Undone, carry_out, plan_redo, plan_undo
from pool.sessions.log import SessionLog
from pool.sessions.places import Place, place_of_prompt
from pool.sessions.replay import resumed
from pool.sessions.rewinds import BEGINS, Prompt, Row, last_rewind, prompt_named, prompt_of, prompts, runs_from
from pool.sessions.store import Listed
from pool_tools.frozen import frozen


@frozen
class Rewind:
    """What an undo or redo would do. files is None if files stay. to_seq is -1 if the conversation stays.

    taken are the prompts that are taken back, of a redo those that come again.
    """

    redo: bool
    files: Plan | None
    to_seq: int
    prompt: int
    taken: tuple[Prompt, ...]

    @property
    def event(self) -> Rewound:
        """What the log says of it."""
        return Rewound(self.to_seq, self.prompt, "redo" if self.redo else "undo")

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return self.to_seq < 0 and not (self.files and self.files.todo)


def plan_to(
    rows: Sequence[Row], checkpoints: Checkpoints | None, to: str, *, conversation: bool, over_mine: bool = False
) -> Rewind:
    """To before a prompt, by number or the beginning of its run's id, "" for the last. Raises `NoSuchPrompt`.

    rows are all of the session's log. checkpoints is None where files stay. Blocks.
    """
    prompt = prompt_named(rows, to)
    plan = None
    if checkpoints is not None:
        plan = plan_undo(checkpoints, runs_from(rows, prompt.seq), over_mine=over_mine)
    taken = tuple(p for p in prompts(rows) if p.seq >= prompt.seq) if conversation else ()
    return Rewind(False, plan, prompt.seq if conversation else -1, prompt.number, taken)


def plan_back(
    rows: Sequence[Row], checkpoints: Checkpoints | None, *, conversation: bool, over_mine: bool = False
) -> Rewind:
    """Take the last undo back, as far as it has not been; of the conversation only if no prompt was worked since."""
    plan = plan_redo(checkpoints, over_mine=over_mine) if checkpoints is not None else None
    row = last_rewind(rows) if conversation else None
    if row is None:
        return Rewind(True, plan, -1, 0, ())
    to = int(row["seq"])
    now = {p.seq for p in prompts(rows)}
    before = prompts(r for r in rows if isinstance(r.get("seq"), int) and r["seq"] < to)
    return Rewind(True, plan, to, 0, tuple(p for p in before if p.seq not in now))


def _place(found: Listed, rows: Sequence[Row], to: str, *, redo: bool) -> Place:
    if redo and (row := last_rewind(rows)) is not None:
        began = next((r for r in rows if r.get("type") in BEGINS and r.get("seq") == row.get("to_seq")), None)
        return Place(prompt_of(began).workspace or found.workspace if began else found.workspace)
    if not prompts(rows):
        return Place(found.workspace)
    return place_of_prompt(prompt_named(rows, "" if redo else to), rows, found.workspace)


class ClosedSession:
    """A session that no other process has open, with its checkpoints. Use it in a `with` block.

    It acts on the files of the folder that the prompt named by to was worked in, "" for the last; of a redo, on those
    of the prompt that was gone back to. place says which, and where later prompts were worked: files there stay. Raises
    `SessionBusy` and `JournalBusy` if it is open elsewhere, `NoSuchPrompt`, and `OSError`.
    """

    def __init__(self, found: Listed, say: Callable[[str], object], to: str = "", *, redo: bool = False) -> None:
        self.found = found
        self._stack = ExitStack()
        with ExitStack() as stack:
            self._log, self.rows, _ = SessionLog.reopen(found.path, say)
            stack.enter_context(self._log)
            self.place = _place(found, self.rows, to, redo=redo)
            folder = checkpoints_folder(found.path.parent, found.id)
            self.checkpoints: Checkpoints | None = None
            if folder.exists():
                self.checkpoints = Checkpoints(folder, Path(self.place.folder))
                stack.callback(self.checkpoints.close)
                self.checkpoints.begin()
                for note in self.checkpoints.notes:
                    say(note)
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def undo(self, to: str = "", *, files: bool, conversation: bool, over_mine: bool = False) -> Rewind:
        """As `plan_to`."""
        return plan_to(
            self.rows, self.checkpoints if files else None, to, conversation=conversation, over_mine=over_mine
        )

    def redo(self, *, files: bool, conversation: bool, over_mine: bool = False) -> Rewind:
        """As `plan_back`."""
        return plan_back(self.rows, self.checkpoints if files else None, conversation=conversation, over_mine=over_mine)

    def carry_out(self, rewind: Rewind) -> Undone:
        """Do it: the files first, then the conversation. Raises `OSError`."""
        done = Undone((), ())
        if rewind.files is not None and rewind.files.todo and self.checkpoints is not None:
            done = carry_out(self.checkpoints, rewind.files)
        if rewind.to_seq >= 0:
            body = rewind.event
            seq = resumed(self.rows).next_seq
            event = Event(Envelope(self.found.id, "", 0, seq, time.time(), time.monotonic()), body)
            self._log.append(event)
        return done
