"""Reading `git status --porcelain=v2 -z`: names come as they are, NUL-separated, never quoted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pool_tools.frozen import frozen
from pool_tools.text import visible

ENTRIES = 200
"""Files that a status shows of each kind."""

_KINDS = {
    "M": "modified", "A": "new", "D": "deleted", "R": "renamed", "C": "copied", "T": "type changed", "U": "unmerged",
}  # fmt: skip
_CONFLICTS = {
    "DD": "both deleted", "AU": "added by us", "UD": "deleted by them", "UA": "added by them", "DU": "deleted by us",
    "AA": "both added", "UU": "both modified",
}  # fmt: skip
_OPERATIONS = (
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
)


@frozen
class Entry:
    """A file. kind says what happened to it; before is its old name where it was renamed or copied."""

    path: str
    kind: str
    before: str = ""

    def shown(self) -> str:
        name = f"{visible(self.before)} -> {visible(self.path)}" if self.before else visible(self.path)
        return f"{self.kind}: {name}"


@dataclass(slots=True)
class Status:
    """A work tree. commit is "" where there is none yet, branch where HEAD is detached; operation is what is half done.

    ahead and behind are against upstream.
    """

    commit: str = ""
    branch: str = ""
    upstream: str = ""
    ahead: int = 0
    behind: int = 0
    stashes: int = 0
    operation: str = ""
    staged: list[Entry] = field(default_factory=list[Entry])
    unstaged: list[Entry] = field(default_factory=list[Entry])
    conflicts: list[Entry] = field(default_factory=list[Entry])
    untracked: list[str] = field(default_factory=list[str])

    @property
    def detached(self) -> bool:
        return not self.branch

    @property
    def clean(self) -> bool:
        return not (self.staged or self.unstaged or self.conflicts or self.untracked)


def parse(text: str) -> Status:
    """What git says with `--porcelain=v2 -z --branch --show-stash`. Unknown records are passed over."""
    status = Status()
    records = iter(text.split("\0"))
    for record in records:
        match record[:2]:
            case "# ":
                _header(status, record[2:])
            case "1 ":
                fields = record.split(" ", 8)
                _changed(status, fields[1], fields[2], fields[8])
            case "2 ":
                fields = record.split(" ", 9)
                _changed(status, fields[1], fields[2], fields[9], next(records, ""))
            case "u ":
                fields = record.split(" ", 10)
                status.conflicts.append(Entry(fields[10], _CONFLICTS.get(fields[1], "unmerged")))
            case "? ":
                status.untracked.append(record[2:])
            case _:
                continue
    return status


def _header(status: Status, text: str) -> None:
    key, _, value = text.partition(" ")
    match key:
        case "branch.oid":
            status.commit = "" if value == "(initial)" else value
        case "branch.head":
            status.branch = "" if value == "(detached)" else value
        case "branch.upstream":
            status.upstream = value
        case "branch.ab":
            ahead, behind = value.split()
            status.ahead, status.behind = int(ahead), -int(behind)
        case "stash":
            status.stashes = int(value)
        case _:
            pass


def _changed(status: Status, states: str, submodule: str, path: str, before: str = "") -> None:
    index, tree = states
    more = _submodule(submodule)
    if index != ".":
        status.staged.append(Entry(path, _KINDS.get(index, index) + more, before if index in "RC" else ""))
    if tree != ".":
        status.unstaged.append(Entry(path, _KINDS.get(tree, tree) + more, before if tree in "RC" else ""))


def _submodule(field_: str) -> str:
    """`N...` is a file; `S` is followed by C (other commit), M (changes in it), U (untracked files in it)."""
    if not field_.startswith("S"):
        return ""
    said = {"C": "other commit", "M": "changes inside", "U": "untracked files inside"}
    parts = ", ".join(words for letter, words in said.items() if letter in field_)
    return f" submodule ({parts})" if parts else " submodule"


def operation_in(git_folder: str) -> str:
    """What was begun and not finished, by the files that git keeps meanwhile; "" for nothing."""
    return next((what for name, what in _OPERATIONS if os.path.lexists(Path(git_folder, name))), "")


def describe(status: Status) -> str:
    """The status in words."""
    return "\n".join(_lines(status))


def headline(status: Status) -> str:
    """Where HEAD is."""
    short = status.commit[:10]
    if status.detached:
        return f"HEAD detached at {short}: commits made here belong to no branch"
    if not status.commit:
        return f"on branch {visible(status.branch)}, no commits yet"
    line = f"on branch {visible(status.branch)} at {short}"
    if status.upstream:
        line += f", upstream {visible(status.upstream)}: ahead {status.ahead}, behind {status.behind}"
    return line


def _lines(status: Status) -> Iterator[str]:
    yield headline(status)
    if status.operation:
        todo = ": resolve the conflicts and add the files" if status.conflicts else ""
        yield f"{status.operation} is in progress{todo}"
    if status.stashes:
        yield f"stashed: {status.stashes}"
    if status.clean:
        yield "nothing changed, nothing untracked"
    for title, entries in (
        ("conflicts", [e.shown() for e in status.conflicts]),
        ("staged", [e.shown() for e in status.staged]),
        ("not staged", [e.shown() for e in status.unstaged]),
        ("untracked", [visible(path) for path in status.untracked]),
    ):
        if entries:
            yield f"{title}:"
            yield from (f"  {entry}" for entry in entries[:ENTRIES])
            if len(entries) > ENTRIES:
                yield f"  … and {len(entries) - ENTRIES:,} more"
