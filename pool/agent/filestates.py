"""Which contents each file has had in a run: an edit that brings earlier contents back is no progress."""

from __future__ import annotations

import hashlib
from pathlib import Path

HASHED_BYTES = 4 * 1024 * 1024
"""Of a larger file only the beginning and the size count; hashing so much takes a few milliseconds."""


class FileStates:
    """Hashes of the contents that files had after each change. root is the folder that relative paths start from."""

    def __init__(self, root: str = ".") -> None:
        self._root = Path(root)
        self._seen: dict[str, set[bytes]] = {}
        self._last: dict[str, bytes] = {}

    def came_back(self, path: str) -> bool:
        """Note that a file was changed; whether it had its present contents after an earlier change."""
        now = self._digest(path)
        seen = self._seen.setdefault(path, set())
        back = now in seen and self._last.get(path) != now
        seen.add(now)
        self._last[path] = now
        return back

    def _digest(self, path: str) -> bytes:
        try:
            with (self._root / path).open("rb") as file:
                data = file.read(HASHED_BYTES)
                size = file.seek(0, 2)
        except OSError:
            return b""
        return hashlib.blake2b(b"%d %s" % (size, data), digest_size=16).digest()
