"""Connections through the proxy on real sockets, with the user's own proxy behind it as the way out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from pool_tools.network import connection
from pool_tools.network.connection import Judge, serve
from pool_tools.network.dial import Dialer
from pool_tools.network.grants import Grants
from pool_tools.network.head import HEAD_BYTES
from pool_tools.network.rules import allow_list
from pool_tools.network.traffic import Flow
from tests.tools.network.conftest import UserProxy


class Client:
    """Talks to the proxy; flows are what it noted."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.flows: list[Flow] = []

    async def say(self, *parts: bytes, end: bool = True) -> bytes:
        """Send parts, each when the last was taken, and give all that is answered."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=HEAD_BYTES)
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.02)
        if end:
            writer.write_eof()
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer


@asynccontextmanager
async def client(
    *entries: str,
    environ: dict[str, str] | None = None,
    ask: Callable[[str, int], Awaitable[bool]] | None = None,
) -> AsyncGenerator[Client]:
    judge, dialer = Judge(Grants(allow_list(entries)), ask), Dialer(environ or {})
    tasks: list[asyncio.Task[None]] = []

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.create_task(serve(reader, writer, judge, dialer, made.flows.append)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=HEAD_BYTES)
    made = Client(server.sockets[0].getsockname()[1])
    try:
        yield made
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_tunnel_passes_bytes_both_ways(user_proxy: UserProxy) -> None:
    async with client("out.example", environ=user_proxy.environ) as c:
        answer = await c.say(b"CONNECT out.example:443 HTTP/1.1\r\n\r\n", b"\x16\x03hello")
    assert answer == b"HTTP/1.1 200 Connection established\r\n\r\necho \x16\x03hello"
    assert user_proxy.heads == [b"CONNECT out.example:443 HTTP/1.1\r\nHost: out.example:443\r\n\r\n"]
    assert c.flows == [Flow("out.example", 443, 7, 12)]


async def test_a_plain_request_goes_to_the_users_proxy_with_its_login(user_proxy: UserProxy) -> None:
    environ = {"HTTP_PROXY": f"http://a:b@127.0.0.1:{user_proxy.port}"}
    async with client("out.example", environ=environ) as c:
        answer = await c.say(b"POST http://OUT.example/x HTTP/1.1\r\nContent-Length: 4\r\nA: b\r\n\r\nbody")
    assert answer.startswith(b"HTTP/1.1 200 OK")
    (head,) = user_proxy.heads
    assert head.startswith(b"POST http://out.example/x HTTP/1.1\r\nHost: out.example\r\n")
    assert b"Proxy-Authorization: Basic YTpi\r\n" in head
    assert user_proxy.bodies == [b"body"]
    assert (c.flows[0].host, c.flows[0].sent) == ("out.example", 4)


async def test_a_second_request_on_a_plain_connection_is_not_passed_on(user_proxy: UserProxy) -> None:
    second = b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    async with client("out.example", environ=user_proxy.environ) as c:
        await c.say(b"GET http://out.example/ HTTP/1.1\r\n\r\n" + second)
        await c.say(b"POST http://out.example/ HTTP/1.1\r\nContent-Length: 2\r\n\r\nab" + second)
    assert len(user_proxy.heads) == 2
    assert b"evil" not in b"".join(user_proxy.heads + user_proxy.bodies)
    assert user_proxy.bodies == [b"", b"ab"]


REFUSED = {
    b"CONNECT other.example:443 HTTP/1.1\r\n\r\n": (403, b"other.example is not on the list", b"--net other.example\n"),
    b"GET http://other.example/ HTTP/1.1\r\n\r\n": (403, b"other.example is not on the list", b"--net other.example\n"),
    b"CONNECT out.example:22 HTTP/1.1\r\n\r\n": (403, b"port 22 of out.example is not", b"--net out.example:22\n"),
    b"CONNECT 198.51.100.1:443 HTTP/1.1\r\n\r\n": (403, b"198.51.100.1 is not on the list", b"--net 198.51.100.1\n"),
    b"CONNECT [2001:db8::1]:22 HTTP/1.1\r\n\r\n": (403, b"2001:db8::1 is not", b"--net [2001:db8::1]:22\n"),
    b"CONNECT 127.0.0.1:443 HTTP/1.1\r\n\r\n": (403, b"127.0.0.1 is not on the list", b""),
    b"CONNECT localhost:443 HTTP/1.1\r\n\r\n": (403, b"localhost is not on the list", b""),
    b"CONNECT out.example:99999 HTTP/1.1\r\n\r\n": (400, b"'99999' is no port", b""),
    b"GET / HTTP/1.1\r\n\r\n": (400, b"a proxy takes http://HOST/PATH", b""),
    b"GET http://out.example/ HTTP/1.1\r\nHost: x\r\n\r\n": (400, b"another host", b""),
    b"nonsense\r\n\r\n": (400, b"this is an HTTP proxy", b""),
    b"GET http://out.example/ HTTP/1.1\r\nA: %s\r\n\r\n" % (b"x" * 2 * HEAD_BYTES): (431, b"too long", b""),
    b"CONNECT nowhere.example:443 HTTP/1.1\r\n\r\n": (502, b"504 Gateway Timeout", b""),
}


@pytest.mark.parametrize(("sent", "answer"), REFUSED.items(), ids=[str(number) for number in range(len(REFUSED))])
async def test_refusals(user_proxy: UserProxy, sent: bytes, answer: tuple[int, bytes, bytes]) -> None:
    async with client("out.example", "nowhere.example", environ=user_proxy.environ) as c:
        got = await c.say(sent)
    status, words, end = answer
    first_line = got.split(b"\r\n")[0]
    assert first_line.startswith(b"HTTP/1.1 %d " % status)
    assert words in first_line
    assert got.endswith(end)
    assert b"\r\n\r\nPool's sandbox refused this: " in got
    assert words.decode() in c.flows[0].refused
    assert all(head.startswith(b"CONNECT nowhere.example") for head in user_proxy.heads)


async def test_the_person_is_asked_once_about_a_host(user_proxy: UserProxy) -> None:
    asked: list[tuple[str, int]] = []

    async def ask(host: str, port: int) -> bool:
        asked.append((host, port))
        await asyncio.sleep(0.05)
        return host == "yes.example"

    async with client(environ=user_proxy.environ, ask=ask) as c:
        yes = b"CONNECT yes.example:443 HTTP/1.1\r\n\r\n"
        answers = await asyncio.gather(c.say(yes), c.say(yes), c.say(b"CONNECT no.example:443 HTTP/1.1\r\n\r\n"))
        again = await c.say(yes, b"x")
        other_port = await c.say(b"CONNECT yes.example:444 HTTP/1.1\r\n\r\n")
    assert [a.split(b" ")[1] for a in answers] == [b"200", b"200", b"403"]
    assert again.endswith(b"echo x")
    assert other_port.startswith(b"HTTP/1.1 200")
    assert sorted(asked) == [("no.example", 443), ("yes.example", 443), ("yes.example", 444)]


async def test_a_head_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.1)
    async with client() as c:
        assert (await c.say(b"CONNECT a", end=False)).startswith(b"HTTP/1.1 408 ")
        assert await c.say(b"CONNECT a") == b""
    assert [flow.refused for flow in c.flows] == ["the request did not come to its end"]


async def test_much_data_does_not_pile_up(user_proxy: UserProxy) -> None:
    data = b"x" * 3_000_000
    async with client("out.example", environ=user_proxy.environ) as c:
        answer = await c.say(b"CONNECT out.example:443 HTTP/1.1\r\n\r\n", data)
    assert len(answer) > len(data)
    assert c.flows[0].sent == len(data)
    assert c.flows[0].received == len(data) + len("echo ")
