"""Files that the agent hands to commands: in a private folder that commands can read, never in the workspace."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Protocol, runtime_checkable

from pool_tools.frozen import frozen


@runtime_checkable
class HasScratch(Protocol):
    """A sandbox whose commands have a temporary folder of their own."""

    def scratch_folder(self) -> tuple[Path, str] | None:
        """Where that folder is, and how commands call it; None if they have none of their own."""
        ...


@frozen
class Scratch:
    """A folder outside that commands see as seen.

    Commands may be able to write there, so nothing in it is trusted: files are made anew by exclusive creation through
    a handle of the folder, and links are never followed.
    """

    folder: Path
    seen: str

    def open(self, name: str) -> int:
        """A descriptor for writing a new file name, readable only for the user. Raises `OSError`."""
        handle = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            return os.open(name, flags, 0o600, dir_fd=handle)
        finally:
            os.close(handle)

    def path(self, name: str) -> str:
        """How commands call a file here."""
        return f"{self.seen}/{name}"

    def put(self, name: str, source: Path) -> str:
        """A copy of source under a new name, as commands call it."""
        with source.open("rb") as data, open(self.open(name), "wb") as file:
            shutil.copyfileobj(data, file)
        return self.path(name)

    def remove(self, seen: str) -> None:
        """Remove a file by the path that `path` gave."""
        with contextlib.suppress(OSError):
            (self.folder / os.path.basename(seen)).unlink()
