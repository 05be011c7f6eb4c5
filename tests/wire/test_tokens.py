from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.wire.dialects import ServerKind, TokenizerKind
from pool.wire.endpoint import parse_endpoint
from pool.wire.identify import ServerInfo
from pool.wire.request import Head, RequestBuilder
from pool.wire.tokens import (
    ASCII_BYTES_PER_TOKEN,
    FIRST_MARGIN,
    WIDE_BYTES_PER_TOKEN,
    ExactCount,
    PartSizes,
    TokenMeter,
    count_exact,
    count_offline,
    raw_tokens,
)
from pool.wire.transport import Transport
from tests.wire.scripted import Exchange, ScriptedServer

WORDS = "def read the file and return value if not found in path else raise error for each line with open as".split()
JAPANESE = "ファイルを読み込んでテストを実行してください。関数の戻り値が間違っています。"


def prose(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(words))


def body(messages: list[str]) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": m} for m in messages]}, ensure_ascii=False).encode()


def real(data: bytes) -> int:
    """Stands for the server's tokenizer: cl100k over the same bytes, plus the template's fixed part."""
    return count_offline(data.decode()) + 40


def test_the_default_knows_japanese_from_source_text() -> None:
    assert raw_tokens(b"x" * 360) == pytest.approx(360 / ASCII_BYTES_PER_TOKEN)
    assert raw_tokens(JAPANESE.encode()) == pytest.approx(len(JAPANESE.encode()) / WIDE_BYTES_PER_TOKEN)
    for text in (JAPANESE * 20, prose(random.Random(1), 2000)):
        data = body([text])
        estimate = TokenMeter().estimate(data)
        assert estimate.margin == pytest.approx(estimate.tokens * FIRST_MARGIN, abs=1)
        assert abs(estimate.tokens - real(data)) <= 0.35 * real(data)


def test_estimates_of_a_growing_conversation_come_close() -> None:
    rng = random.Random(5)
    meter, messages = TokenMeter(), [prose(rng, 3000)]
    off: list[float] = []
    for turn in range(20):
        data = body(messages)
        estimate, actual = meter.estimate(data), real(data)
        if turn > 3:
            off.append(abs(estimate.tokens - actual) / actual)
        meter.learn(data, actual)
        messages.append(prose(rng, rng.randint(20, 600)) if turn % 3 else JAPANESE * rng.randint(1, 12))
    assert max(off) < 0.02
    assert meter.errors.samples > 5
    assert 0 < meter.errors.mean <= meter.errors.worst


def test_what_the_server_counted_is_taken_over_as_it_is() -> None:
    meter = TokenMeter()
    data = body(["x" * 40_000])
    meter.learn(data, 9_000)
    estimate = meter.estimate(data)
    assert (estimate.tokens, estimate.margin, estimate.upper) == (9_000, 0, 9_000)


def test_after_a_compaction_the_learned_ratio_still_holds() -> None:
    meter = TokenMeter()
    meter.learn(b"x" * 90_000, 30_000)
    assert meter.estimate(b"x" * 9_000).tokens == pytest.approx(3_000, rel=0.01)
    assert meter.estimate(b"x" * 9_000).margin > 0


def test_a_prompt_that_the_server_cut_is_noticed_and_teaches_nothing() -> None:
    meter = TokenMeter()
    data = b"x" * 43_000
    before = meter.estimate(data)
    assert meter.shortfall(data, 2046)
    meter.learn(data, 2046)
    assert meter.estimate(data) == before
    longer = b"x" * 60_000
    assert meter.shortfall(longer, 2048), "the count stands still while the prompt grows"
    assert not meter.shortfall(data, before.tokens)
    assert not meter.shortfall(b"x" * 3_000, 100), "too short to judge"
    assert not meter.shortfall(data, 0), "no count"


def test_a_tokenizer_that_is_better_than_thought_is_no_cut() -> None:
    meter = TokenMeter()
    first, second = b"x" * 43_000, b"x" * 60_000
    assert meter.shortfall(first, 5_000)
    meter.learn(first, 5_000)
    assert not meter.shortfall(second, 7_000)
    meter.learn(second, 7_000)
    assert meter.estimate(second).tokens == 7_000
    assert not meter.shortfall(b"x" * 80_000, 9_300)


@pytest.mark.parametrize("lie", [1, 40, 100_000, 2**39])
def test_a_count_that_cannot_be_true_teaches_nothing(lie: int) -> None:
    meter, data = TokenMeter(), b"x" * 7_000
    before = meter.estimate(data)
    assert not meter.credible(data, lie)
    meter.learn(data, lie)
    assert meter.estimate(data) == before
    meter.learn(data, 2_000)
    meter.learn(data + b"x" * 500, lie)
    assert meter.estimate(data).tokens == 2_000
    assert meter.credible(data, 2_000)


