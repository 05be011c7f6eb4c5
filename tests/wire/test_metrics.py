from __future__ import annotations

from pathlib import Path

import pytest

from pool.wire.dialects import ServerKind, for_server
from pool.wire.endpoint import parse_endpoint
from pool.wire.metrics import ServerLoad, fetch_load, load_of, read_metrics
from pool.wire.transport import Transport
from tests.wire.scripted import Exchange, ScriptedServer

RECORDINGS = Path(__file__).parent / "recordings"
QUEUED = """# HELP vllm:num_requests_running x
vllm:num_requests_running{engine="0",model_name="a"} 1.0
vllm:num_requests_running{engine="1",model_name="a{b} 7"} 2.0
vllm:num_requests_waiting{engine="0"} 3.0 1700000000
vllm:num_requests_waiting_by_reason{reason="capacity"} 99
plain_total 5
broken
broken{x="y"}
not_a_number nope
"""


def test_values_are_summed_over_labels() -> None:
    values = read_metrics(QUEUED)
    assert values["vllm:num_requests_running"] == 3
    assert values["plain"] == 5
    assert not any("broken" in name or "not_a" in name for name in values)
    assert load_of(values, for_server(ServerKind.VLLM)) == ServerLoad(running=3, waiting=3)


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("metrics-vllm-0.25.1.txt", ServerKind.VLLM),
        ("metrics-vllm-0.32.0.txt", ServerKind.VLLM),
        ("metrics-llamacpp-b11549.txt", ServerKind.LLAMACPP),
    ],
)
def test_recorded_metrics_have_the_names_that_the_dialect_looks_for(file: str, kind: ServerKind) -> None:
    values = read_metrics((RECORDINGS / file).read_text())
    assert load_of(values, for_server(kind)) == ServerLoad(0, 0)


async def test_asking_a_server() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.reply(200 if exchange.path == "/metrics" else 404, QUEUED, {"Content-Type": "text/plain"})

    async with ScriptedServer(handler) as server, Transport(parse_endpoint(server.url)) as transport:
        vllm = for_server(ServerKind.VLLM)
        assert await fetch_load(transport, vllm, 2) == ServerLoad(3, 3)
        assert await fetch_load(transport, for_server(ServerKind.SGLANG), 2) is None
        assert await fetch_load(transport, for_server(ServerKind.OLLAMA), 2) is None
        assert len(server.requests) == 2
    async with Transport(parse_endpoint("127.0.0.1:9")) as transport:
        assert await fetch_load(transport, vllm, 2) is None
