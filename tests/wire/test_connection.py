"""Connections that do not come about, each on a real socket."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from pool.wire.connection import classify_exception
from pool.wire.endpoint import parse_endpoint
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.transport import Transport
from tests.wire.scripted import Exchange, ScriptedServer


async def failure(address: str, ca_file: str = "") -> ServerProblem:
    async with Transport(parse_endpoint(address), ca_file=ca_file) as transport:
        with pytest.raises(ServerProblem) as caught:
            async with transport.open("chat/completions", b"{}"):
                pytest.fail("there was an answer")
    return caught.value


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def answer(exchange: Exchange) -> None:
    await exchange.reply_json({"fine": True})


async def test_nothing_listens() -> None:
    for host in ("127.0.0.1", "localhost"):
        problem = await failure(f"http://me:hunter22@{host}:{free_port()}")
        assert (problem.kind, problem.received) == (ProblemKind.REFUSED, False)
        assert host in problem.message
        assert "hunter22" not in f"{problem}{problem.remedy}"
        assert "start the server" in problem.remedy


async def test_an_unknown_host_name() -> None:
    problem = await failure("http://no-such-host.invalid:8000")
    assert problem.kind is ProblemKind.UNREACHABLE
    assert "no-such-host.invalid" in problem.message


async def test_https_to_a_server_that_speaks_plain_http() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        problem = await failure(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert problem.kind is ProblemKind.NOT_A_SERVER
    assert "http://" in problem.remedy


async def test_plain_http_to_something_that_does_not_speak_http() -> None:
    async def banner(exchange: Exchange) -> None:
        await exchange.send(b"220 mail.example ESMTP\r\n")
        exchange.drop()

    async with ScriptedServer(banner) as server:
        problem = await failure(server.url)
    assert problem.kind is ProblemKind.DROPPED


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
async def test_a_private_authority_is_trusted_only_if_it_is_named(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=test"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    async with ScriptedServer(answer, tls=tls) as server:
        problem = await failure(server.url)
        assert problem.kind is ProblemKind.NOT_A_SERVER
        assert "certificate" in problem.message
        assert "SSL_CERT_FILE" in problem.remedy
        async with Transport(parse_endpoint(server.url), ca_file=str(certificate)) as transport:
            assert await transport.get_json("/x", 5) == {"fine": True}


@pytest.mark.parametrize(
    ("exc", "kind"),
    [
        (httpx.ConnectTimeout(""), ProblemKind.UNREACHABLE),
        (httpx.ReadTimeout(""), ProblemKind.TIMEOUT),
        (httpx.WriteTimeout(""), ProblemKind.TIMEOUT),
        (httpx.ProxyError("407 Proxy Authentication Required"), ProblemKind.UNREACHABLE),
        (httpx.ReadError(""), ProblemKind.DROPPED),
        (httpx.RemoteProtocolError("peer closed connection"), ProblemKind.DROPPED),
        (httpx.LocalProtocolError("Illegal header value"), ProblemKind.BAD_REQUEST),
        (httpx.ConnectError("all attempts failed"), ProblemKind.UNREACHABLE),
    ],
)
def test_every_kind_of_exception_has_words_and_a_remedy(exc: Exception, kind: ProblemKind) -> None:
    problem = classify_exception(exc, parse_endpoint("h"), received=True)
    assert problem.kind is kind
    assert problem.message
    assert problem.remedy
    assert problem.received
