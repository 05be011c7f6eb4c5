"""HTTP to the server: one request at a time out, raw bytes back as they come.

Patient by design. A cold prefill of 200,000 tokens takes minutes in which vLLM sends nothing at all, so there is no
time limit before the first byte of a body; afterwards any byte, a comment too, resets the idle limit. Nothing is sent
twice, with one exception: a request that died on a kept connection before any byte of an answer is sent once more on a
fresh one, because servers drop idle connections (uvicorn after 5 s) at the very moment at which one is used again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import zlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pool import __version__
from pool.wire.connection import classify_exception
from pool.wire.endpoint import Endpoint, authorization, redact
from pool.wire.errors import ProblemKind, ServerProblem, classify_response
from pool.wire.gathering import Gathering
from pool.wire.inflate import KNOWN_ENCODINGS, Inflater
from pool.wire.pieces import Pieces
from pool_tools.frozen import frozen

if TYPE_CHECKING:
    import httpx

IDLE_SECONDS = 300.0
"""Longest silence inside a reply, once it has begun. 0 switches the limit off."""

CONNECT_SECONDS = 10.0
WRITE_SECONDS = 600.0
KEEP_ALIVE_SECONDS = 4.0
"""How long an unused connection is kept: a little less than uvicorn keeps its end."""

ERROR_BODY_BYTES = 64 * 1024
ERROR_BODY_SECONDS = 10.0
FETCH_BYTES = 32 * 1024 * 1024
"""Most bytes of a fetched document; `/tokenize` answers with a number per token."""


@frozen
class Fetched:
    """A whole answer. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class StreamedReply:
    """A reply whose body is still arriving. `received` says that a byte of it has come."""

    def __init__(
        self, response: httpx.Response, endpoint: Endpoint, idle_seconds: float, *, gather: bool = True
    ) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self.received = False
        self._response = response
        self._endpoint = endpoint
        self._idle_seconds = idle_seconds
        self._gather = gather

    async def aiter_raw(self) -> AsyncGenerator[bytes]:
        """The body as it comes, decompressed only if the server compressed it unasked.

        Raises `ServerProblem`: TIMEOUT after too long a silence, DROPPED if the connection ends before the body.
        Read it to the end, else the connection is closed and not kept.
        """
        # Left to the collector, a reply that is stopped would be closed in a task that has not begun it.
        async with aclosing(self._arriving()) as arriving:
            inflater = self._inflater()
            async for data in arriving:
                if inflater is None:
                    yield data
                    continue
                try:
                    for piece in inflater.feed(data):
                        yield piece
                        # One frame can inflate to gigabytes: others, and time limits, get their turn in between.
                        await asyncio.sleep(0)
                except zlib.error as exc:
                    raise ServerProblem(
                        ProblemKind.SERVER_ERROR,
                        f"the compressed reply cannot be read: {exc}",
                        "switch compression off in the gateway before the server",
                        self.status,
                        received=True,
                    ) from exc

    async def _arriving(self) -> AsyncGenerator[bytes]:
        pieces = Pieces(self._response.aiter_raw())
        gathering = Gathering()
        try:
            async with aclosing(self._taken(pieces)) as taken:
                async for data, count, asked, now in taken:
                    pause = gathering.pause(len(data) // count, asked, now, count)
                    yield data
                    if pause and self._gather:
                        await asyncio.sleep(pause)
        finally:
            await pieces.close()

    async def _taken(self, pieces: Pieces) -> AsyncGenerator[tuple[bytes, int, float, float]]:
        """Data, of how many pieces it is, and when the first of them was asked for and was there."""
        from pool.wire.httplib import httpx

        clock = asyncio.get_running_loop().time
        while True:
            asked = clock()
            limit = self._idle_seconds if self.received and self._idle_seconds > 0 else None
            data, count = pieces.ready()
            if data:
                self.received = True
                yield data, count, asked, asked
                continue
            try:
                async with asyncio.timeout(limit):
                    data = await pieces.wait()
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise ServerProblem(
                    ProblemKind.TIMEOUT,
                    f"not a byte for {self._idle_seconds:g} s in the middle of a reply",
                    "see whether the server still works; the idle limit can be raised or switched off (0)",
                    received=True,
                ) from None
            except httpx.HTTPError as exc:
                raise classify_exception(exc, self._endpoint, self.received) from exc
            if data:
                self.received = True
                now = clock()
                more, count = pieces.ready()
                yield data + more, count + 1, asked, now

    def _inflater(self) -> Inflater | None:
        encoding = self.headers.get("content-encoding", "identity").strip().lower()
        if encoding in ("", "identity"):
            return None
        if encoding in KNOWN_ENCODINGS:
            return Inflater()
        raise ServerProblem(
            ProblemKind.SERVER_ERROR,
            f"the reply is compressed with {encoding!r} although none was asked for",
            "switch compression off in the gateway before the server",
            self.status,
        )


class Transport:
    """Requests to one endpoint. Use it as an async context manager, or call `aclose`. Imports httpx at first use."""

    def __init__(
        self, endpoint: Endpoint, *, idle_seconds: float = IDLE_SECONDS, ca_file: str = "", gather: bool = True
    ) -> None:
        """ca_file names a PEM file with further certificate authorities. gather: let fast streams gather a little."""
        self.endpoint = endpoint
        self.idle_seconds = idle_seconds
        self._ca_file = ca_file
        self._gather = gather
        self._client: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection. The transport can be used again afterwards."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @asynccontextmanager
    async def open(self, path: str, body: bytes, stream: bool = True) -> AsyncGenerator[StreamedReply, None]:
        """POST body (JSON) to path and hand over the reply once its headers are here, however long that takes.

        path is as in `Endpoint.url`. Raises `ServerProblem` for anything but a usable reply. Leaving the context, or
        cancelling the task, closes the socket at once: to a server that is the sign to stop.
        """
        accept = "text/event-stream" if stream else "application/json"
        headers = {"Accept": accept, "Content-Type": "application/json"}
        response = await self._send("POST", path, headers, body)
        try:
            await self._check(response)
            yield StreamedReply(response, self.endpoint, self.idle_seconds, gather=self._gather)
        finally:
            await response.aclose()

    async def get(self, path: str, timeout_s: float) -> Fetched:
        """GET path, whole, within timeout_s seconds. Raises `ServerProblem`."""
        return await self._fetch("GET", path, None, timeout_s)

    async def get_json(self, path: str, timeout_s: float) -> Any:
        """GET path and decode it. Raises `ServerProblem`, NOT_A_SERVER if the answer is no JSON."""
        return self._decode(path, await self._fetch("GET", path, None, timeout_s))

    async def post_json(self, path: str, payload: Any, timeout_s: float) -> Any:
        """POST payload as JSON and decode the answer. Raises as `get_json` does."""
        body = json.dumps(payload, ensure_ascii=False).encode()
        return self._decode(path, await self._fetch("POST", path, body, timeout_s))

    async def _fetch(self, method: str, path: str, body: bytes | None, timeout_s: float) -> Fetched:
        headers = {"Accept": "application/json, */*"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._send(method, path, headers, body)
                try:
                    await self._check(response)
                    reply = StreamedReply(response, self.endpoint, 0)
                    return Fetched(reply.status, reply.headers, await _read_whole(reply, FETCH_BYTES))
                finally:
                    await response.aclose()
        except TimeoutError:
            where = redact(path, self.endpoint)
            raise ServerProblem(ProblemKind.TIMEOUT, f"{where} did not answer within {timeout_s:g} s") from None

    def _decode(self, path: str, fetched: Fetched) -> Any:
        try:
            return json.loads(fetched.body)
        except (ValueError, RecursionError):
            where = redact(path, self.endpoint)
            raise ServerProblem(
                ProblemKind.NOT_A_SERVER,
                f"{where} answered with something other than JSON",
                f"check the address {self.endpoint.display}",
                fetched.status,
                received=True,
            ) from None

    async def _send(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> httpx.Response:
        from pool.wire.httplib import httpx

        client = self._open_client()
        dialled = _Dialled()
        try:
            request = client.build_request(
                method, self.endpoint.url(path), content=body, headers=headers, extensions={"trace": dialled.trace}
            )
            try:
                return await client.send(request, stream=True)
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                if dialled.fresh:
                    raise
            return await client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise classify_exception(exc, self.endpoint, False) from exc

    async def _check(self, response: httpx.Response) -> None:
        """Raise unless response is a 2xx that is no web page."""
        page = "text/html" in response.headers.get("content-type", "").lower()
        if response.is_success and not page:
            return
        reply = StreamedReply(response, self.endpoint, 0)
        body = b""
        try:
            async with asyncio.timeout(ERROR_BODY_SECONDS):
                body = await _read_whole(reply, ERROR_BODY_BYTES)
        except (TimeoutError, ServerProblem):
            pass  # The status alone has to do: what went wrong is known, its explanation got lost.
        raise classify_response(reply.status, reply.headers, body, self.endpoint)

    def _open_client(self) -> httpx.AsyncClient:
        if self._client is not None:
            return self._client
        from pool.wire.httplib import httpx

        # At INFO, httpx logs each address whole, a token in its query included.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        headers = httpx.Headers({"User-Agent": f"pool/{__version__}"})
        headers.update(list(authorization(self.endpoint)))
        headers["Accept-Encoding"] = "identity"
        try:
            self._client = httpx.AsyncClient(
                headers=headers,
                timeout=httpx.Timeout(connect=CONNECT_SECONDS, read=None, write=WRITE_SECONDS, pool=None),
                limits=httpx.Limits(
                    max_connections=None, max_keepalive_connections=1, keepalive_expiry=KEEP_ALIVE_SECONDS
                ),
                follow_redirects=False,
                verify=self._verify(),
                trust_env=not self.endpoint.is_loopback,
            )
        except (ImportError, ValueError, httpx.InvalidURL) as exc:
            raise ServerProblem(
                ProblemKind.UNREACHABLE,
                f"a proxy variable of the environment cannot be used: {redact(str(exc), self.endpoint)}",
                "correct HTTPS_PROXY, HTTP_PROXY or ALL_PROXY, or take the host out by NO_PROXY",
            ) from exc
        return self._client

    def _verify(self) -> ssl.SSLContext | bool:
        if self.endpoint.base_url.startswith("http://") and self.endpoint.is_loopback:
            return False  # No TLS can occur: no proxy, no redirect. Loading authorities takes longer than a request.
        import certifi

        context = ssl.create_default_context(cafile=certifi.where())
        context.load_default_certs()  # Also reads SSL_CERT_FILE and SSL_CERT_DIR.
        if self._ca_file:
            context.load_verify_locations(cafile=self._ca_file)
        return context


class _Dialled:
    """Notices, through httpcore's tracing, whether a request opened a connection or used a kept one."""

    def __init__(self) -> None:
        self.fresh = False

    async def trace(self, name: str, info: Any) -> None:
        if name == "connection.connect_tcp.started":
            self.fresh = True


async def _read_whole(reply: StreamedReply, limit: int) -> bytes:
    """The body, but no more than limit bytes of it."""
    pieces: list[bytes] = []
    size = 0
    async for piece in reply.aiter_raw():
        pieces.append(piece)
        size += len(piece)
        if size >= limit:
            break
    return b"".join(pieces)[:limit]
