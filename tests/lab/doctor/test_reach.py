"""Reaching a server and knowing it: what is said of servers that are away, closed, unknown or old."""

from __future__ import annotations

import socket

import pytest

from pool.lab.doctor.finding import Status
from pool.lab.doctor.remedies import START
from pool.wire.dialects import ServerKind
from pool.wire.identify import ServerInfo
from pool.wire.probe import Found
from tests.lab.doctor.servers import Script, llamacpp, made, models, of_script, of_sim, subject_at, vllm
from tests.wire.scripted import Exchange, ScriptedServer


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


async def test_nothing_listens() -> None:
    async with subject_at(f"http://127.0.0.1:{free_port()}") as subject:
        found = (await made(subject, "reachable"))["reachable"]
    assert found.status is Status.FAIL
    assert "nothing listens" in found.words
    assert found.remedy == START
    assert found.data["away"] is True


async def test_a_search_that_found_nothing() -> None:
    async with subject_at("http://127.0.0.1:8000", found=[]) as subject:
        found = (await made(subject, "server"))["reachable"]
    assert found.status is Status.FAIL
    assert "no model server answers on this machine (ports 8000, 30000, 8080, 11434, 1234)" in found.words
    assert found.data["away"] is True


async def test_a_search_names_the_others() -> None:
    async with ScriptedServer(Script(documents=vllm()).handle) as server:
        found = [Found(1, "a", ServerInfo(), "first"), Found(2, "b", ServerInfo(), "port 2: Ollama: m, window unknown")]
        async with subject_at(server.url, found=found) as subject:
            reached = (await made(subject, "reachable"))["reachable"]
    assert reached.words.endswith("; also on this machine: port 2: Ollama: m, window unknown")


LOADING = '{"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}'
ANSWERS = [
    (503, LOADING, "application/json", True, "until curl -sf "),
    (500, '{"error": "boom"}', "application/json", True, "curl -v "),
    (401, '{"error": "Unauthorized"}', "application/json", False, "export POOL_API_KEY=KEY"),
    (200, "<html>Login</html>", "text/html", False, "export POOL_BASE_URL="),
    (404, '{"detail": "Not Found"}', "application/json", False, "export POOL_BASE_URL="),
]


@pytest.mark.parametrize(("status", "body", "kind", "away", "remedy"), ANSWERS)
async def test_answers_that_are_no_server(status: int, body: str, kind: str, away: bool, remedy: str) -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.reply(status, body, {"Content-Type": kind})

    async with ScriptedServer(handler) as server, subject_at(server.url) as subject:
        found = (await made(subject, "reachable"))["reachable"]
    assert found.status is Status.FAIL
    assert found.data["away"] is away
    assert found.remedy.startswith(remedy)
    assert "\n" not in found.remedy


async def test_an_address_is_quoted_in_a_line_to_paste() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.reply(503, LOADING)

    async with ScriptedServer(handler) as server, subject_at(f"{server.url[:-3]}/$(reboot)/v1") as subject:
        found = (await made(subject, "reachable"))["reachable"]
    assert "'http://127.0.0.1" in found.remedy
    assert "$(reboot)/v1/models'" in found.remedy


async def test_servers_are_named() -> None:
    assert (await of_sim("server"))["server"].words == "vLLM 0.25.1; no speculative decoding"
    llama = (await of_script(Script(documents=llamacpp()), "server"))["server"]
    assert (llama.status, llama.words) == (Status.OK, "llama.cpp b11549")
    assert llama.data["kind"] == ServerKind.LLAMACPP.value


async def test_an_unknown_server_is_yellow() -> None:
    found = (await of_script(Script(documents={"/v1/models": models("m")}), "server"))["server"]
    assert found.status is Status.WARN
    assert "does not know" in found.words


@pytest.mark.parametrize(
    ("model", "version", "status"),
    [
        ("poolside/Laguna-S-2.1", "0.24.0", Status.FAIL),
        ("poolside/Laguna-S-2.1", "0.25.1", Status.OK),
        ("poolside/Laguna-S-2.1", "0.100.0.dev3", Status.OK),
        ("poolside/Laguna-S-2.1", "main", Status.OK),
        ("qwen", "0.24.0", Status.OK),
    ],
)
async def test_a_vllm_that_is_too_old_for_laguna(model: str, version: str, status: Status) -> None:
    found = (await of_script(Script(documents=vllm(model, version=version)), "server"))["server"]
    assert found.status is status
    assert found.remedy == ("pip install --upgrade vllm" if status is Status.FAIL else "")
