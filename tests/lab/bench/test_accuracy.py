"""Measured speeds against a simulator of known speed, in virtual time: nothing but the arithmetic can be wrong."""

from __future__ import annotations

import asyncio
import json
import selectors
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.lab.bench.counters import read_counters, speculation_between
from pool.lab.bench.exchange import measured
from pool.lab.bench.figures import tokens_of_step
from pool.lab.bench.timeline import Sample
from pool.sim.chat import Chat
from pool.sim.chunks import DONE, encode, stream
from pool.sim.faults import Faults
from pool.sim.metrics import Metrics
from pool.sim.settings import SimSettings, StepSizes
from pool.wire.dialects import ServerKind
from pool.wire.transport import Transport

TOKENS = 256
STEP_SECONDS = 0.020
LIMIT_SECONDS = 1_000.0
EXACT = 0.01

Pieces = Callable[[list[bytes]], Iterator[tuple[int, bytes]]]
"""Events in, pieces of the body out, each with the number of the event whose time it has."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next deadline instead of waiting for it."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.now


class _Jumping(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        self._loop.now += max(0.0, timeout or 0.0)
        return super().select(0)


class Piped:
    """A transport whose other end is the simulator's engine; merge: so many events go out at a time, late."""

    def __init__(self, chat: Chat, merge: int, *, by_byte: bool) -> None:
        self._chat, self._merge, self._by_byte = chat, merge, by_byte

    @asynccontextmanager
    async def open(self, path: str, body: bytes) -> AsyncGenerator[Any]:
        prepared = self._chat.prepare(json.loads(body), 1, Faults((), 1))
        yield SimpleNamespace(aiter_raw=lambda: self._pieces(stream(prepared.answer, prepared.steps)))

    async def _pieces(self, chunks: AsyncGenerator[dict[str, Any]]) -> AsyncIterator[bytes]:
        held: list[bytes] = []
        async for chunk in chunks:
            held.append(encode(chunk))
            if len(held) >= self._merge:
                for piece in self._cut(b"".join(held)):
                    yield piece
                held = []
        yield b"".join([*held, DONE])

    def _cut(self, data: bytes) -> list[bytes]:
        return [data[at : at + 1] for at in range(len(data))] if self._by_byte else [data]


def measure(
    monkeypatch: pytest.MonkeyPatch, told: SimSettings, *, merge: int = 1, by_byte: bool = False, counted: bool = True
) -> tuple[Sample, str]:
    """A reply of `TOKENS` of a simulator, measured, and the simulator's metrics afterwards."""
    loop = VirtualLoop()
    monkeypatch.setattr("pool.sim.engine.time", SimpleNamespace(monotonic=loop.time))
    metrics = Metrics(told.model, told.steps.drafts)
    piped = Piped(Chat(told, metrics), merge, by_byte=by_byte)
    options = {"include_usage": True, "continuous_usage_stats": counted}
    body = {
        "messages": [{"role": "user", "content": "Say something."}],
        "max_tokens": TOKENS,
        "ignore_eos": True,
        "stream": True,
        "stream_options": options,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    try:
        found = loop.run_until_complete(
            measured(cast(Transport, piped), "chat/completions", json.dumps(body).encode(), LIMIT_SECONDS)
        )
    finally:
        loop.close()
    return found, metrics.render()


@pytest.mark.parametrize("by_byte", [False, True], ids=["events", "bytes"])
@pytest.mark.parametrize("merge", [1, 3])
def test_every_depth_and_chunking(monkeypatch: pytest.MonkeyPatch, merge: int, by_byte: bool) -> None:
    for depth in (0, 6, 15) if by_byte else range(16):
        told = SimSettings(step_ms=STEP_SECONDS * 1000, steps=StepSizes(depth + 1, depth + 1), prefill_rate=1_000)
        found, metrics = measure(monkeypatch, told, merge=merge, by_byte=by_byte)
        assert found.written == TOKENS
        assert found.exact
        assert found.decode_rate == pytest.approx((depth + 1) / STEP_SECONDS, rel=EXACT)
        if merge == 1:
            assert found.first == pytest.approx(found.prompt / 1_000, rel=EXACT)
        if depth:
            drafted = speculation_between(read_counters(""), read_counters(metrics), ServerKind.VLLM)
            assert drafted is not None
            assert drafted.depth == depth
            assert drafted.with_bonus == pytest.approx(TOKENS / -(-TOKENS // (depth + 1)))
            step = tokens_of_step([found], found.tokens_a_piece, drafted)
            assert step is not None
            assert found.decode_rate is not None
            # Where steps come joined, the counters have to do, and the cut last step is one of few.
            error = EXACT if merge == 1 else 1 / drafted.drafts
            assert step / found.decode_rate == pytest.approx(STEP_SECONDS, rel=error)


@settings(max_examples=25)
@given(depth=st.integers(0, 15), seed=st.integers(0, 999), merge=st.integers(1, 7))
def test_a_fixed_rate_however_steps_fall(depth: int, seed: int, merge: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        found, _ = measure(patch, SimSettings(rate=40, steps=StepSizes(1, depth + 1), seed=seed), merge=merge)
    assert found.decode_rate == pytest.approx(40, rel=EXACT)


def test_without_running_counts_the_first_tokens_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    """One chunk is eight tokens here: a rate made of chunks would be an eighth."""
    found, _ = measure(monkeypatch, SimSettings(step_ms=20, steps=StepSizes(8, 8)), counted=False)
    assert not found.exact
    assert found.pieces is None
    assert found.decode_rate == pytest.approx(400, rel=0.03)
