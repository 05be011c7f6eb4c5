"""The wire, kept: what was sent and every byte that came back, with its time, to be read again later.

An append-only file of JSON lines. A request line opens a reply, a status line, chunk lines and an end line follow, all
with the reply's id, so that replies may interleave. Keys, passwords and tokens of the endpoint are taken out, also
where a server echoes them and where an echo is cut into two chunks.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, cast

from pool.wire.endpoint import REDACTED, Endpoint, redact
from pool_tools.frozen import frozen

TRACE_VERSION = 1
MAX_NUMBER = 1e12
"""Largest number in a trace that is believed: a moment in Unix time has ten digits."""

_MODE = 0o600
_SECRET_REPLY_HEADERS = frozenset({"set-cookie", "authorization", "proxy-authenticate", "www-authenticate"})


@frozen
class TracedReply:
    """One exchange, read back. times are in seconds since the request was sent.

    status is 0 if no answer came. ended says that the end line is there; reading is what was made of the reply then.
    """

    id: str
    wall: float
    url: str
    request: str
    status: int = 0
    status_time: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    chunks: tuple[tuple[float, bytes], ...] = ()
    ended: bool = False
    reading: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def body(self) -> bytes:
        """All bytes of the reply's body."""
        return b"".join(data for _, data in self.chunks)


