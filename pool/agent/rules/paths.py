"""Paths as the shell and as the kernel understand them."""

from __future__ import annotations

import os
from pathlib import PurePosixPath


def real(path: PurePosixPath) -> PurePosixPath:
    """Where a path leads, links followed as far as they exist."""
    try:
        return PurePosixPath(os.path.realpath(path))
    except ValueError:  # no path at all: a NUL character, or half a character
        return normal(path)


def normal(path: PurePosixPath) -> PurePosixPath:
    """An absolute path without `.`, `..` and doubled slashes, links aside."""
    parts: list[str] = []
    for part in path.parts[1:] if path.is_absolute() else path.parts:
        if part == "..":
            parts = parts[:-1]
        else:
            parts.append(part)
    return PurePosixPath("/", *parts)
