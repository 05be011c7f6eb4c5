"""What looks at metrics say: recordings of real servers, SGLang's documented names, and a simulator's restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.lab.bench.counters import Counters, read_counters
from pool.lab.top.gauges import Look, readings
from pool.wire.dialects import ServerKind

RECORDINGS = Path(__file__).parents[2] / "wire" / "recordings"

SGLANG = """\
sglang:prompt_tokens_total{model_name="m"} 8.0e+03
sglang:generation_tokens_total{model_name="m"} 7.5e+03
sglang:token_usage{model_name="m"} 0.28
sglang:cache_hit_rate{model_name="m"} 0.75
sglang:num_running_reqs{model_name="m"} 3.0
sglang:num_queue_reqs{model_name="m"} 2.0
sglang:gen_throughput{model_name="m"} 86.5
sglang:spec_accept_length{model_name="m"} 3.1
sglang:num_retracted_reqs{model_name="m"} 1.0
"""


def vllm(**more: float) -> Counters:
    names = {"running": "num_requests_running", "waiting": "num_requests_waiting", "usage": "kv_cache_usage_perc"}
    zero = {"generation_tokens": 0.0, "prompt_tokens": 0.0, "prefix_cache_hits": 0.0, "prefix_cache_queries": 0.0}
    values = zero | {"num_preemptions": 0.0} | {names.get(name, name): value for name, value in more.items()}
    return Counters({f"vllm:{name}": value for name, value in values.items()})


def test_rates_are_of_two_looks_and_shares_of_a_minute() -> None:
    looks = [
        Look(0.0, vllm(generation_tokens=1_000, prefix_cache_queries=100, prefix_cache_hits=100)),
        Look(100.0, vllm(generation_tokens=2_000, prefix_cache_queries=200, prefix_cache_hits=100, num_preemptions=1)),
        Look(101.0, vllm(generation_tokens=2_050, prefix_cache_queries=300, prefix_cache_hits=180, num_preemptions=3)),
    ]
    now = readings(looks)
    assert now is not None
    assert now.write_rate == 50.0
    assert now.hits == 0.8
    assert (now.preempted, now.lately_preempted) == (3, 2)
    assert now.window == 1.0


def test_one_look_has_no_rates_and_tells_of_the_whole_time() -> None:
    now = readings([Look(5.0, vllm(running=2, waiting=1, usage=0.46, prefix_cache_queries=10, prefix_cache_hits=4))])
    assert now is not None
    assert (now.running, now.waiting, now.usage, now.hits, now.write_rate) == (2, 1, 0.46, 0.4, None)


def test_what_cannot_be_is_not_told() -> None:
    counters = read_counters(
        "vllm:num_requests_waiting -5\nvllm:kv_cache_usage_perc 1e308\nvllm:generation_tokens_total inf\n"
        'vllm:spec_decode_num_drafts_total 10\nvllm:spec_decode_num_accepted_tokens_total{x="y"} -3\n'
        'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="0"} -3\n'
    )
    now = readings([Look(0.0, counters)])
    assert now is not None
    assert (now.waiting, now.usage, now.write_rate) == (None, None, None)
    assert now.speculation is not None
    assert (now.speculation.accepted, now.speculation.positions) == (0, ())


def test_a_server_that_was_started_anew_is_not_writing_backwards() -> None:
    now = readings([Look(0.0, vllm(generation_tokens=900)), Look(1.0, vllm(generation_tokens=10))])
    assert now is not None
    assert now.write_rate is None


@pytest.mark.parametrize("name", ["vllm-0.25.1-speculative", "vllm-0.32.0-speculative", "vllm-0.25.1", "vllm-0.32.0"])
def test_a_real_vllm(name: str) -> None:
    now = readings([Look(0.0, read_counters((RECORDINGS / f"metrics-{name}.txt").read_text(encoding="utf-8")))])
    assert now is not None
    assert now.kind is ServerKind.VLLM
    assert (now.running, now.waiting, now.usage, now.preempted) == (0, 0, 0.0, 0)
    assert (now.speculation is not None) == name.endswith("speculative")


def test_a_real_llamacpp() -> None:
    now = readings([Look(0.0, read_counters((RECORDINGS / "metrics-llamacpp-b11549.txt").read_text(encoding="utf-8")))])
    assert now is not None
    assert now.kind is ServerKind.LLAMACPP
    assert (now.running, now.waiting, now.usage, now.preempted, now.speculation) == (0, 0, None, None, None)
    assert now.hits == pytest.approx(21_448 / (21_448 + 740))


def test_sglang_by_its_documentation() -> None:
    now = readings([Look(0.0, read_counters(SGLANG))])
    assert now is not None
    assert now.kind is ServerKind.SGLANG
    assert (now.running, now.waiting, now.usage, now.hits) == (3, 2, 0.28, 0.75)
    assert (now.write_rate, now.length, now.preempted) == (86.5, 3.1, 1)


def test_metrics_of_another_program_are_none() -> None:
    assert readings([Look(0.0, read_counters("http_requests_total 3\n"))]) is None
    assert readings([]) is None
