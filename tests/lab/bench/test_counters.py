"""Counters of real servers, and what a difference of two looks tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.lab.bench.counters import Counters, foreign_between, read_counters, speculation_between
from pool.wire.dialects import ServerKind

RECORDINGS = Path(__file__).parents[2] / "wire" / "recordings"


def recorded(name: str) -> Counters:
    return read_counters((RECORDINGS / f"metrics-{name}.txt").read_text(encoding="utf-8"))


def test_a_real_vllm_that_speculates() -> None:
    drafted = speculation_between(Counters(), recorded("vllm-0.32.0-speculative"), ServerKind.VLLM)
    assert drafted is not None
    assert (drafted.drafts, drafted.draft_tokens, drafted.accepted) == (75, 288, 288)
    assert drafted.depth == 4
    assert drafted.curve == (1.0, 1.0, 69 / 75, 69 / 75)
    assert drafted.drafts_only == pytest.approx(288 / 75)
    assert drafted.with_bonus == pytest.approx(1 + 288 / 75)
    assert drafted.rate == 1.0


@pytest.mark.parametrize(("name", "kind"), [("vllm-0.32.0", ServerKind.VLLM), ("llamacpp-b11549", ServerKind.LLAMACPP)])
def test_a_server_without_drafts(name: str, kind: ServerKind) -> None:
    assert speculation_between(Counters(), recorded(name), kind) is None


def test_a_server_that_was_started_anew_tells_nothing() -> None:
    last = recorded("vllm-0.32.0-speculative")
    assert speculation_between(last, Counters({"vllm:spec_decode_num_drafts": 3.0}), ServerKind.VLLM) is None


def test_foreign_traffic() -> None:
    before = Counters({"vllm:generation_tokens": 1_000.0})
    after = Counters({"vllm:generation_tokens": 1_768.0})
    kind = ServerKind.VLLM
    assert foreign_between(before, after, kind, 768, 3) == 0
    assert foreign_between(before, after, kind, 760, 3) == 0, "drafts that were kept after a reply's end"
    assert foreign_between(before, after, kind, 512, 2) == 256
    assert foreign_between(before, Counters(), kind, 512, 2) is None
    assert foreign_between(None, after, kind, 512, 2) is None
    assert foreign_between(before, after, ServerKind.OLLAMA, 512, 2) is None


def test_lines_that_cannot_be_read_are_skipped() -> None:
    text = 'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="0"} many\nvllm:x{position="1"} 3\n'
    assert read_counters(text).positions == {}


def test_places_that_cannot_be_are_not_believed() -> None:
    name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    text = f'{name}{{position="99999999"}} 5\n{name}{{position="1"}} inf\n{name}{{position="0"}} 5\n'
    assert read_counters(text).positions == {0: 5.0}
