"""`pool bench` as a command against one simulator: requests, figures, text, files, comparison."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pool.lab.bench.command import main
from pool.sim.process import RunningSim, running
from pool.sim.settings import SimSettings, StepSizes

CLOSED = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def sim() -> Iterator[RunningSim]:
    with running(SimSettings(step_ms=2, steps=StepSizes(4, 4), max_num_seqs=8)) as server:
        yield server


def test_the_seeds_protocol(sim: RunningSim, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "seed.json"
    seen = len(sim.seen)
    assert main(["--base-url", sim.url, "--protocol", "seed", "--save", str(saved)]) == 0
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines()[2:]), out
    warm, *bodies = sim.seen[seen:]
    assert len(bodies) == 3 + 8
    assert warm["max_tokens"] == 16
    assert all(b["max_tokens"] == 256 and b["ignore_eos"] and b["temperature"] == 0.0 for b in bodies)
    assert len({json.dumps(b["messages"]) for b in bodies}) == 1
    (target,) = json.loads(saved.read_text())["targets"]
    single, many = target["cells"]
    assert (single["name"], single["figures"]["replies"], single["figures"]["written"]) == ("seed", 3, 768)
    assert (many["name"], many["figures"]["replies"], many["figures"]["written"]) == ("seed x8", 8, 2_048)
    assert [s["began"] for s in (r["samples"][0] for r in target["runs"][:3])] == sorted(
        r["samples"][0]["began"] for r in target["runs"][:3]
    )
    # 64 steps of 4 tokens each, by the server's counters: 11 replies, of which none is anybody else's.
    drafted = target["speculation"]
    assert (drafted["depth"], drafted["drafts"]) == (3, 11 * 64)
    assert (drafted["accepted_length_drafts_only"], drafted["accepted_length_with_bonus"]) == (3.0, 4.0)
    assert single["figures"]["foreign"] == 0
    assert "3.00 drafts kept a" in out
    assert "4.00 tokens a step (bonus token included)" in out


def full(sim: RunningSim, *more: str) -> list[str]:
    some = ["--kinds", "edit", "tool", "--runs", "2", "--streams", "1,2", "--depths", "0,600", "--tokens", "24"]
    return ["--base-url", sim.url, *some, *more]


def test_every_part_and_its_files(sim: RunningSim, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, page, plots = tmp_path / "full.json", tmp_path / "full.html", tmp_path / "plots"
    flags = ["--save", str(saved), "--html", str(page), "--svg", str(plots), "--against", sim.url, "--json"]
    assert main(full(sim, *flags)) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(saved.read_text())
    first, second = document["targets"]
    names = [cell["name"] for cell in first["cells"]]
    assert names == ["edit", "tool", "edit x1", "edit x2", "edit @0", "edit @600"]
    assert [cell["name"] for cell in second["cells"]] == names
    deep = first["cells"][-1]["figures"]
    assert deep["prompt"] > 600
    assert deep["cached_tokens"] > 0.9 * deep["prompt"]
    cold = next(run for run in first["runs"] if run["cell"] == "edit @600")["samples"][0]
    assert cold["cached"] < 64
    for chart in plots.iterdir():
        ElementTree.fromstring(chart.read_text())
    # Charts of speeds need arrivals at different times, which a busy machine may not see.
    assert {"1-acceptance.svg", "1-streams.svg"} <= {path.name for path in plots.iterdir()}
    assert page.read_text().count("<svg") == len(list(plots.iterdir()))
    assert main(["compare", str(saved)]) == 0
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines()), out
    assert "edit x2, together" in out


def test_the_price_comes_first_and_nothing_else_happens(sim: RunningSim, capsys: pytest.CaptureFixture[str]) -> None:
    seen = len(sim.seen)
    assert main(full(sim, "--dry-run")) == 0
    assert "11 replies: at most about" in capsys.readouterr().out
    assert len(sim.seen) == seen


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--sweep-k", "1,3"], "a sweep needs --serve"),
        (["--kinds", "replay"], "which session"),
        (["--replay", "nosuch"], "nosuch"),
        (["--step-time", "3"], "no depth and milliseconds"),
        (["--step-time", "0=inf"], "no depth and milliseconds"),
        (["--step-time", "\u00b2=3"], "no depth and milliseconds"),
        (["--runs", "nan"], "no whole number from 1 on"),
        (["--timeout", "-1"], "no number of seconds above 0"),
        (["--start-timeout", "nan"], "no number of seconds above 0"),
        (["--temperature", "nan"], "no number from 0 on"),
        (["--save", "/no/such/folder/a.json"], "--save /no/such/folder/a.json cannot be written"),
        (["--html", "/dev"], "--html /dev cannot be written"),
        (["--svg", "/dev/null/a"], "--svg /dev/null/a cannot be made: Not a directory"),
    ],
)
def test_wrong_usage(flags: list[str], words: str, sim: RunningSim, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--base-url", sim.url, *flags]) == 2
    assert words in capsys.readouterr().err


def test_a_server_that_is_away(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--base-url", CLOSED]) == 75
    assert "nothing answers at" in capsys.readouterr().err


def test_what_was_measured_before_a_failure_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with running(SimSettings(faults=("error-in-stream@3-99",))) as broken:
        assert main(["--base-url", broken.url, "--protocol", "seed", "--json"]) == 75
    document = json.loads(capsys.readouterr().out)
    assert document["trouble"].startswith("Stopped after 1 of 4 runs: ")
    assert document["targets"][0]["cells"][0]["figures"]["written"] == 256


def test_what_does_not_fit_the_window_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    with running(SimSettings(max_model_len=2_000, step_ms=2, steps=StepSizes(4, 4))) as small:
        some = ["--kinds", "edit", "--runs", "1", "--streams", "1,4", "--depths", "100,4096", "--tokens", "24"]
        assert main(["--base-url", small.url, *some]) == 0
    out = capsys.readouterr().out
    assert "! edit @4096 was left out: it does not fit the server's window of 2,000 tokens." in out
    assert "edit @100 " in out


def test_a_server_without_token_counts_gets_no_speeds(capsys: pytest.CaptureFixture[str]) -> None:
    with running(SimSettings(faults=("no-usage",))) as silent:
        assert main(["--base-url", silent.url, "--protocol", "seed", "--json"]) == 0
    figures: dict[str, Any] = json.loads(capsys.readouterr().out)["targets"][0]["cells"][0]["figures"]
    assert figures["written"] in (0, 768)


@pytest.mark.parametrize(
    ("text", "words"),
    [("{}", "was not written by pool bench"), ("{", "no JSON"), ('{"format":"pool-bench"}', "schema")],
)
def test_files_that_are_none(text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    assert main(["compare", str(path), str(path)]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_file_that_cannot_be_written_costs_no_figures(sim: RunningSim, capsys: pytest.CaptureFixture[str]) -> None:
    some = ["--kinds", "edit", "--runs", "1", "--streams", "1", "--depths", "0", "--tokens", "8"]
    assert main(["--base-url", sim.url, *some, "--save", "/dev/full"]) == 2
    out, err = capsys.readouterr()
    assert "edit x1" in out
    assert "/dev/full: No space left" in err
