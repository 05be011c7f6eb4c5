"""Whether a prompt is read twice: told in usage, counted in the metrics, or seen by the time."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise

import pytest

from pool.lab.doctor.finding import Status
from pool.sim.process import running
from pool.sim.settings import SimSettings
from pool.wire.tokens import raw_tokens
from tests.lab.doctor.servers import Json, Said, Script, made, of_script, of_sim, subject_at, vllm
from tests.wire.scripted import Exchange, ScriptedServer

FLAG = "--enable-prompt-tokens-details"


def counters(queries: int, hits: int) -> str:
    return f"vllm:prefix_cache_queries_total {queries}\nvllm:prefix_cache_hits_total {hits}\n"


async def test_told() -> None:
    found = (await of_sim("cache"))["cache"]
    assert found.status is Status.OK
    assert found.data["cached_first"] == 0
    assert found.data["cached_second"] > 1_000


async def test_not_told_but_counted() -> None:
    found = (await of_sim("cache", prompt_token_details=False))["cache"]
    assert (found.status, found.remedy) == (Status.WARN, FLAG)
    assert "not told by the server" in found.words
    assert found.data["counted_hits"] > 1_000


async def test_not_told_nor_counted_but_seen_by_the_time() -> None:
    script = Script(documents=vllm())
    slow = True

    async def handle(exchange: Exchange) -> None:
        nonlocal slow
        if exchange.path == "/v1/chat/completions" and len(exchange.body) > 4_000:
            await asyncio.sleep(0.6 if slow else 0)
            slow = False
        await script.handle(exchange)

    async with ScriptedServer(handle) as server, subject_at(server.url) as subject:
        found = (await made(subject, "cache"))["cache"]
    assert (found.status, found.remedy) == (Status.WARN, FLAG)
    assert "by the times it seems to work" in found.words


CASES: list[tuple[str, int | None, list[str], Status, str, str]] = [
    ("told, none", 0, [], Status.FAIL, "the same prompt was read again, 0 tokens", "--enable-prefix-caching"),
    ("told, little", 64, [], Status.FAIL, "64 tokens of it from the cache", "--enable-prefix-caching"),
    (
        "counted, none",
        None,
        [counters(5000, 7), counters(6500, 7)],
        Status.FAIL,
        "was read again",
        "--enable-prefix-caching",
    ),
    ("counters stand", None, [counters(5000, 7)], Status.WARN, "the times do not show it", FLAG),
    ("nothing", None, [], Status.WARN, "the times do not show it", FLAG),
]


@pytest.mark.parametrize(
    ("cached", "metrics", "status", "words", "remedy"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
async def test_servers(cached: int | None, metrics: list[str], status: Status, words: str, remedy: str) -> None:
    # The probe reads the metrics once before the check does.
    pages = [metrics[0], *metrics] if metrics else []
    script = Script(lambda body: Said("Yes.", counted=1500, cached=cached), vllm(), pages)
    found = (await of_script(script, "cache"))["cache"]
    assert (found.status, found.remedy) == (status, remedy), found.words
    assert words in found.words


async def test_the_prompt_is_new_each_time_and_fits_a_small_window() -> None:
    with running(SimSettings(max_model_len=1_000)) as sim:
        for _ in range(2):
            async with subject_at(sim.url) as subject:
                found = (await made(subject, "cache"))["cache"]
                assert found.data["cached_first"] == 0
                assert found.status is Status.OK
    long = [body for body in sim.seen if len(str(body)) > 1_000]
    assert len(long) == 4
    same = [str(a["messages"]) == str(b["messages"]) for a, b in pairwise(long)]
    assert same == [True, False, True]


async def test_the_prompt_has_about_the_length_that_it_should() -> None:
    sizes: list[float] = []

    def say(body: Json) -> Said:
        sizes.append(raw_tokens(json.dumps(body["messages"]).encode()))
        return Said("Yes.")

    await of_script(Script(say, vllm()), "cache")
    assert 1_400 < max(sizes) < 1_800
