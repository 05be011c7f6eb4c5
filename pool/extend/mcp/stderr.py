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

    def best_line(self) -> str:
        """The last line that speaks of an error, else the last one, shortened."""
        lines = self.text().splitlines()
        telling = [line for line in lines if "error" in line.lower()] or lines
        return telling[-1].strip()[:LINE_CHARS] if telling else ""
