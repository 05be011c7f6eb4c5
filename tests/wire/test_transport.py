"""The transport against real sockets: what it waits for, what it repeats, what it keeps to itself."""

from __future__ import annotations

import asyncio
import gc
import gzip
import logging
import subprocess
import sys
import time
import zlib
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager

import pytest

from pool.wire.endpoint import parse_endpoint
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.transport import IDLE_SECONDS, Transport
from tests.wire.scripted import Exchange, Handler, ScriptedServer

BODY = b'{"model":"m","messages":[]}'
PATH = "chat/completions"
TEXT = b'data: {"choices":[]}\n\n'
CLOSE_LIMIT_SECONDS = 1.0


@asynccontextmanager
async def serving(
    handler: Handler, idle_seconds: float = IDLE_SECONDS
) -> AsyncGenerator[tuple[ScriptedServer, Transport], None]:
    async with (
        ScriptedServer(handler) as server,
        Transport(parse_endpoint(server.url), idle_seconds=idle_seconds) as transport,
    ):
        yield server, transport


async def read(transport: Transport) -> bytes:
    async with transport.open(PATH, BODY) as reply:
        return b"".join([piece async for piece in reply.aiter_raw()])


async def stream_text(exchange: Exchange) -> None:
    await exchange.start()
    await exchange.chunk(TEXT)
    await exchange.finish()


async def test_what_a_request_looks_like() -> None:
    endpoint_headers = [("X-Team", "blue")]
    async with (
        ScriptedServer(stream_text) as server,
        Transport(parse_endpoint(server.url, "sk-4711", endpoint_headers)) as transport,
    ):
        assert await read(transport) == TEXT
        async with transport.open(PATH, BODY, stream=False) as reply:
            assert (reply.status, reply.headers["content-type"]) == (200, "text/event-stream")
    first, second = server.requests
    assert (first.method, first.path, first.body) == ("POST", "/v1/chat/completions", BODY)
    assert first.headers["accept-encoding"] == "identity"
    assert first.headers["authorization"] == "Bearer sk-4711"
    assert first.headers["x-team"] == "blue"
    assert first.headers["accept"] == "text/event-stream"
    assert first.headers["content-length"] == str(len(BODY))
    assert second.headers["accept"] == "application/json"


async def test_bytes_arrive_as_they_are_sent_not_at_the_end() -> None:
    release = asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.chunk(b"data: one\n\n")
        await release.wait()
        await exchange.chunk(b"data: two\n\n")
        await exchange.finish()

    async with serving(handler) as (_, transport), transport.open(PATH, BODY) as reply:
        pieces: list[bytes] = []
        assert not reply.received
        async for piece in reply.aiter_raw():
            pieces.append(piece)
            assert reply.received
            release.set()
    assert pieces == [b"data: one\n\n", b"data: two\n\n"]


@pytest.mark.parametrize("headers_late", [True, False])
async def test_silence_before_the_first_byte_is_waited_out(headers_late: bool) -> None:
    """The idle limit is far shorter than the prefill, and does not count yet."""

    async def handler(exchange: Exchange) -> None:
        if headers_late:
            await asyncio.sleep(0.6)
        await exchange.start()
        if not headers_late:
            await asyncio.sleep(0.6)
        await exchange.chunk(TEXT)
        await exchange.finish()

    async with serving(handler, idle_seconds=0.2) as (server, transport):
        assert await read(transport) == TEXT
        assert len(server.requests) == 1


async def test_silence_inside_a_reply_ends_it_and_comments_put_that_off() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.start()
        for _ in range(6):
            await exchange.chunk(b": still here\n\n")
            await asyncio.sleep(0.15)
        await exchange.client_closed()

    async with serving(handler, idle_seconds=0.4) as (_, transport):
        begun = time.monotonic()
        with pytest.raises(ServerProblem) as caught:
            await read(transport)
    assert (caught.value.kind, caught.value.received) == (ProblemKind.TIMEOUT, True)
    assert time.monotonic() - begun > 6 * 0.15


async def test_the_idle_limit_can_be_switched_off() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.chunk(TEXT)
        await asyncio.sleep(0.3)
        await exchange.finish()

    async with serving(handler, idle_seconds=0) as (_, transport):
        assert await read(transport) == TEXT


async def test_a_reply_that_is_left_is_closed_in_its_own_task() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.chunk(TEXT)
        await exchange.client_closed()

    complaints: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
    async with serving(handler) as (_, transport):
        async with transport.open(PATH, BODY) as reply, aclosing(reply.aiter_raw()) as pieces:
            assert await anext(pieces) == TEXT
        del pieces, reply
        gc.collect()
        await asyncio.sleep(0)
    assert complaints == []


