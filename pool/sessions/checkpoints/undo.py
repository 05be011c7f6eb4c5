"""Undo: which files would be put back, and putting them back such that it can be taken back itself.

A file is put back only if it is still what the run left. One that the user changed after, or between, the run's changes
is left alone and said, unless they say otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum

from pool.sessions.checkpoints.changes import FileChange
from pool.sessions.checkpoints.checkpoints import Checkpoints
from pool.sessions.checkpoints.contents import Damaged
from pool.sessions.checkpoints.journal import By, Record
from pool.sessions.checkpoints.restore import Failure, put_back
from pool.sessions.checkpoints.states import Changed, State
from pool.sessions.checkpoints.textdiff import line_counts, without
from pool_tools.frozen import frozen


class Verdict(StrEnum):
    """What an undo does with a file."""

    RESTORE = "restore"
    ALREADY = "already"
    """It is as it was."""
    YOURS = "yours"
    """Somebody else changed it."""
    LOST = "lost"
    """What it held is not kept."""


@frozen
class Step:
    """One file of an undo. now is there, target would be. added and removed count lines from now to target."""

    path: str
    now: State | None
    target: State | None
    verdict: Verdict
    why: str = ""
    added: int = 0
    removed: int = 0

    @property
    def change(self) -> Changed:
        return Changed(self.path, self.now, self.target)


@frozen
class Plan:
    """What an undo or redo would do. of is the record that a redo takes back. folders go where they become empty."""

    by: By
    steps: tuple[Step, ...]
    folders: tuple[str, ...] = ()
    of: int = -1

    @property
    def todo(self) -> tuple[Step, ...]:
        return tuple(s for s in self.steps if s.verdict is Verdict.RESTORE)


@frozen
class Undone:
    """What was done, and which files could not be put back."""

    steps: tuple[Step, ...]
    failures: tuple[Failure, ...]


def plan_undo(checkpoints: Checkpoints, runs: Iterable[str], *, over_mine: bool = False) -> Plan:
    """How files would go back to what they were before the first of these runs.

    over_mine: files that the user changed too go back as well.
    """
    checkpoints.now()
    wanted = set(runs)
    records = list(checkpoints.records)
    start = next((i for i, r in enumerate(records) if r.by is By.CALL and r.run in wanted), len(records))
    steps = [_step(checkpoints, path, items, over_mine) for path, items in _by_path(records[start:]).items()]
    folders = tuple(f for r in records[start:] if r.by is not By.OUTSIDE for f in r.folders)
    return Plan(By.UNDO, tuple(sorted(filter(None, steps), key=lambda s: s.path)), folders)


def plan_redo(checkpoints: Checkpoints, *, over_mine: bool = False) -> Plan | None:
    """How the last undo would be taken back; None if there is none, or if it was already."""
    checkpoints.now()
    taken_back = {r.of for r in checkpoints.records if r.by is By.REDO}
    undone = [r for r in checkpoints.records if r.by is By.UNDO and r.number not in taken_back]
    if not undone:
        return None
    record = undone[-1]
    steps = [
        _judge(checkpoints, change.path, change.after, change.before, touched=False, over_mine=over_mine)
        for change in record.changes
    ]
    return Plan(By.REDO, tuple(steps), of=record.number)


def carry_out(checkpoints: Checkpoints, plan: Plan) -> Undone:
    """Put the files back. What is there now is kept first. Raises `OSError` where the disk fails."""
    steps: list[Step] = []
    failures: list[Failure] = []
    for step in plan.todo:
        try:
            kept = checkpoints.keep_now(step.path)
            if step.target is not None:
                checkpoints.bytes_of(step.target)
        except Damaged as error:
            failures.append(Failure(step.path, str(error)))
            continue
        if kept != step.now and not (kept is not None and kept.same(step.now)):
            failures.append(Failure(step.path, "it changed at this moment"))
            continue
        steps.append(replace(step, now=kept))
    if not steps:
        return Undone((), tuple(failures))
    checkpoints.contents.sync()
    number = checkpoints.journal.next_number
    changes = [step.change for step in steps]
    row = {"n": number, "by": plan.by.value, "at": time.time(), "of": plan.of}
    checkpoints.journal.add("undoing", **row, items=[c.row() for c in changes])
    done, failed = put_back(checkpoints.root, number, changes, checkpoints.bytes_of, plan.folders)
    checkpoints.journal.add("undone", n=number, done=done)
    checkpoints.settle([changes[at].path for at in done])
    return Undone(tuple(steps[at] for at in done), (*failures, *failed))


def revert_hunks(checkpoints: Checkpoints, change: FileChange, indices: Iterable[int]) -> Undone:
    """Take hunks of a change back, by their numbers in `change.hunks()`; it can be taken back like an undo.

    A file that is not what the change says any more is left alone. Raises `IndexError` for a hunk that there is not.
    """
    hunks = change.hunks()
    chosen = set(indices)
    path = change.path
    checkpoints.now()
    try:
        now = checkpoints.keep_now(path)
        held = checkpoints.bytes_of(now) if now is not None else None
    except Damaged as error:
        return Undone((), (Failure(path, str(error)),))
    if change.note or held != change.after:
        return Undone((), (Failure(path, change.note or "it has changed since it was shown"),))
    data, mode = change.before, change.before_mode
    if chosen != set(range(len(hunks))):
        data, mode = without(change.after or b"", hunks, chosen), change.after_mode or change.before_mode
    target = State(checkpoints.contents.put(data)[0], mode, len(data)) if data is not None else None
    return carry_out(checkpoints, Plan(By.UNDO, (Step(path, now, target, Verdict.RESTORE),)))


def _by_path(records: Sequence[Record]) -> dict[str, list[tuple[Record, Changed]]]:
    out: dict[str, list[tuple[Record, Changed]]] = {}
    for record in records:
        for change in record.changes:
            out.setdefault(change.path, []).append((record, change))
    return out


def _step(checkpoints: Checkpoints, path: str, items: Sequence[tuple[Record, Changed]], over_mine: bool) -> Step | None:
    """The step of one path, None if only somebody else changed it."""
    first = next((i for i, (record, _) in enumerate(items) if record.by is not By.OUTSIDE), None)
    if first is None:
        return None
    items = items[first:]
    left = next(change.after for record, change in reversed(items) if record.by is not By.OUTSIDE)
    touched = any(record.by is By.OUTSIDE for record, _ in items)
    return _judge(checkpoints, path, left, items[0][1].before, touched=touched, over_mine=over_mine)


def _judge(
    checkpoints: Checkpoints, path: str, left: State | None, target: State | None, *, touched: bool, over_mine: bool
) -> Step:
    now = checkpoints.tree.state(path)
    if target is not None and not target.key:
        return Step(path, now, target, Verdict.LOST, "what it held was not kept")
    if now == target or (now is not None and now.same(target)):
        return Step(path, now, target, Verdict.ALREADY, "it is already as it was")
    old = new = b""
    try:
        new = checkpoints.bytes_of(target) if target is not None else b""
    except Damaged as error:
        return Step(path, now, target, Verdict.LOST, str(error))
    if now is not None:
        try:
            old = checkpoints.bytes_of(now)
        except Damaged as error:
            return Step(path, now, target, Verdict.LOST, f"what it holds now could not be brought back: {error}")
    added, removed = line_counts(old, new)
    same = now == left or (now is not None and now.same(left))
    if over_mine or (same and not touched):
        return Step(path, now, target, Verdict.RESTORE, "", added, removed)
    why = "you changed it in between" if same else "you changed it since"
    return Step(path, now, target, Verdict.YOURS, why, added, removed)
