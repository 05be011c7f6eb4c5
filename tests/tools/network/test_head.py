"""Requests to the proxy, and attempts to make two readers understand them differently."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool_tools.network.head import Refused, Request, parse


def request(*lines: str) -> Request:
    return parse("\r\n".join([*lines, "", ""]).encode("latin-1"))


def refused(*lines: str) -> Refused:
    with pytest.raises(Refused) as error:
        request(*lines)
    return error.value


def test_tunnels() -> None:
    assert request("CONNECT Example.org:443 HTTP/1.1", "Host: x") == Request(b"CONNECT", "example.org", 443)
    assert request("CONNECT example.org.:443 HTTP/1.0").host == "example.org"
    asked = request("CONNECT [2001:DB8::1]:8443 HTTP/1.1")
    assert (asked.host, asked.port, asked.tunnel, asked.authority) == ("2001:db8::1", 8443, True, "[2001:db8::1]:8443")


@pytest.mark.parametrize(
    "target",
    [
        *("example.org", "example.org:", "example.org:0", "example.org:65536", "example.org:4 43", "example.org:443/"),
        *(":443", "example.org:+443", "example.org:0x1bb", "user@example.org:443", "http://example.org:443", "[::1"),
        *("[example.org]:443", "::1:443", "2130706433:443", "127.1:443", "a..b:443", "[::1%25lo]:443", "*:443", "/"),
    ],
)
def test_tunnels_to_nowhere(target: str) -> None:
    assert refused(f"CONNECT {target} HTTP/1.1").status == 400


def test_a_plain_request_is_written_anew() -> None:
    asked = request(
        "POST http://Example.org:8080?q=1 HTTP/1.1",
        "Host: example.org:8080",
        "Accept: */*",
        "Proxy-Connection: keep-alive",
        "Proxy-Authorization: Basic abc",
        "Connection: X-Hop, close",
        "X-Hop: 1",
        "Upgrade: websocket",
        "Content-Length: 3",
    )
    assert (asked.host, asked.port, asked.length) == ("example.org", 8080, 3)
    assert asked.encode() == (
        b"POST /?q=1 HTTP/1.1\r\nHost: example.org:8080\r\nAccept: */*\r\n"
        b"Content-Length: 3\r\nConnection: close\r\n\r\n"
    )
    assert asked.encode(absolute=True, extra=b"A: b\r\n").startswith(b"POST http://example.org:8080/?q=1 HTTP/1.1\r\n")
    assert asked.encode(absolute=True, extra=b"A: b\r\n").endswith(b"Connection: close\r\nA: b\r\n\r\n")


def test_the_body_stays_described_whatever_connection_names() -> None:
    asked = request("POST http://a.example/ HTTP/1.1", "Connection: content-length", "Content-Length: 3")
    assert b"Content-Length: 3\r\n" in asked.encode()


PLAIN = "GET http://example.org/ HTTP/1.1"


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["GET / HTTP/1.1", "Host: example.org"], 400),
        (["GET https://example.org/ HTTP/1.1"], 400),
        (["GET ftp://example.org/ HTTP/1.1"], 400),
        (["GET http://user:pw@example.org/ HTTP/1.1"], 400),
        (["GET http://example.org\\@evil.test/ HTTP/1.1"], 400),
        (["GET http:///path HTTP/1.1"], 400),
        (["GET http://example.org/#a HTTP/1.1"], 400),
        (["GET http://example.org/ HTTP/2"], 400),
        (["GET  http://example.org/ HTTP/1.1"], 400),
        (["GET http://example.org/ x HTTP/1.1"], 400),
        (["G\x00T http://example.org/ HTTP/1.1"], 400),
        ([PLAIN, "Host: evil.test"], 400),
        ([PLAIN, "Host: example.org:81"], 400),
        ([PLAIN, "Host: example.org", "Host: example.org"], 400),
        ([PLAIN, "Host: "], 400),
        ([PLAIN, "Host: ex\xe4mple.org"], 400),
        ([PLAIN, "Host : example.org"], 400),
        ([PLAIN, " folded: x"], 400),
        ([PLAIN, "A: b", "\tcontinued"], 400),
        ([PLAIN, "no colon"], 400),
        ([PLAIN, "A: b\nHost: evil.test"], 400),
        ([PLAIN, "A: b\rHost: evil.test"], 400),
        ([PLAIN, "A: b\0"], 400),
        ([PLAIN, "Content-Length: 3", "Content-Length: 3"], 400),
        ([PLAIN, "Content-Length: 3, 3"], 400),
        ([PLAIN, "Content-Length: +3"], 400),
        ([PLAIN, "Content-Length: -3"], 400),
        ([PLAIN, "Content-Length: 0x3"], 400),
        ([PLAIN, "Content-Length: "], 400),
        ([PLAIN, "Transfer-Encoding: chunked"], 411),
        ([PLAIN, "Transfer-Encoding: chunked", "Content-Length: 3"], 411),
        ([PLAIN, "transfer-encoding: identity, chunked"], 411),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(lines: list[str], status: int) -> None:
    assert refused(*lines).status == status


def test_other_programs_that_speak_to_the_port() -> None:
    for data in (b"\x16\x03\x01\r\n\r\n", b"SSH-2.0-x\r\n\r\n", b"\r\n\r\n", b"\x05\x01\x00\r\n\r\n"):
        with pytest.raises(Refused):
            parse(data)


@given(st.lists(st.binary(max_size=30), max_size=4), st.sampled_from([b"CONNECT a.example:443", PLAIN[:-9].encode()]))
def test_heads_are_read_or_refused(lines: list[bytes], start: bytes) -> None:
    try:
        asked = parse(b"\r\n".join([start + b" HTTP/1.1", *lines]) + b"\r\n\r\n")
    except Refused:
        return
    sent = asked.encode()
    assert sent.count(b"\r\n\r\n") == 1 or asked.tunnel
    assert sent.lower().count(b"\r\nhost:") == 1
