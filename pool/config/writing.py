"""Writing a file as a whole: it is the old one or the new one, never a part."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

PRIVATE_MODE = 0o600
SHARED_MODE = 0o644


def write_whole(path: Path, text: str, mode: int = PRIVATE_MODE) -> None:
    """Replace a file, or make it and its folders (which are its owner's alone). Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fchmod(handle, mode)
            os.fsync(handle)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
