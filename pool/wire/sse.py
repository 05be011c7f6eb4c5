"""From raw bytes of a reply's body to event payloads, incrementally.

Lines end at CR, LF or CRLF bytes and nowhere else: U+2028 and U+0085 stand raw inside JSON strings. A body that is no
event stream (one JSON object in answer to a stream request, or JSON lines as Ollama's native API sends) gives payloads
too, so that the same reader reads it.

Each byte is looked at once, comments are dropped as they come, and what is kept of an unfinished event is bounded.
"""

from __future__ import annotations

import json

DONE = b"[DONE]"
MAX_EVENT_BYTES = 16 * 1024 * 1024
"""Largest event, JSON line or JSON body that is read; the longest known ones echo a prompt of some megabytes."""

TOO_LARGE = json.dumps(
    {"error": {"message": f"a part of the reply is larger than {MAX_EVENT_BYTES >> 20} MiB", "code": 500}}
).encode()
"""The last payload of a body with a larger part, in the form in which servers report errors."""

_BOM = b"\xef\xbb\xbf"
_DATA = b"data:"
_FIELDS = (b":", b"data", b"event", b"id", b"retry", b"{", b"[")


def is_foreign(head: bytes) -> bool:
    """Whether a body that begins with head has lines that belong to no event stream and no JSON."""
    lines = [line.strip() for line in head.removeprefix(_BOM).splitlines()]
    return any(line and not line.startswith(_FIELDS) for line in lines)


class SseDecoder:
    """Splits a body into payloads. Feed bytes in pieces of any size; the payloads do not depend on the pieces.

    After an event of more than `MAX_EVENT_BYTES` comes `TOO_LARGE`, and then nothing more.
    """

    def __init__(self) -> None:
        self._start = b""
        self._after_cr = False
        self._body: _Events | _JsonBody | None = None
        self._over = False

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads completed by data. Comment and field lines other than `data` give none."""
        if self._over:
            return []
        if self._after_cr and data:
            self._after_cr = False
            if data[:1] == b"\n":
                data = data[1:]
        if b"\r" in data:
            self._after_cr = data[-1:] == b"\r"
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        body = self._body
        if body is None:
            data = self._sniff(self._start + data)
            body = self._body
            if body is None:
                return []
        return self._bounded(body.feed(data), body)

    def close(self) -> list[bytes]:
        """What an unterminated last event or JSON body still held."""
        if self._body is None or self._over:
            return []
        return self._bounded(self._body.close(), self._body)

    def _sniff(self, buffer: bytes) -> bytes:
        """Decide by the first byte that counts whether this is an event stream or a JSON body."""
        self._start = b""
        if len(buffer) < len(_BOM) and _BOM.startswith(buffer):
            self._start = buffer
            return b""
        text = buffer.removeprefix(_BOM).lstrip(b"\n \t")
        if text:
            self._body = _JsonBody() if text[:1] in (b"{", b"[") else _Events()
        return text

    def _bounded(self, payloads: list[bytes], body: _Events | _JsonBody) -> list[bytes]:
        large = next((i for i, payload in enumerate(payloads) if len(payload) > MAX_EVENT_BYTES), None)
        if large is None and body.size <= MAX_EVENT_BYTES:
            return payloads
        self._over, self._body = True, None
        return [*payloads[:large], TOO_LARGE]


class _Events:
    """An event stream. size is that of the unfinished event, in bytes."""

    def __init__(self) -> None:
        self.size = 0
        self._values: list[bytes] = []
        self._line: list[bytes] = []
        self._prefix = b""
        self._skipped = False

    def feed(self, data: bytes) -> list[bytes]:
        out: list[bytes] = []
        if self._values or self._prefix or self._skipped:
            head, blank, data = self._to_blank_line(data)
            self._grow(head)
            if not blank:
                return out
            out += self.close()
        blocks = data.split(b"\n\n")
        tail = blocks.pop()
        out += _payloads(blocks)
        if tail:
            self._grow(tail)
        return out

    def _to_blank_line(self, data: bytes) -> tuple[bytes, bytes, bytes]:
        """data up to the blank line that ends the open event, that line (empty if it has not come), and the rest."""
        if data[:1] == b"\n" and not self._prefix and not self._skipped:
            return b"", b"\n", data[1:]
        return data.partition(b"\n\n")

    def close(self) -> list[bytes]:
        """The end of the event: its payload, if it has one."""
        self._end_line()
        values, self._values, self.size = self._values, [], 0
        return [b"\n".join(values)] if values else []

    def _grow(self, data: bytes) -> None:
        """Take more of an event that is not at its end."""
        first, newline, rest = data.partition(b"\n")
        self._extend(first)
        if not newline:
            return
        self._end_line()
        if not rest.startswith(_DATA) and b"\n" + _DATA not in rest:
            rest = rest[rest.rfind(b"\n") + 1 :]
        first, *others = rest.split(b"\n")
        self._extend(first)
        for piece in others:
            self._end_line()
            self._extend(piece)

    def _extend(self, piece: bytes) -> None:
        if self._skipped or not piece:
            return
        if len(self._prefix) < len(_DATA):
            self._prefix = (self._prefix + piece)[: len(_DATA)]
            if not _DATA.startswith(self._prefix):
                self._skipped, self._prefix = True, b""
                self.size -= sum(map(len, self._line))
                self._line.clear()
                return
        self._line.append(piece)
        self.size += len(piece)

    def _end_line(self) -> None:
        if self._prefix == _DATA:
            self._values.append(_value(b"".join(self._line)))
        self._line.clear()
        self._prefix, self._skipped = b"", False


class _JsonBody:
    """One JSON document, or JSON lines. size is that of the unfinished line or document, in bytes.

    JSON lines come out as they complete; a document over several lines is kept until `close`. The first line tells
    which it is: after a whole one, a broken line holds nothing up.
    """

    def __init__(self) -> None:
        self.size = 0
        self._kept: list[bytes] = []
        self._lines: bool | None = None

    def feed(self, data: bytes) -> list[bytes]:
        end = data.find(b"\n") if self._lines is not False else -1
        if end >= 0 and self._lines is None:
            self._lines = _is_json(b"".join([*self._kept, data[:end]]))
        if end < 0 or not self._lines:
            self._kept.append(data)
            self.size += len(data)
            return []
        first, *lines = data.split(b"\n")
        lines.insert(0, b"".join([*self._kept, first]))
        self._kept = [lines.pop()]
        self.size = len(self._kept[0])
        return [line for line in lines if line.strip()]

    def close(self) -> list[bytes]:
        rest, self._kept, self.size = b"".join(self._kept), [], 0
        if not rest.strip():
            return []
        if _is_json(rest):
            return [rest]
        return [line for line in rest.split(b"\n") if line.strip()]


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
        lines = [_value(line) for line in block.split(b"\n") if line.startswith(_DATA)]
        if lines:
            out.append(b"\n".join(lines))
    return out


def _value(line: bytes) -> bytes:
    value = line[5:]
    return value[1:] if value[:1] == b" " else value
