"""The last of what a server wrote to its error output."""

from __future__ import annotations

from pool_tools.text import printable

BYTES_KEPT = 8_192
LINE_CHARS = 200


class StderrTail:
    """Keeps the end of a stream of bytes."""

    most = BYTES_KEPT

    def __init__(self) -> None:
        self._data = b""

    def add(self, data: bytes) -> None:
        self._data = (self._data + data)[-self.most :]

    def text(self) -> str:
        """What is kept, without terminal escapes."""
        return printable(self._data.decode("utf-8", "replace")).strip()

    def last_line(self) -> str:
        """The last line that is not empty, shortened."""
        lines = self.text().splitlines()
        return lines[-1].strip()[:LINE_CHARS] if lines else ""
