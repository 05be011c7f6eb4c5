"""The head of a request to the proxy, read strictly: whatever two readers could understand differently is refused."""

from __future__ import annotations

import re

from pool_tools.frozen import frozen
from pool_tools.network.rules import RuleError, host_name, split_port

HEAD_BYTES = 64 * 1024
"""Longest head that is read."""

HTTP_PORT = 80
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_REQUEST_LINE = re.compile(rb"(" + _TOKEN + rb") ([\x21-\x7e]+) HTTP/1\.[01]")
_FIELD = re.compile(rb"(" + _TOKEN + rb"):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*")
_DIGITS = re.compile(rb"[0-9]{1,18}")
_HTTP = b"http://"

# Fields about one connection, which end at a proxy (RFC 9110 section 7.6.1), and those that are for the proxy itself.
_HOP_BY_HOP = frozenset(
    b"connection proxy-connection keep-alive te trailer upgrade http2-settings host "
    b"proxy-authorization proxy-authenticate".split()
)


class Refused(Exception):
    """A request that is not let through: an HTTP status and words for whoever asked."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@frozen
class Request:
    """What is asked of the proxy: a tunnel (CONNECT) to host and port, or one plain HTTP request there.

    length is that of the request's body in bytes. path and fields are only of a plain request.
    """

    method: bytes
    host: str
    port: int
    path: bytes = b""
    fields: tuple[tuple[bytes, bytes], ...] = ()
    length: int = 0

    @property
    def tunnel(self) -> bool:
        return self.method == b"CONNECT"

    @property
    def authority(self) -> str:
        """Host and port as they stand in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == HTTP_PORT and not self.tunnel else f"{host}:{self.port}"

    def encode(self, *, absolute: bool = False, extra: bytes = b"") -> bytes:
        """The head to send on. absolute: to a further proxy, for which extra fields are."""
        target = (_HTTP + self.authority.encode() if absolute else b"") + self.path
        lines = [b"%s %s HTTP/1.1" % (self.method, target), b"Host: " + self.authority.encode()]
        lines += [b"%s: %s" % field for field in self.fields]
        return b"\r\n".join([*lines, b"Connection: close\r\n"]) + extra + b"\r\n"


def parse(head: bytes) -> Request:
    """A request's head, with the empty line at its end, taken apart. Raises `Refused` with status 4xx."""
    lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    start = _REQUEST_LINE.fullmatch(lines[0])
    if start is None:
        raise Refused(400, "this is an HTTP proxy, and that was no request to one")
    method, target = start.groups()
    fields = [_field(line) for line in lines[1:]]
    if method == b"CONNECT":
        host, port = _authority(target)
        if port is None:
            raise Refused(400, "CONNECT needs a port")
        return Request(method, host, port)
    if not target.lower().startswith(_HTTP):
        raise Refused(400, "a proxy takes http://HOST/PATH, and CONNECT HOST:PORT for everything else")
    host, port, path = _absolute(target)
    _same_host(fields, (host, port))
    named = b",".join(value for name, value in fields if name.lower() == b"connection").lower()
    dropped = _HOP_BY_HOP | {name.strip() for name in named.split(b",")} - {b"content-length"}
    kept = tuple((name, value) for name, value in fields if name.lower() not in dropped)
    return Request(method, host, port, path, kept, _length(fields))


def _field(line: bytes) -> tuple[bytes, bytes]:
    found = _FIELD.fullmatch(line)
    if found is None:
        raise Refused(400, "a header field is malformed")
    return found.group(1), found.group(2)


def _absolute(target: bytes) -> tuple[str, int, bytes]:
    authority, path = re.fullmatch(rb"([^/?#]*)(.*)", target[len(_HTTP) :]).groups()  # pyright: ignore[reportOptionalMemberAccess]  # matches anything
    if b"#" in path:
        raise Refused(400, "a request has no fragment")
    host, port = _authority(authority)
    return host, HTTP_PORT if port is None else port, path if path.startswith(b"/") else b"/" + path


def _authority(text: bytes) -> tuple[str, int | None]:
    if b"@" in text:
        raise Refused(400, "a login in an address is not passed on")
    try:
        name, port = split_port(text.decode("ascii"))
        if text.startswith(b"[") != (":" in name):
            raise RuleError(f"{name!r} is no host name")
        return host_name(name), port
    except (RuleError, UnicodeDecodeError) as error:
        raise Refused(400, str(error)) from None


def _same_host(fields: list[tuple[bytes, bytes]], asked: tuple[str, int]) -> None:
    """The host of the field is what many servers go by: it must be the one that was checked."""
    hosts = [value for name, value in fields if name.lower() == b"host"]
    if len(hosts) > 1:
        raise Refused(400, "there is more than one Host field")
    for value in hosts:
        host, port = _authority(value)
        if (host, HTTP_PORT if port is None else port) != asked:
            raise Refused(400, "the Host field names another host than the address")


def _length(fields: list[tuple[bytes, bytes]]) -> int:
    if any(name.lower() == b"transfer-encoding" for name, _ in fields):
        raise Refused(411, "send the body with its length, not in chunks")
    lengths = [value for name, value in fields if name.lower() == b"content-length"]
    if not lengths:
        return 0
    if len(lengths) > 1 or not _DIGITS.fullmatch(lengths[0]):
        raise Refused(400, "the length of the body is not clear")
    return int(lengths[0])
