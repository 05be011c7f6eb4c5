"""What happened behind the file tools' back to files that an agent has seen."""

from __future__ import annotations

import os

from pool_tools.api import Change, ToolError
from pool_tools.blocking import CancelFlag
from pool_tools.diff import counts, unified
from pool_tools.frozen import frozen
from pool_tools.ledger import Seen, digest
from pool_tools.textfile import binary_kind, decode, lines_of
from pool_tools.workspace import Workspace, stamp

TOLD_DIFF_LINES = 60
"""Lines of diff that one result tells; files whose diff does not fit are only named and must be read again."""


BY_COMMAND = "[the command changed files that you have read:]"
BEFORE_COMMAND = "[before this command, and not by it, files that you have read were changed:]"


@frozen
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


def tell_changes(flag: CancelFlag, workspace: Workspace, heading: str = BY_COMMAND, *, take: bool = False) -> Foreign:
    """Compare all seen files with what they were; bring the ledger up to date where the change is told whole.

    take: also where it is not, as a file of which a part was read. So it is for what Pool itself had run, such as a
    formatter: an edit that follows is not refused, and finds its text in the file as it is.
    """
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
        change, diff = _changed(workspace, path, seen, room, take=take)
        if change is None:
            continue
        changes.append(change)
        room -= diff.count("\n") + 1 if diff else 0
        told.append(diff or _named(change, take=take))
    text = "\n".join([heading, *told]) if told else ""
    return Foreign(tuple(changes), text)


def _named(change: Change, *, take: bool) -> str:
    """A change without its diff."""
    if change.kind == "deleted":
        return f"{change.path} (deleted)"
    if take:
        counted = f"+{change.added} -{change.removed} lines" if change.added or change.removed else "large"
        return f"{change.path} ({counted}, too many to show; its lines may have moved)"
    return f"{change.path} ({change.kind}; read it again)"


def _stamp_of(path: str) -> tuple[int, int, int] | None:
    try:
        return stamp(os.stat(path, follow_symlinks=False))
    except OSError:
        return None


def _changed(workspace: Workspace, path: str, seen: Seen, room: int, *, take: bool) -> tuple[Change | None, str]:
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
    if binary_kind(content.data):
        return Change(name, "modified"), ""
    if seen.content is None:
        if take:
            ledger.wrote(path, content.data, now, len(lines_of(decode(content.data).text)), False)
        return Change(name, "modified"), ""
    before, after = decode(seen.content), decode(content.data)
    change = Change(name, "modified", *counts(before.text, after.text))
    diff = unified(before.text, after.text, name)
    if not diff or diff.count("\n") >= room:
        if take:
            ledger.wrote(path, content.data, now, len(lines_of(after.text)), False)
        return change, ""
    ledger.wrote(path, content.data, now, len(lines_of(after.text)), seen.whole)
    return change, diff
