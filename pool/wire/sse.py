"""From raw bytes of a reply's body to event payloads, incrementally.

Lines end at CR, LF or CRLF bytes and nowhere else: U+2028 and U+0085 stand raw inside JSON strings. A body that is no
event stream (one JSON object in answer to a stream request, or JSON lines as Ollama's native API sends) gives payloads
too, so that the same reader reads it.
"""

from __future__ import annotations

import json

DONE = b"[DONE]"
_BOM = b"\xef\xbb\xbf"


class SseDecoder:
    """Splits a body into payloads. Feed bytes in pieces of any size; the payloads do not depend on the pieces."""

    def __init__(self) -> None:
        self._rest = b""
        self._after_cr = False
        self._json_body: bool | None = None
        self._json_lines = False

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads completed by data. Comment and field lines other than `data` give none."""
        if self._after_cr and data:
            self._after_cr = False
            if data[:1] == b"\n":
                data = data[1:]
        if b"\r" in data:
            self._after_cr = data[-1:] == b"\r"
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        buffer = self._rest + data
        if self._json_body is None:
            buffer = self._sniff(buffer)
        if self._json_body:
            return self._feed_json(buffer)
        blocks = buffer.split(b"\n\n")
        self._rest = blocks.pop()
        return _payloads(blocks)

    def close(self) -> list[bytes]:
        """What an unterminated last event or JSON body still held."""
        rest, self._rest = self._rest, b""
        if not rest.strip():
            return []
        if not self._json_body:
            return _payloads([rest])
        if _is_json(rest):
            return [rest]
        return [line for line in rest.split(b"\n") if line.strip()]

    def _sniff(self, buffer: bytes) -> bytes:
        """Decide by the first byte that counts whether this is an event stream or a JSON body."""
        if len(buffer) < len(_BOM) and _BOM.startswith(buffer):
            return buffer
        text = buffer.removeprefix(_BOM).lstrip(b"\n \t")
        if text:
            self._json_body = text[:1] in (b"{", b"[")
        return text

    def _feed_json(self, buffer: bytes) -> list[bytes]:
        """JSON lines come out as they complete; a JSON document over several lines is kept until `close`.

        The first line tells which it is: after a whole one, a broken line holds nothing up.
        """
        lines = buffer.split(b"\n")
        tail = lines.pop()
        out: list[bytes] = []
        for i, line in enumerate(lines):
            if not line.strip():
                continue
            if not self._json_lines and not _is_json(line):
                self._rest = b"\n".join([*lines[i:], tail])
                return out
            self._json_lines = True
            out.append(line)
        self._rest = tail
        return out


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _payloads(blocks: list[bytes]) -> list[bytes]:
    out: list[bytes] = []
    for block in blocks:
        if block.startswith(b"data: ") and b"\n" not in block:
            out.append(block[6:])
            continue
        lines = [_value(line) for line in block.split(b"\n") if line.startswith(b"data:")]
        if lines:
            out.append(b"\n".join(lines))
    return out


def _value(line: bytes) -> bytes:
    value = line[5:]
    return value[1:] if value[:1] == b" " else value
