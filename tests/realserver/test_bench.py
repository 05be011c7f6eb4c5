"""`pool bench` and `pool top` against llama.cpp's own server and its own counters. Speeds are in docs/bench.md."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from pool.lab.bench.command import main as bench
from pool.lab.bench.counters import Counters, read_counters
from pool.lab.top.command import main as top
from tests.realserver.running import RealServer

WARM_TOKENS = 16


def counters(server: RealServer) -> Counters:
    return read_counters(httpx.get(f"{server.url}/metrics", trust_env=False).text)


def test_every_token_is_counted_once(server: RealServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, saved = counters(server), tmp_path / "bench.json"
    some = ["--kinds", "prose", "--runs", "1", "--streams", "3", "--depths", "200", "--tokens", "48"]
    assert bench(["--base-url", server.url, *some, "--save", str(saved)]) == 0
    after = counters(server)
    (target,) = json.loads(saved.read_text())["targets"]
    samples = [sample for run in target["runs"] for sample in run["samples"]]
    written = sum(sample["written"] for sample in samples)
    counted = after.values["llamacpp:tokens_predicted"] - before.values["llamacpp:tokens_predicted"]
    warm = counted - written
    assert 0 < warm <= WARM_TOKENS
    assert [run["foreign"] for run in target["runs"]] == [0, 0, 0]
    assert all(sample["exact"] for sample in samples), "timings_per_token gives a running count"
    cold, cached = target["runs"][-1]["samples"]
    assert cold["prompt"] == cached["prompt"]
    # The tiny agent's template drops the system message, and with it what makes the first prompt a new one.
    assert cached["cached"] > 0.9 * cached["prompt"]
    read = after.values["llamacpp:prompt_tokens"] - before.values["llamacpp:prompt_tokens"]
    assert read >= sum(sample["prompt"] - sample["cached"] for sample in samples)
    assert "prose x3" in capsys.readouterr().out


def test_the_dashboard(server: RealServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert top(["--base-url", server.url, "--once", "--json", "--every", "0.1"]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert (seen["kind"], seen["running"], seen["waiting"], seen["usage"]) == ("llamacpp", 0, 0, None)
    assert seen["write_rate"] == 0.0
