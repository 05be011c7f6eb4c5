"""Keeping `.pool/config.local.toml` out of git, by the repository's own exclude file and never by `.gitignore`."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

PATTERN = "**/.pool/config.local.toml"
MOST_BYTES = 1024 * 1024


def exclude_local(folder: Path) -> None:
    """Add the pattern to the exclude file of the repository that holds folder, unless it is there.

    Nothing happens outside a repository, or where the exclude file cannot be written. Links are not followed, and the
    repository's own files (`.git` as a file, `commondir`) only lead to what looks like a git folder.
    """
    for parent in (folder, *folder.parents):
        if (parent / ".git").exists():
            try:
                _add(_common_folder(parent / ".git") / "info")
            except (OSError, ValueError):
                return
            return


def excluding(folder: Path) -> Path | None:
    """The exclude file of the repository that holds folder, if the pattern is in it."""
    for parent in (folder, *folder.parents):
        if (parent / ".git").exists():
            try:
                file = _common_folder(parent / ".git") / "info" / "exclude"
                with _opened(file, os.O_RDONLY) as handle:
                    return file if PATTERN.encode() in handle.read(MOST_BYTES).splitlines() else None
            except (OSError, ValueError):
                return None
    return None


def take_out(file: Path) -> None:
    """Take the pattern's line out of an exclude file; the other lines stay as they are. Raises OSError."""
    with _opened(file, os.O_RDWR) as handle:
        kept = [line for line in handle.read().splitlines(keepends=True) if line.rstrip(b"\r\n") != PATTERN.encode()]
        handle.seek(0)
        handle.write(b"".join(kept))
        handle.truncate()


def _opened(file: Path, flags: int) -> BinaryIO:
    """A regular file, not reached by a link. Raises OSError."""
    handle = os.open(file, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(0, "it is no regular file", str(file))
    return os.fdopen(handle, "rb" if flags == os.O_RDONLY else "r+b")


def _common_folder(git: Path) -> Path:
    """The folder that holds `info/exclude`: of a worktree, the main repository's. Raises OSError, ValueError."""
    if git.is_file():
        git = _pointed(git, git.parent, "gitdir: ")
    if (git / "commondir").is_file():
        git = _pointed(git / "commondir", git, "")
    if not ((git / "HEAD").is_file() and (git / "objects").is_dir()):
        raise ValueError(f"{git} is no git folder")
    return git


def _pointed(file: Path, base: Path, lead: str) -> Path:
    text = file.read_text(encoding="utf-8", errors="surrogateescape").strip()
    if not text.startswith(lead):
        raise ValueError(f"{file} leads nowhere")
    return base / text.removeprefix(lead)


def _add(info: Path) -> None:
    info.mkdir(exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    handle = os.open(info / "exclude", flags, 0o644)
    with os.fdopen(handle, "r+b", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return
        old = file.read(MOST_BYTES) or b""
        if PATTERN.encode() in old.splitlines():
            return
        lead = b"" if not old or old.endswith(b"\n") else b"\n"
        file.write(lead + PATTERN.encode() + b"\n")