@pytest.mark.parametrize("stage", ["before headers", "before the first byte", "inside the reply"])
async def test_cancelling_closes_the_socket_at_once(stage: str) -> None:
    waiting, closed = asyncio.Event(), asyncio.get_running_loop().create_future()

    async def handler(exchange: Exchange) -> None:
        if stage != "before headers":
            await exchange.start()
        if stage == "inside the reply":
            await exchange.chunk(TEXT)
        waiting.set()
        await exchange.client_closed()
        closed.set_result(time.monotonic())
        exchange.keep = False

    async with serving(handler) as (_, transport):
        task = asyncio.create_task(read(transport))
        await waiting.wait()
        await asyncio.sleep(0.05)
        cancelled = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await closed - cancelled < CLOSE_LIMIT_SECONDS


async def test_leaving_a_reply_in_the_middle_closes_the_socket() -> None:
    closed = asyncio.get_running_loop().create_future()

    async def handler(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.chunk(TEXT)
        closed.set_result(await exchange.client_closed())
        exchange.keep = False

    async with serving(handler) as (_, transport):
        async with transport.open(PATH, BODY) as reply:
            async for _ in reply.aiter_raw():
                break
        assert await closed < CLOSE_LIMIT_SECONDS


async def test_a_connection_that_was_read_to_the_end_is_used_again() -> None:
    async with serving(stream_text) as (server, transport):
        for _ in range(3):
            assert await read(transport) == TEXT
    assert [(e.connection, e.nth) for e in server.requests] == [(1, 1), (1, 2), (1, 3)]


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_a_kept_connection_that_dies_is_replaced_once_without_a_word(how: str) -> None:
    async def handler(exchange: Exchange) -> None:
        if (exchange.connection, exchange.nth) == (1, 2):
            exchange.drop() if how == "close" else exchange.reset()
        else:
            await stream_text(exchange)

    async with serving(handler) as (server, transport):
        assert await read(transport) == TEXT
        assert await read(transport) == TEXT
    assert [(e.connection, e.nth) for e in server.requests] == [(1, 1), (1, 2), (2, 1)]
    assert all(e.body == BODY for e in server.requests)


async def test_a_second_death_is_shown() -> None:
    async def handler(exchange: Exchange) -> None:
        if exchange.connection == 1 and exchange.nth == 1:
            await stream_text(exchange)
        else:
            exchange.drop()

    async with serving(handler) as (server, transport):
        await read(transport)
        with pytest.raises(ServerProblem) as caught:
            await read(transport)
    assert (caught.value.kind, caught.value.received) == (ProblemKind.DROPPED, False)
    assert len(server.requests) == 3


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_a_fresh_connection_that_dies_is_not_replaced(how: str) -> None:
    async def handler(exchange: Exchange) -> None:
        exchange.drop() if how == "close" else exchange.reset()

    async with serving(handler) as (server, transport):
        with pytest.raises(ServerProblem) as caught:
            await read(transport)
    assert (caught.value.kind, caught.value.received) == (ProblemKind.DROPPED, False)
    assert len(server.requests) == 1


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("begun", [True, False])
async def test_a_reply_that_breaks_off_is_never_sent_for_again(how: str, begun: bool) -> None:
    async def handler(exchange: Exchange) -> None:
        if exchange.nth == 1:
            await stream_text(exchange)
            return
        await exchange.start()
        if begun:
            await exchange.chunk(TEXT)
            await asyncio.sleep(0.05)
        exchange.drop() if how == "close" else exchange.reset()

    async with serving(handler) as (server, transport):
        await read(transport)
        with pytest.raises(ServerProblem) as caught:
            await read(transport)
    assert (caught.value.kind, caught.value.received) == (ProblemKind.DROPPED, begun)
    assert len(server.requests) == 2


async def test_error_answers_are_read_and_classified() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.reply(429, '{"error":{"message":"busy"}}', {"Retry-After": "7"})

    async with serving(handler) as (_, transport):
        with pytest.raises(ServerProblem) as caught:
            await read(transport)
    problem = caught.value
    assert (problem.kind, problem.status, problem.message) == (ProblemKind.BUSY, 429, "busy")
    assert (problem.retry_after, problem.received) == (7.0, False)


async def test_an_endless_error_answer_is_cut() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 500 X\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            await exchange.send(b"no " * 100_000)

    async with serving(handler) as (_, transport):
        with pytest.raises(ServerProblem) as caught:
            await read(transport)
    assert caught.value.kind is ProblemKind.SERVER_ERROR
    assert caught.value.message.startswith("no no")
    assert len(caught.value.message) < 1000


async def test_a_web_page_is_no_reply() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.reply(200, "<html><title>Log in</title></html>", {"Content-Type": "text/html"})

    async with serving(handler) as (_, transport):
        with pytest.raises(ServerProblem) as caught:
            await read(transport)
    assert (caught.value.kind, caught.value.message) == (ProblemKind.NOT_A_SERVER, "Log in")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_reply_compressed_unasked_is_read_event_by_event(encoding: str) -> None:
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    seen = asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        await exchange.start({"Content-Encoding": encoding})
        await exchange.chunk(pack(b"data: one\n\n"))
        await seen.wait()
        await exchange.chunk(pack(b"data: two\n\n"))
        await exchange.finish()

    async with serving(handler) as (_, transport), transport.open(PATH, BODY) as reply:
        got = b""
        async for piece in reply.aiter_raw():
            got += piece
            seen.set()
    assert got == b"data: one\n\ndata: two\n\n"


@pytest.mark.parametrize(("encoding", "data"), [("br", b"xyz"), ("gzip", b"data: not packed\n\n")])
async def test_compression_that_cannot_be_undone_is_named(encoding: str, data: bytes) -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.start({"Content-Encoding": encoding})
        await exchange.chunk(data)
        await exchange.finish()

    async with serving(handler) as (_, transport):
        with pytest.raises(ServerProblem, match="compressed") as caught:
            await read(transport)
    assert caught.value.kind is ProblemKind.SERVER_ERROR


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_loopback_goes_past_every_proxy(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(exchange: Exchange) -> None:
        await exchange.reply(503, '{"error":"proxy says no"}')

    async with ScriptedServer(refuse) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        try:
            server = await ScriptedServer(stream_text, "::1" if host == "[::1]" else "127.0.0.1").__aenter__()
        except OSError:
            pytest.skip("no IPv6 loopback here")
        async with Transport(parse_endpoint(f"http://{host}:{server.port}")) as transport:
            assert await read(transport) == TEXT
        await server.__aexit__(None, None, None)
        assert proxy.requests == []
        assert len(server.requests) == 1


async def test_other_hosts_obey_the_proxy_and_its_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedServer(stream_text) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        async with Transport(parse_endpoint("http://model.invalid:8000")) as transport:
            assert await read(transport) == TEXT
        assert proxy.requests[0].path == "http://model.invalid:8000/v1/chat/completions"
        monkeypatch.setenv("NO_PROXY", "model.invalid")
        monkeypatch.setenv("no_proxy", "model.invalid")
        async with Transport(parse_endpoint("http://model.invalid:8000")) as transport:
            with pytest.raises(ServerProblem) as caught:
                await read(transport)
        assert caught.value.kind is ProblemKind.UNREACHABLE
        assert len(proxy.requests) == 1


async def test_a_proxy_variable_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "gopher://me:hunter22@h")
    async with Transport(parse_endpoint("http://model.invalid")) as transport:
        with pytest.raises(ServerProblem, match="proxy") as caught:
            await read(transport)
    assert caught.value.kind is ProblemKind.UNREACHABLE
    assert "hunter22" not in str(caught.value)


async def test_json_documents() -> None:
    async def handler(exchange: Exchange) -> None:
        match exchange.path:
            case "/version":
                await exchange.reply_json({"version": "1"})
            case "/tokenize":
                await exchange.reply(200, exchange.body)
            case "/slow":
                await asyncio.sleep(5)
            case "/text":
                await exchange.reply(200, "hello")
            case _:
                await exchange.reply_json({"detail": "Not Found"}, 404)

    async with serving(handler) as (_, transport):
        assert await transport.get_json("/version", 2) == {"version": "1"}
        assert await transport.post_json("/tokenize", {"q": "日本"}, 2) == {"q": "日本"}
        assert (await transport.get("/text", 2)).body == b"hello"
        for path, kind in (
            ("/slow", ProblemKind.TIMEOUT),
            ("/text", ProblemKind.NOT_A_SERVER),
            ("/none", ProblemKind.NOT_FOUND),
        ):
            with pytest.raises(ServerProblem) as caught:
                await transport.get_json(path, 0.3)
            assert caught.value.kind is kind


async def test_nothing_of_a_secret_is_logged_or_said(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.reply_json({"error": f"bad key {exchange.headers['authorization']}"}, 401)

    caplog.set_level(logging.DEBUG)
    secrets = ("s3cret-pw-1", "tok-998877", "hdr-665544")
    async with ScriptedServer(handler) as server:
        address = f"http://me:{secrets[0]}@127.0.0.1:{server.port}/v1?token={secrets[1]}"
        async with Transport(parse_endpoint(address, headers=[("X-Api-Key", secrets[2])])) as transport:
            with pytest.raises(ServerProblem) as caught:
                await read(transport)
        assert server.requests[0].path.endswith(f"?token={secrets[1]}")
    said = f"{caught.value} {caught.value!r} {caught.value.remedy} {caplog.text}"
    assert caplog.records
    for secret in (*secrets, server.requests[0].headers["authorization"].removeprefix("Basic ")):
        assert secret not in said


async def test_a_large_prompt_and_a_large_lump_pass_whole() -> None:
    lump = b"data: " + b"x" * 2_000_000 + b"\n\n"

    async def handler(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.chunk(lump)
        await exchange.finish()

    async with serving(handler) as (server, transport):
        prompt = b'{"p":"' + b"y" * 3_000_000 + b'"}'
        async with transport.open(PATH, prompt) as reply:
            assert b"".join([piece async for piece in reply.aiter_raw()]) == lump
    assert server.requests[0].body == prompt


def test_httpx_is_imported_only_when_a_request_is_made() -> None:
    code = (
        "import sys; from pool.wire.transport import Transport; from pool.wire.endpoint import parse_endpoint;"
        "Transport(parse_endpoint('h')); print('httpx' in sys.modules, 'anyio' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