class TraceWriter:
    """Writes traces of one endpoint to path, appending, readable by the user alone.

    The folder must exist. A trace must not stop a run: after the first error of the file system nothing more is
    written; `failure` says why.
    """

    def __init__(self, path: Path, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._file: int | None = None
        self.failure = ""
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, _MODE)
        except OSError as exc:
            missing = isinstance(exc, FileNotFoundError) and not path.parent.exists()
            why = f"the folder {path.parent} does not exist" if missing else exc.strerror
            self.failure = f"no trace is written to {path}: {why}"

    def request(self, url: str, body: bytes) -> ReplyTrace:
        """Note a request that is about to be sent."""
        trace = ReplyTrace(self, self._endpoint)
        text = redact(body.decode("utf-8", "replace"), self._endpoint)
        self.write(trace.line("request", v=TRACE_VERSION, wall=time.time(), url=redact(url, self._endpoint), body=text))
        return trace

    def write(self, line: Mapping[str, Any]) -> None:
        """Append one line; in a single write, so that lines of several processes do not mix."""
        if self._file is None:
            return
        try:
            os.write(self._file, json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        except OSError as exc:
            self.failure = f"the trace ended: {exc.strerror}"
            self.close()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class ReplyTrace:
    """The trace of one reply. Get one from `TraceWriter.request`."""

    def __init__(self, writer: TraceWriter, endpoint: Endpoint) -> None:
        self._id = secrets.token_hex(6)
        self._writer = writer
        self._endpoint = endpoint
        self._begun = time.monotonic()
        self._redactor = _StreamRedactor(endpoint)

    def line(self, kind: str, **fields: Any) -> dict[str, Any]:
        """A line of this reply."""
        return {"type": kind, "id": self._id, "t": round(time.monotonic() - self._begun, 6), **fields}

    def status(self, status: int, headers: Mapping[str, str]) -> None:
        """Note that the headers have come."""
        kept = {
            name: REDACTED if name.lower() in _SECRET_REPLY_HEADERS else redact(value, self._endpoint)
            for name, value in headers.items()
        }
        self._writer.write(self.line("status", status=status, headers=kept))

    def chunk(self, data: bytes) -> None:
        """Note bytes of the body as they came."""
        self._put(self._redactor.feed(data))

    def end(self, reading: Mapping[str, Any]) -> None:
        """Note the end of the reply, and what was made of it (plain JSON values)."""
        self._put(self._redactor.close())
        self._writer.write(self.line("end", reading=_clean(reading, self._endpoint)))

    def _put(self, data: bytes) -> None:
        if not data:
            return
        try:
            self._writer.write(self.line("chunk", text=data.decode("utf-8")))
        except UnicodeDecodeError:
            self._writer.write(self.line("chunk", base64=base64.b64encode(data).decode("ascii")))


class _StreamRedactor:
    """Takes the endpoint's secrets out of a byte stream, holding back what may be the beginning of one."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._secrets = [secret.encode() for secret in endpoint.secrets()]
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        data = self._held + data
        for secret in self._secrets:
            data = data.replace(secret, REDACTED.encode())
        keep = max((_overlap(data, secret) for secret in self._secrets), default=0)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def close(self) -> bytes:
        held, self._held = self._held, b""
        return held


def _clean(value: Any, endpoint: Endpoint) -> Any:
    """value (plain JSON) with secrets taken out of its texts."""
    match value:
        case str():
            return redact(value, endpoint)
        case dict():
            return {k: _clean(v, endpoint) for k, v in cast(dict[str, Any], value).items()}
        case list() | tuple():
            return [_clean(v, endpoint) for v in cast(list[Any], value)]
        case _:
            return value


def _overlap(data: bytes, secret: bytes) -> int:
    """Length of the longest true beginning of secret with which data ends."""
    for size in range(min(len(secret) - 1, len(data)), 0, -1):
        if data.endswith(secret[:size]):
            return size
    return 0


def read_trace(path: Path) -> Iterator[TracedReply]:
    """The replies of a trace, in the order in which they ended; those without an end line last.

    Lines that cannot be read (a torn last one) and lines of unknown type are skipped. Raises OSError.
    """
    open_replies: dict[str, _Reply] = {}
    with path.open("rb") as file:
        for raw in file:
            line = _decode(raw)
            if line is None:
                continue
            name = _text(line, "id")
            if line.get("type") == "request":
                open_replies[name] = _Reply(line)
            elif name in open_replies and open_replies[name].take(line):
                yield open_replies.pop(name).result()
    for reply in open_replies.values():
        yield reply.result()


class _Reply:
    """A reply that is being read back."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._request = request
        self._status: Mapping[str, Any] = {}
        self._chunks: list[tuple[float, bytes]] = []
        self._end: Mapping[str, Any] | None = None

    def take(self, line: Mapping[str, Any]) -> bool:
        """Add a line; True if it was the last."""
        match line:
            case {"type": "status"}:
                self._status = line
            case {"type": "chunk", "text": str(text)}:
                self._chunks.append((_time(line), text.encode("utf-8", "surrogatepass")))
            case {"type": "chunk", "base64": str(text)}:
                with contextlib.suppress(ValueError):
                    self._chunks.append((_time(line), base64.b64decode(text)))
            case {"type": "end"}:
                self._end = line
                return True
            case _:
                pass
        return False

    def result(self) -> TracedReply:
        headers = self._status.get("headers")
        reading = (self._end or {}).get("reading")
        return TracedReply(
            id=_text(self._request, "id"),
            wall=_number(self._request, "wall"),
            url=_text(self._request, "url"),
            request=_text(self._request, "body"),
            status=int(_number(self._status, "status")),
            status_time=_time(self._status),
            headers={k: v for k, v in _object(headers).items() if isinstance(v, str)},
            chunks=tuple(self._chunks),
            ended=self._end is not None,
            reading=_object(reading),
        )


def _time(line: Mapping[str, Any]) -> float:
    return _number(line, "t")


def _number(line: Mapping[str, Any], name: str) -> float:
    """A number of a line, 0 if it has none that makes sense."""
    value = line.get(name)
    return float(value) if isinstance(value, (int, float)) and abs(value) <= MAX_NUMBER else 0.0


def _text(line: Mapping[str, Any], name: str) -> str:
    value = line.get(name)
    return value if isinstance(value, str) else ""


def _object(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}


def _decode(raw: bytes | str) -> dict[str, Any] | None:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return cast(dict[str, Any], value) if isinstance(value, dict) else None
