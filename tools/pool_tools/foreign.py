"""What happened behind the file tools' back to files that an agent has seen."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pool_tools.api import Change, ToolError
from pool_tools.blocking import CancelFlag
from pool_tools.diff import counts, unified
from pool_tools.ledger import Seen, digest
from pool_tools.textfile import binary_kind, decode, lines_of
from pool_tools.workspace import Workspace, stamp

TOLD_DIFF_LINES = 60
"""Lines of diff that one result tells; files whose diff does not fit are only named and must be read again."""


BY_COMMAND = "[the command changed files that you have read:]"
BEFORE_COMMAND = "[before this command, and not by it, files that you have read were changed:]"


@dataclass(frozen=True, slots=True)
class Foreign:
    """Changes to seen files. text tells the model, "" if there are none."""

    changes: tuple[Change, ...]
    text: str


def tell_earlier(flag: CancelFlag, workspace: Workspace) -> str:
    """Before a command: what the user, an undo or a background job changed since, so that it is not taken for its work.

    "" if that is nothing.
    """
    earlier = tell_changes(flag, workspace, BEFORE_COMMAND)
    return earlier.text if earlier.changes else ""


def tell_changes(flag: CancelFlag, workspace: Workspace, heading: str = BY_COMMAND) -> Foreign:
    """Compare all seen files with what they were; bring the ledger up to date where the change is told whole."""
    try:
        workspace.check()
    except ToolError as gone:
        return Foreign((), f"[{gone}]")
    changes: list[Change] = []
    told: list[str] = []
    room = TOLD_DIFF_LINES
    for path, seen in workspace.ledger.entries().items():
        flag.check()
        found = _stamp_of(path)
        if found == seen.stamp:
            continue
        change, diff = _changed(workspace, path, seen, room)
        if change is None:
            continue
        changes.append(change)
        room -= diff.count("\n") + 1 if diff else 0
        told.append(diff or f"{change.path} ({change.kind}{'' if change.kind == 'deleted' else '; read it again'})")
    text = "\n".join([heading, *told]) if told else ""
    return Foreign(tuple(changes), text)


def _stamp_of(path: str) -> tuple[int, int, int] | None:
    try:
        return stamp(os.stat(path, follow_symlinks=False))
    except OSError:
        return None


def _changed(workspace: Workspace, path: str, seen: Seen, room: int) -> tuple[Change | None, str]:
    """The change of one file and its diff, "" if it is too long or the old content was not kept."""
    ledger = workspace.ledger
    try:
        with workspace.locate(path) as place:
            if place.stat is None:
                ledger.forget(path)
                return Change(workspace.shown(place), "deleted", 0, seen.total), ""
            name = workspace.shown(place)
            content = workspace.read(place)
    except ToolError:
        ledger.forget(path)
        return None, ""
    now = stamp(content.stat)
    # Noted even if the content is not: it need not be compared again until the next change.
    ledger.restamp(path, now)
    if digest(content.data) == seen.digest:
        return None, ""
    if seen.content is None or binary_kind(content.data):
        return Change(name, "modified"), ""
    before, after = decode(seen.content), decode(content.data)
    change = Change(name, "modified", *counts(before.text, after.text))
    diff = unified(before.text, after.text, name)
    if not diff or diff.count("\n") >= room:
        return change, ""
    ledger.wrote(path, content.data, now, len(lines_of(after.text)), seen.whole)
    return change, diff
