"""Opening connections to allowed hosts: the address that was checked is the one that is connected to."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from ipaddress import ip_address
from typing import Protocol
from urllib.parse import unquote, urlsplit

from pool_tools.frozen import frozen
from pool_tools.network.addresses import is_own, refusal
from pool_tools.network.head import HEAD_BYTES, Refused
from pool_tools.network.rules import HostRule, RuleError, host_name, is_address

RESOLVE_SECONDS = 10.0
CONNECT_SECONDS = 15.0
"""For one address; the next is tried then."""

TLS_PORT = 443

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a host, as text. Raises `OSError`."""

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Connect(Protocol):
    """Connects to an address, or to the user's proxy by its name. Raises `OSError`, `TimeoutError`."""

    async def __call__(self, host: str, port: int, *, tls: bool = False) -> Streams: ...


@frozen
class Upstream:
    """The user's own proxy, through which this machine reaches the network. authorization is its header field."""

    host: str
    port: int
    tls: bool = False
    authorization: bytes = b""


@frozen
class Route:
    """Open streams to a host. upstream is set if they end at the user's proxy, to be asked in the absolute form."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    upstream: Upstream | None = None


async def connect(host: str, port: int, *, tls: bool = False) -> Streams:
    """Connect within `CONNECT_SECONDS`."""
    async with asyncio.timeout(CONNECT_SECONDS):
        return await asyncio.open_connection(
            host, port, ssl=ssl.create_default_context() if tls else None, limit=HEAD_BYTES
        )


async def resolve(host: str, port: int) -> Sequence[str]:
    """Addresses of a host by the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Dialer:
    """Connects to hosts that a rule allows.

    environ is the user's environment, with the usual proxy variables. The model server is never connected to: see
    `forbid`.
    """

    def __init__(self, environ: Mapping[str, str], resolver: Resolve = resolve, connector: Connect = connect) -> None:
        self._environ = environ
        self._resolve = resolver
        self._connect = connector
        self._servers: set[tuple[str, int]] = set()
        self._server_addresses: set[tuple[str, int]] = set()

    async def forbid(self, host: str, port: int) -> bool:
        """Never connect to this server, by its name or its addresses. True if it is on this machine."""
        try:
            name = host_name(host, typed=True)
            addresses = await self._resolve(name, port)
        except (OSError, RuleError):
            name, addresses = host.lower(), ()
        self._servers.add((name, port))
        if port != TLS_PORT:
            # Behind that port many hosts share an address.
            self._server_addresses |= {(address, port) for address in addresses}
        return any(ip_address(address).is_loopback or is_own(address) for address in addresses)

    async def open(self, host: str, port: int, rule: HostRule, *, tunnel: bool) -> Route:
        """Streams to a host that rule allows. Raises `Refused`."""
        if (host, port) in self._servers:
            raise Refused(403, f"{host}:{port} is the model server, which commands never reach")
        upstream = upstream_for(host, self._environ, tls=tunnel)
        addresses = await self._checked(host, port, rule, required=upstream is None)
        try:
            if upstream is None:
                return Route(*await self._first(addresses, port))
            streams = await self._connect(upstream.host, upstream.port, tls=upstream.tls)
        except (OSError, TimeoutError) as error:
            where = f"{host}:{port}" if upstream is None else f"the proxy {upstream.host}:{upstream.port}"
            raise Refused(502, f"{where} could not be reached: {error or 'no answer'}") from None
        if tunnel:
            await _through(streams, upstream, host, port)
            return Route(*streams)
        return Route(*streams, upstream)

    async def _checked(self, host: str, port: int, rule: HostRule, *, required: bool) -> Sequence[str]:
        """The host's addresses, all of which may be reached. Behind a proxy of the user's there may be none to see."""
        try:
            async with asyncio.timeout(RESOLVE_SECONDS):
                addresses = [host] if is_address(host) else await self._resolve(host, port)
        except (OSError, TimeoutError) as error:
            if not required:
                return ()
            raise Refused(502, f"{host} has no address: {error or 'no answer'}") from None
        for address in addresses:
            if (address, port) in self._server_addresses:
                raise Refused(403, f"{host}:{port} is the model server, which commands never reach")
            kind = refusal(address, private=rule.private)
            if kind:
                remedy = f"; the user can allow it: --net private:{rule}" if kind == "a private address" else ""
                raise Refused(403, f"{host} lies at {address}, {kind}{remedy}")
        return addresses

    async def _first(self, addresses: Sequence[str], port: int) -> Streams:
        failure: OSError = OSError("no address")
        for address in addresses:
            try:
                return await self._connect(address, port)
            except TimeoutError:
                failure = OSError(f"no answer from {address}")
            except OSError as error:
                failure = error
        raise failure


async def _through(streams: Streams, upstream: Upstream, host: str, port: int) -> None:
    """Have the user's proxy make a tunnel."""
    reader, writer = streams
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        ask = f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n".encode()
        writer.write(ask + upstream.authorization + b"\r\n")
        async with asyncio.timeout(CONNECT_SECONDS):
            answer = await reader.readuntil(b"\r\n\r\n")
        status = answer.split(b"\r\n", 1)[0].decode("ascii", "replace")
        if status.split(" ")[1:2] == ["200"]:
            return
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        status = str(error)
    writer.close()
    raise Refused(502, f"the proxy {upstream.host}:{upstream.port} made no way to {authority}: {status or 'no answer'}")


async def own_route(host: str, port: int, environ: Mapping[str, str], *, tls: bool) -> Route:
    """Streams to a server that the user himself has named, wherever it lies. Raises `Refused`, OSError."""
    upstream = upstream_for(host, environ, tls=tls)
    if upstream is None:
        return Route(*await connect(host, port))
    streams = await connect(upstream.host, upstream.port, tls=upstream.tls)
    if not tls:
        return Route(*streams, upstream)
    await _through(streams, upstream, host, port)
    return Route(*streams)


def upstream_for(host: str, environ: Mapping[str, str], *, tls: bool) -> Upstream | None:
    """The user's proxy for a host, by the variables that most programs go by; None for a direct connection.

    Raises `Refused` for a proxy of a kind that is not spoken here.
    """

    def first(*names: str) -> str:
        return next((value for name in names for n in (name, name.upper()) if (value := environ.get(n, ""))), "")

    url = first("https_proxy" if tls else "http_proxy", "all_proxy")
    if not url or _excepted(host, first("no_proxy")):
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        port = parts.port
    except ValueError:
        port = 0
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise Refused(502, f"the proxy of your environment is of a kind ({parts.scheme}) that Pool cannot go through")
    login = ""
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    field = b"Proxy-Authorization: Basic %s\r\n" % base64.b64encode(login.encode()) if login else b""
    default = TLS_PORT if parts.scheme == "https" else 80
    return Upstream(parts.hostname, port or default, parts.scheme == "https", field)


def _excepted(host: str, names: str) -> bool:
    """Whether no_proxy names a host: `*`, the host itself, or a domain that it is in."""
    for name in names.lower().replace(",", " ").split():
        domain = name.removeprefix("*").lstrip(".")
        if name == "*" or (domain and (host == domain or host.endswith(f".{domain}"))):
            return True
    return False