@given(
    st.lists(st.tuples(st.binary(max_size=30_000), st.integers(-5, 300_000)), max_size=12), st.binary(max_size=20_000)
)
def test_no_history_makes_an_estimate_absurd(history: list[tuple[bytes, int]], data: bytes) -> None:
    meter = TokenMeter()
    for seen, count in history:
        meter.learn(seen, count)
    estimate = meter.estimate(data)
    known = max([count for _, count in history], default=0)
    assert 0 <= estimate.tokens <= max(known, 0) + 3.1 * len(data) + 1
    assert estimate.margin >= 0
    assert meter.errors.worst >= meter.errors.mean >= 0


REQUEST = {
    "model": "m",
    "messages": [{"role": "user", "content": "日本"}],
    "tools": [{"type": "function"}],
    "chat_template_kwargs": {"enable_thinking": True},
    "temperature": 0.7,
    "stream": True,
}


async def counted(kind: ServerKind, tokenizer: TokenizerKind, replies: dict[str, Any]) -> tuple[Any, list[Exchange]]:
    async def handler(exchange: Exchange) -> None:
        status = 200 if exchange.path in replies else 404
        await exchange.reply_json(replies.get(exchange.path, {"detail": "Not Found"}), status)

    async with ScriptedServer(handler) as server, Transport(parse_endpoint(server.url)) as transport:
        info = ServerInfo(kind=kind, tokenizer=tokenizer)
        return await count_exact(transport, info, REQUEST, 2), server.requests


async def test_vllm_counts_a_chat_in_one_call() -> None:
    reply = {"count": 19, "max_model_len": 4096, "tokens": [1, 2]}
    count, requests = await counted(ServerKind.VLLM, TokenizerKind.CHAT, {"/tokenize": reply})
    assert count == ExactCount(19, 4096)
    sent = json.loads(requests[0].body)
    assert sent["add_generation_prompt"] is True
    assert sent["chat_template_kwargs"] == {"enable_thinking": True}
    assert "temperature" not in sent
    assert "stream" not in sent


async def test_llamacpp_counts_in_two_calls() -> None:
    replies = {"/apply-template": {"prompt": "<user>hi"}, "/tokenize": {"tokens": [5, 6, 7]}}
    count, requests = await counted(ServerKind.LLAMACPP, TokenizerKind.TEMPLATE, replies)
    assert count == ExactCount(3, 0)
    assert json.loads(requests[1].body) == {"content": "<user>hi", "parse_special": True}


@pytest.mark.parametrize("reply", [{}, {"count": "x"}, {"count": 0}, [], {"tokens": "x"}])
async def test_a_server_that_cannot_count_is_no_error(reply: Any) -> None:
    count, _ = await counted(ServerKind.VLLM, TokenizerKind.CHAT, {"/tokenize": reply})
    assert count is None
    for tokenizer in TokenizerKind:
        count, requests = await counted(ServerKind.VLLM, tokenizer, {})
        assert count is None
        assert len(requests) == (tokenizer is not TokenizerKind.NONE)


def test_the_offline_table_takes_any_text() -> None:
    assert count_offline("hello world") == 2
    assert count_offline("<|endoftext|>") > 1, "special tokens in a file are plain text"


def test_tiktoken_is_imported_only_when_asked_for() -> None:
    code = "import sys; import pool.wire.tokens; print('tiktoken' in sys.modules, 'httpx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@given(st.lists(st.lists(st.text(max_size=30).map(str.encode), max_size=6), max_size=6))
def test_the_sum_of_the_parts_is_the_size_of_the_request(requests: list[list[bytes]]) -> None:
    sizes = PartSizes()
    builder = RequestBuilder(Head("m", True))
    frame = builder.build((), max_tokens=100)
    for messages in requests:
        whole = raw_tokens(builder.build(messages, max_tokens=100))
        assert raw_tokens(frame) + sizes.total(messages) == pytest.approx(whole)


def test_messages_that_are_gone_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = PartSizes()
    long = [b"message %d" % number for number in range(1000)]
    sizes.total(long)
    looked: list[bytes] = []

    def look(message: bytes) -> float:
        looked.append(message)
        return 1.0

    monkeypatch.setattr("pool.wire.tokens.raw_tokens", look)
    sizes.total(long)
    assert looked == [], "each message is looked at once"
    sizes.total(long[:10])
    sizes.total(long[:20])
    assert looked == long[:20], "what a compaction left is looked at once more, the rest is forgotten"
