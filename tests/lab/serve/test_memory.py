"""The memory plan against what people have published of their servers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.lab.serve.laguna import LAGUNA_S21, LAGUNA_XS21
from pool.lab.serve.memory import ELEMENT_BYTES, Layout, step_tokens_of
from pool.lab.serve.rivals import GEMMA4_26B, QWEN36_35B
from pool.lab.serve.shapes import GIB, Attention

PUBLISHED_SHARE = 1e-4
"""The published figures are to be met within 0.01 %."""

S21 = Layout(LAGUNA_S21.attention, ELEMENT_BYTES["fp8"], 4_096)


def test_a_published_start_at_65536() -> None:
    """27.11 GiB of cache: 977,533 tokens, 14.92 requests."""
    found = S21.capacity(27.11 * GIB, 65_536)
    assert found.tokens == 977_533
    assert f"{found.requests:.2f}" == "14.92"


def test_a_published_start_at_262144() -> None:
    """1,114,602 tokens, 4.25 requests. Its cache was not published; its tokens give 26.86 GiB."""
    pool = S21.pool_for(1_114_602, 262_144)
    assert f"{pool / GIB:.2f}" == "26.86"
    found = S21.capacity(26.86 * GIB, 262_144)
    assert found.tokens == pytest.approx(1_114_602, rel=PUBLISHED_SHARE)
    assert f"{found.requests:.2f}" == "4.25"


def test_a_published_start_with_a_draft() -> None:
    """32.44 GiB: 926,683 tokens, 3.54 requests, at 2,048 tokens a step and the draft's layers counted."""
    draft = LAGUNA_S21.variants[0].draft
    assert draft is not None
    found = replace(S21, step_tokens=2_048).with_draft(draft.attention).capacity(32.44 * GIB, 262_144)
    assert found.tokens == pytest.approx(926_683, rel=PUBLISHED_SHARE)
    assert found.requests == pytest.approx(3.54, abs=0.01)


@pytest.mark.parametrize(
    ("full", "sliding", "step", "length", "gib", "tokens"),
    [
        (12, 36, 4_096, 65_536, 27.11, 977_533),
        (12, 36, 4_096, 262_144, 26.86, 1_114_541),
        (18, 36, 2_048, 262_144, 32.44, 926_667),
        (18, 36, 4_096, 131_072, 25.29, 688_075),
        (16, 30, 4_096, 131_072, 20.0, 612_167),
    ],
)
def test_as_vllm_counts(full: int, sliding: int, step: int, length: int, gib: float, tokens: int) -> None:
    """What `get_kv_cache_capacity` of vLLM 0.25.1 itself gave for such layers of 8 heads of 128 in FP8."""
    layout = Layout((Attention(full, 8, 128), Attention(sliding, 8, 128, 512)), 1.0, step)
    assert layout.capacity(gib * GIB, length).tokens == tokens


@pytest.mark.parametrize(
    ("length", "gib"), [(8_192, 0.51), (32_768, 1.07), (65_536, 1.82), (131_072, 3.32), (262_144, 6.32)]
)
def test_what_a_session_takes(length: int, gib: float) -> None:
    assert S21.request_bytes(length) / GIB == pytest.approx(gib, abs=0.006)


def test_the_parts_of_a_session() -> None:
    assert S21.token_bytes == 24_576
    assert S21.fixed_bytes(65_536) == 36 * 2_048 * 16 * 289


@pytest.mark.parametrize(("step", "tokens"), [(2_048, 1_059_516), (8_192, 846_540)])
def test_other_steps_give_other_figures(step: int, tokens: int) -> None:
    assert replace(S21, step_tokens=step).capacity(27.11 * GIB, 65_536).tokens == pytest.approx(tokens, rel=1e-4)


def test_the_step_is_found_from_what_a_server_reports() -> None:
    assert step_tokens_of(S21, 27.11 * GIB, 977_533, 65_536) == 4_096
    assert step_tokens_of(S21, 27.11 * GIB, 1_059_500, 65_536) == 2_048


def test_bf16_takes_twice_as_much() -> None:
    double = replace(S21, element_bytes=ELEMENT_BYTES["bf16"])
    assert double.request_bytes(65_536) == 2 * S21.request_bytes(65_536)


def test_the_small_model() -> None:
    """20,480 bytes a token in FP8 (the layout of its ten layers over the whole context)."""
    assert Layout(LAGUNA_XS21.attention, 1.0, 2_048).token_bytes == 20_480


def test_layers_of_two_sizes_are_an_estimate() -> None:
    """5.2 GiB are reported for Gemma 4 26B-A4B in BF16 at 262,144 tokens, a window of 1,024 and no steps counted."""
    layout = Layout(GEMMA4_26B.attention, 2.0, 1)
    assert not layout.exact
    assert layout.request_bytes(262_144) / GIB == pytest.approx(5.2, abs=0.01)


def test_a_recurrent_state_is_counted_once_a_request() -> None:
    layout = Layout(QWEN36_35B.attention, 1.0, 4_096, QWEN36_35B.recurrent)
    assert layout.recurrent is not None
    assert not layout.exact
    state = layout.recurrent.layers * layout.recurrent.state_bytes
    assert layout.request_bytes(1_000) == 10 * 2 * 2 * 256 * 1_000 + state
    assert layout.fixed_bytes(1_000) == state


@given(
    st.integers(1, 60),
    st.integers(1, 60),
    st.integers(1, 4_096),
    st.integers(16, 16_384),
    st.integers(16, 1_000_000),
    st.integers(0, 100),
)
def test_more_is_never_less(full: int, sliding: int, window: int, step: int, length: int, gib: int) -> None:
    """A longer request takes no less, a larger cache holds no less, and what it holds fits into it."""
    layout = Layout((Attention(full, 8, 128), Attention(sliding, 8, 128, window)), 1.0, step)
    assert layout.request_bytes(length) <= layout.request_bytes(length + 1)
    found = layout.capacity(gib * GIB, length)
    assert found.requests <= layout.capacity((gib + 1) * GIB, length).requests
    assert int(found.requests) * layout.request_bytes(length) <= gib * GIB
