"""From httpx's exceptions, and the system's errors below them, to a `ServerProblem`."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator

from pool.wire.endpoint import Endpoint, redact
from pool.wire.error_body import shorten
from pool.wire.errors import ProblemKind, ServerProblem


def classify_exception(exc: BaseException, endpoint: Endpoint, received: bool) -> ServerProblem:
    """The problem that an httpx exception stands for. received: a byte of the reply's body had arrived."""
    from pool.wire.httplib import httpx

    kind, message, remedy = ProblemKind.DROPPED, _words_of(exc, endpoint), ""
    match exc:
        case httpx.ProxyError():
            kind = ProblemKind.UNREACHABLE
            remedy = "look at HTTPS_PROXY, HTTP_PROXY and ALL_PROXY; NO_PROXY takes a host out"
        case httpx.ConnectTimeout():
            kind = ProblemKind.UNREACHABLE
            message = f"no answer from {endpoint.display} to the attempt to connect"
            remedy = "check host, port and http or https, and whether a firewall drops the packets"
        case httpx.ConnectError():
            kind, message, remedy = _connect_error(exc, endpoint)
        case httpx.TimeoutException():
            kind, remedy = ProblemKind.TIMEOUT, "see whether the server still works; its log says what it is doing"
        case httpx.InvalidURL() | httpx.UnsupportedProtocol() | httpx.LocalProtocolError():
            kind, remedy = ProblemKind.BAD_REQUEST, "check the server's address and the extra headers"
        case _:
            remedy = "see the server's log: it may have crashed or been restarted"
    return ServerProblem(kind, message, remedy, received=received)


def _words_of(exc: BaseException, endpoint: Endpoint) -> str:
    return shorten(redact(str(exc), endpoint)) or type(exc).__name__


def _connect_error(exc: BaseException, endpoint: Endpoint) -> tuple[ProblemKind, str, str]:
    """Kind, message and remedy of a failed attempt to connect, from the errors below httpx's."""
    where = endpoint.display
    causes = list(_causes(exc))
    for cause in causes:
        match cause:
            case ssl.SSLCertVerificationError():
                return (
                    ProblemKind.NOT_A_SERVER,
                    f"the certificate of {where} is not trusted: {cause.verify_message}",
                    "name the authority's certificate in SSL_CERT_FILE, or use the host name that it was issued for",
                )
            case ssl.SSLError():
                reason = cause.reason or "no TLS"
                return (
                    ProblemKind.NOT_A_SERVER,
                    f"TLS with {where} failed: {reason}",
                    "if the server speaks plain HTTP, write http://",
                )
            case socket.gaierror():
                return (
                    ProblemKind.UNREACHABLE,
                    f"the host name {endpoint.host!r} is not known",
                    "check the name in the server's address",
                )
            case ConnectionRefusedError():
                return ProblemKind.REFUSED, f"connection refused at {where}", "start the server, or correct its address"
            case OSError(errno=errno.ENETUNREACH | errno.EHOSTUNREACH | errno.ENETDOWN):
                return ProblemKind.UNREACHABLE, f"no route to {endpoint.host}", "check the network and the address"
            case _:
                continue
    return ProblemKind.UNREACHABLE, f"{where}: {_words_of(exc, endpoint)}", "check the server's address and the network"


def _causes(exc: BaseException) -> Iterator[BaseException]:
    """exc and everything that led to it, members of exception groups too, outermost first."""
    todo, seen = [exc], set[int]()
    while todo:
        current = todo.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, BaseExceptionGroup):
            todo += current.exceptions  # pyright: ignore[reportUnknownMemberType]
        todo += [e for e in (current.__cause__, current.__context__) if e is not None]
