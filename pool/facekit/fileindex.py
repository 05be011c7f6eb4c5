"""The workspace's files and folders for `@`: listed once in a thread, then matched as the user types."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

MOST_FILES = 200_000
"""Paths that are kept; a workspace with more shows the first of them."""

FRESH_SECONDS = 20.0
"""How old the list may be before the next `@` lists anew."""

MOST_HITS = 50

SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", "target", ".tox"})
"""Folders that are never offered, ignored by git or not."""

RIPGREP_SECONDS = 10.0


class FileIndex:
    """Paths relative to a workspace with `/` between their parts; folders have one at the end.

    Not for two threads at once.
    """

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self._paths: list[str] = []
        self._listed = 0.0

    @property
    def fresh(self) -> bool:
        """Whether the list is young enough to be used as it is."""
        return bool(self._listed) and time.monotonic() - self._listed < FRESH_SECONDS

    def refresh(self) -> None:
        """List the workspace (blocking: for a thread)."""
        files = _by_ripgrep(self.workspace)
        if files is None:
            files = _by_walking(self.workspace)
        folders = {"/".join(p.split("/")[:n]) + "/" for p in files for n in range(1, p.count("/") + 1)}
        self._paths = sorted(folders | set(files), key=lambda p: (p.count("/"), p))
        self._listed = time.monotonic()

    def match(self, typed: str, limit: int = MOST_HITS) -> list[str]:
        """The paths that fit what was typed, best first: names that begin with it, contain it, are near to it."""
        if not typed:
            return self._paths[:limit]
        low = typed.lower()
        held = [(p, p.lower()) for p in self._paths]
        hits = sorted(
            ((_rank(lower, low), len(path), path) for path, lower in held if low in lower),
        )
        found = [path for _, _, path in hits[:limit]]
        if len(found) < limit and len(typed) > 1:
            found += _near(typed, self._paths, set(found), limit - len(found))
        return found


def _rank(path: str, typed: str) -> int:
    name = path.rstrip("/").rsplit("/", 1)[-1]
    if name == typed or path == typed:
        return 0
    if name.startswith(typed):
        return 1
    return 2 if typed in name else 3


def _near(typed: str, paths: Sequence[str], seen: set[str], limit: int) -> list[str]:
    """Paths that hold the typed letters in order or nearly so."""
    from rapidfuzz import fuzz, process

    letters = "".join(typed.lower().split())
    candidates = [p for p in paths if p not in seen and _in_order(letters, p.lower())]
    scored = process.extract(typed, candidates, scorer=fuzz.WRatio, limit=limit)
    return [path for path, _, _ in scored]


def _in_order(letters: str, path: str) -> bool:
    at = 0
    for letter in letters:
        at = path.find(letter, at) + 1
        if not at:
            return False
    return True


def _by_ripgrep(workspace: Path) -> list[str] | None:
    """Files as ripgrep lists them (.gitignore honoured), None where it is not there."""
    command = ["rg", "--files", "--hidden", "--null", "--no-messages", "--no-config"]
    command += [word for name in sorted(SKIPPED) for word in ("--glob", f"!{name}")] + ["."]
    try:
        done = subprocess.run(
            command, cwd=workspace, stdin=subprocess.DEVNULL, capture_output=True, timeout=RIPGREP_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode not in (0, 1):
        return None
    names = done.stdout.split(b"\0")[:MOST_FILES]
    return [os.fsdecode(n).removeprefix("./") for n in names if n]


def _by_walking(workspace: Path) -> list[str]:
    files: list[str] = []
    for folder, folders, names in os.walk(workspace, onerror=None, followlinks=False):
        folders[:] = sorted(f for f in folders if f not in SKIPPED)
        base = os.path.relpath(folder, workspace)
        prefix = "" if base == "." else base.replace(os.sep, "/") + "/"
        files += [prefix + n for n in names]
        if len(files) >= MOST_FILES:
            break
    return files[:MOST_FILES]
