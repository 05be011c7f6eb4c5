"""The state of a whole tree on disk: what a session began with, and what the next session need not read again."""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import zlib
from pathlib import Path
from typing import Any, cast

from pool.sessions.checkpoints.states import Sig

_MAGIC = b"pool tree 1\n"
_MODE = 0o600
_FOLDER_MODE = 0o700
_CHECK_BYTES = 32


def write_catalogue(path: Path, sigs: dict[str, Sig], keys: dict[str, str]) -> None:
    """Write at once, synced. Raises `OSError`."""
    packed = zlib.compress(marshal.dumps((sigs, keys)), 1)
    data = _MAGIC + hashlib.sha256(packed).digest() + packed
    path.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
    temp = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _MODE)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temp.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temp.unlink()
        raise


def read_catalogue(path: Path) -> tuple[dict[str, Sig], dict[str, str]] | None:
    """What was written; None if nothing sound is there."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    packed = data[len(_MAGIC) + _CHECK_BYTES :]
    # The check comes first: marshal must only see what this program wrote.
    if data[: len(_MAGIC) + _CHECK_BYTES] != _MAGIC + hashlib.sha256(packed).digest():
        return None
    try:
        value: Any = marshal.loads(zlib.decompress(packed))
        sigs, keys = value
    except (ValueError, EOFError, TypeError, zlib.error):
        return None
    return cast("dict[str, Sig]", sigs), cast("dict[str, str]", keys)


def share(own: Path, shared: Path) -> None:
    """Let the next session of a workspace find a session's catalogue, at no cost of space. Failing does no harm."""
    with contextlib.suppress(OSError):
        shared.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
        temp = shared.with_name(f"{shared.name}.{os.getpid()}")
        with contextlib.suppress(FileNotFoundError):
            temp.unlink()
        os.link(own, temp)
        temp.replace(shared)
