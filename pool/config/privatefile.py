"""Files that nobody but their owner may read: mended where they were open to others, refused where that cannot be."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pool.config.files import read_text
from pool.config.settings import SettingsError

PRIVATE_MODE = 0o600
_OTHERS = 0o077


def read_private(path: Path, warn: list[str]) -> str | None:
    """The text of a file with secrets, None if it is not there. Raises `SettingsError` for one that is not private.

    A file that others could read gets its right mode, with a warning.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{path}: it cannot be looked at: {error.strerror or error}") from None
    if os.geteuid() not in (0, found.st_uid):
        raise SettingsError(f"{path}: it belongs to another user, so nothing is taken from it")
    mode = stat.S_IMODE(found.st_mode)
    if mode & _OTHERS:
        try:
            path.chmod(PRIVATE_MODE)
        except OSError as error:
            raise SettingsError(
                f"{path}: others may read this file (mode {mode:04o}), and that cannot be mended: "
                f"{error.strerror}; nothing is taken from it until `chmod 600 {path}` works"
            ) from None
        warn.append(
            f"{path}: others could read this file (mode {mode:04o}), and it holds secrets; it is 0600 now. "
            "If other people use this machine, replace what it holds"
        )
    try:
        return read_text(path)
    except OSError as error:
        raise SettingsError(f"{path}: it cannot be read: {error.strerror or error}") from None
