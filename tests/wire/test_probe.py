"""Probing real sockets: what is asked, how long it takes, and that nothing a server does can hurt."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from pathlib import Path

import pytest

from pool.wire.dialects import ServerKind
from pool.wire.endpoint import parse_endpoint
from pool.wire.probe import discover, probe
from pool.wire.transport import Transport
from tests.wire.scripted import Exchange, ScriptedServer

RECORDINGS = Path(__file__).parent / "recordings"
NOT_FOUND = {"detail": "Not Found"}


async def vllm(exchange: Exchange) -> None:
    folder = RECORDINGS / "vllm-0.25.1"
    bodies = {"/v1/models": folder / "G1-models", "/version": folder / "G2-version"}
    if exchange.path in bodies:
        await exchange.reply(200, (bodies[exchange.path] / "response.body").read_bytes())
    elif exchange.path == "/metrics":
        text = (RECORDINGS / "metrics-vllm-0.25.1-speculative.txt").read_text()
        await exchange.reply(200, text, {"Content-Type": "text/plain"})
    else:
        await exchange.reply_json(NOT_FOUND, 404)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


async def test_a_vllm_server_is_recognised_by_gets_alone() -> None:
    async with ScriptedServer(vllm) as server, Transport(parse_endpoint(server.url)) as transport:
        info = await probe(transport, None)
        assert (info.kind, info.version, info.window, info.speculation) == (ServerKind.VLLM, "0.25.1", 4096, True)
        assert info.reachable
        assert {exchange.method for exchange in server.requests} == {"GET"}
        assert len({exchange.path for exchange in server.requests}) == len(server.requests)


async def test_addresses_that_never_answer_cost_one_limit_in_all() -> None:
    async def handler(exchange: Exchange) -> None:
        if exchange.path == "/v1/models":
            await exchange.reply_json({"data": [{"id": "m", "max_model_len": 131072}]})
        else:
            await exchange.client_closed()
            exchange.keep = False

    async with ScriptedServer(handler) as server, Transport(parse_endpoint(server.url)) as transport:
        begun = time.monotonic()
        info = await probe(transport, "m", limit_seconds=0.4)
        assert time.monotonic() - begun < 2 * 0.4 + 0.5
    assert (info.kind, info.model, info.window, info.notes) == (ServerKind.GENERIC, "m", 131072, ())


@pytest.mark.parametrize("body", ["<html>hi</html>", "{", "[]", '"x"', "null", "\x00"])
async def test_a_server_that_answers_everything_alike_does_no_harm(body: str) -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.reply(200, body)

    async with ScriptedServer(handler) as server, Transport(parse_endpoint(server.url)) as transport:
        info = await probe(transport, "m")
    assert (info.kind, info.model, info.window) == (ServerKind.GENERIC, "m", 0)
    assert info.reachable
    assert info.notes


async def test_a_key_that_is_refused_is_said_and_not_shown() -> None:
    async def handler(exchange: Exchange) -> None:
        if exchange.path == "/version":
            await exchange.reply_json({"version": "0.25.1"})
        else:
            await exchange.reply_json({"error": f"Unauthorized {exchange.headers['authorization']}"}, 401)

    async with (
        ScriptedServer(handler) as server,
        Transport(parse_endpoint(server.url, "sk-unique-4711")) as transport,
    ):
        info = await probe(transport, None)
    assert (info.kind, info.locked, info.reachable) == (ServerKind.VLLM, True, True)
    assert "POOL_API_KEY" in info.notes[0]
    assert "4711" not in " ".join(info.notes)


async def test_nobody_there() -> None:
    async with Transport(parse_endpoint(f"127.0.0.1:{free_port()}")) as transport:
        info = await probe(transport, "m")
    assert not info.reachable
    assert info.model == "m"
    assert len(info.notes) == 1
    assert "start the server" in info.notes[0]


async def test_discovery_finds_servers_and_passes_over_everything_else() -> None:
    async def locked(exchange: Exchange) -> None:
        await exchange.reply_json({"error": "Unauthorized"}, 401)

    async def website(exchange: Exchange) -> None:
        await exchange.reply(200, "<html>hello</html>", {"Content-Type": "text/html"})

    async def mute(exchange: Exchange) -> None:
        await exchange.client_closed()
        exchange.keep = False

    async with (
        ScriptedServer(vllm) as first,
        ScriptedServer(locked) as second,
        ScriptedServer(website) as third,
        ScriptedServer(mute) as fourth,
    ):
        ports = (second.port, free_port(), third.port, fourth.port, first.port)
        begun = time.monotonic()
        found = await discover(ports)
        assert time.monotonic() - begun < 1.5
    assert [server.port for server in found] == [second.port, first.port]
    assert "wants an API key" in found[0].words
    assert found[1].words == f"port {first.port}: vLLM 0.25.1: laguna-test, window 4,096 tokens"
    assert found[1].base_url == first.url


async def test_a_probe_can_be_cancelled() -> None:
    async def mute(exchange: Exchange) -> None:
        await exchange.client_closed()
        exchange.keep = False

    async with ScriptedServer(mute) as server, Transport(parse_endpoint(server.url)) as transport:
        task = asyncio.create_task(probe(transport, None, limit_seconds=30))
        while len(server.requests) < 3:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_hosted_service_is_asked_for_its_models_only(monkeypatch: pytest.MonkeyPatch) -> None:
    async def gateway(exchange: Exchange) -> None:
        await exchange.reply(200, json.dumps({"data": [{"id": "poolside/laguna-s", "context_length": 262144}]}))

    async with ScriptedServer(gateway) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("NO_PROXY", "")
        monkeypatch.setenv("no_proxy", "")
        async with Transport(parse_endpoint("http://openrouter.ai/api/v1")) as transport:
            info = await probe(transport, "laguna-s")
        assert [exchange.path for exchange in proxy.requests] == ["http://openrouter.ai/api/v1/models"]
    assert (info.kind, info.window) == (ServerKind.OPENROUTER, 262144)
