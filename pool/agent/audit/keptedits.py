"""What calls did to files, as the session's checkpoints kept it: also what a shell, a job or an undo did."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pool.agent.audit.filebook import decoded
from pool.agent.audit.record import Edit
from pool.sessions.checkpoints.changes import ChangesView
from pool.sessions.checkpoints.checkpoints import checkpoints_folder
from pool.sessions.checkpoints.journal import By


@dataclass(slots=True)
class KeptEdits:
    """Edits by the id of their call, and all of them in order with that id: "" for a job's and an undo's.

    Their steps are not known here: they are 0.
    """

    by_call: dict[str, list[Edit]] = field(default_factory=dict[str, list[Edit]])
    order: list[tuple[str, Edit]] = field(default_factory=list[tuple[str, Edit]])


def kept_edits(log: Path, workspace: Path) -> KeptEdits | None:
    """The edits of a session; None where there are no checkpoints. What people changed meanwhile is not in it.

    Raises `OSError` if the workspace cannot be opened.
    """
    folder = checkpoints_folder(log.parent, log.stem)
    if not folder.is_dir():
        return None
    out = KeptEdits()
    with ChangesView(folder, workspace) as view:
        for record in view.records:
            if record.by is By.OUTSIDE:
                continue
            for change in record.changes:
                sides = (view.bytes_of(change.before), view.bytes_of(change.after))
                before, after = (decoded(data) for data, _ in sides)
                edit = Edit(0, change.path, before, after, not any(why for _, why in sides))
                call = record.call if record.by is By.CALL else ""
                out.by_call.setdefault(call, []).append(edit)
                out.order.append((call, edit))
    return out if out.order else None
