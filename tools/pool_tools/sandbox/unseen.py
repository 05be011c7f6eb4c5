"""Keeping files that commands do not see out of what git adds.

An empty file in place of a hidden one would be added, and the next checkout would empty the user's own. So a device
stands there, which git cannot keep whatever it is told; and what git leaves out anyway names it, so that
`git add --all` and `git stash -u` do not stop at it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

from pool_tools.gitindex import git_folder, repository_of
from pool_tools.sandbox.gitfiles import read_regular

UNKEPT = "/dev/null"
"""Bound over a hidden file, without the right to open devices: to see it is there, and nothing else."""

MOST_BYTES = 1024 * 1024
"""A longer list of what a repository leaves out is not added to."""

_SPECIAL = re.compile(r"([\\*?\[\] !#])")


def exclude_files(hidden: Iterable[Path], held: Iterable[Path], *, writable: bool) -> dict[Path, bytes]:
    """For each `info/exclude` of the repositories around hidden files: what it holds, and those files besides.

    held: folders that commands are given; repositories elsewhere are left alone. writable: a file that is missing can
    be made, to mount over it.
    """
    above = tuple(held)
    tops: dict[Path, str | None] = {}
    commons: dict[str, Path | None] = {}
    names: dict[Path, list[str]] = {}
    for path in hidden:
        top = tops[path.parent] if path.parent in tops else tops.setdefault(path.parent, repository_of(str(path)))
        # A name with a line feed cannot be written there.
        if top is None or "\n" in str(path):
            continue
        common = commons[top] if top in commons else commons.setdefault(top, _common(top, above))
        if common is not None:
            names.setdefault(common, []).append("/" + os.path.relpath(path, top))
    out: dict[Path, bytes] = {}
    for common, found in names.items():
        file = common / "info" / "exclude"
        before = _content(file, writable=writable)
        if before is not None:
            lines = "".join(_SPECIAL.sub(r"\\\1", name) + "\n" for name in found)
            gap = b"\n" if before and not before.endswith(b"\n") else b""
            out[file] = before + gap + os.fsencode(lines)
    return out


def _common(top: str, held: Iterable[Path]) -> Path | None:
    """The git folder that all worktrees of the repository at top share, None where it is not in one of held."""
    named = git_folder(Path(top, ".git"))
    if named is None:
        return None
    folder = Path(os.path.realpath(named))
    with contextlib.suppress(OSError):
        name = os.fsdecode(read_regular(folder / "commondir", MOST_BYTES)[1] or b"").strip()
        if name and "\0" not in name:
            folder = Path(os.path.realpath(folder / name))
    return folder if any(folder.is_relative_to(other) for other in held) else None


def _content(file: Path, *, writable: bool) -> bytes | None:
    """None where nothing can be mounted: a link or no file, or one that cannot be made."""
    if file.parent.is_symlink() or not file.parent.is_dir():
        return None
    if not os.path.lexists(file):
        return b"" if writable else None
    try:
        return read_regular(file, MOST_BYTES)[1]
    except OSError:
        return None
