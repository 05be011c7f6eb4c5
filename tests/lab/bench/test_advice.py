"""Advice, plots and remarks from runs that are put together by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pool.lab.bench.advice import advise
from pool.lab.bench.bars import Bar, bar_lines
from pool.lab.bench.charts import bar_chart
from pool.lab.bench.corpus import Kind, corpus, deep, replayed
from pool.lab.bench.counters import Speculation
from pool.lab.bench.figures import figures
from pool.lab.bench.kmodel import geometric
from pool.lab.bench.measure import Run, order
from pool.lab.bench.page import charts
from pool.lab.bench.plan import Cell, Part, price, replies, seed_plan, span
from pool.lab.bench.result import Measurement
from pool.lab.bench.table import lines
from pool.lab.bench.target import Fingerprint
from pool.lab.bench.timeline import Counts, Mark, sample
from pool.messages import Message, Role, encode

SEED = geometric({1: 0.674, 8: 0.043, 15: 0.008})
STEPS = 1_000


def seed_runs(foreign: int = 0) -> list[Run]:
    """The seed's K = 15 as its counters would have told it: 29.1 tokens a second, 3.11 a step."""
    cell = seed_plan()[0]
    length = 1 + sum(SEED)
    marks = [Mark(0.35 + at * length / 29.1, 10, True, 1 + round(at * length)) for at in range(83)]
    reply = sample(marks, Counts(40, 0, 256), finish="length")
    kept = tuple(round(share * STEPS) for share in SEED)
    drafted = Speculation(STEPS, 15 * STEPS, sum(kept), kept)
    return [Run(cell, 0, (reply,), 9.0, drafted, foreign, 0.001) for _ in range(3)]


def test_the_seeds_run_leads_to_its_finding() -> None:
    """From K = 15 alone: K = 3 and 7 are to be measured, 15 is not worth it; 5 and 11 are not proposed."""
    runs = seed_runs()
    advice = advise(runs, figures(runs, 1), 0, {0: 0.051})
    assert advice is not None
    assert set(advice.best) == {3, 7}
    rates = {d.depth: d.rate for d in advice.depths}
    assert rates[15] == pytest.approx(29.1, rel=0.01)
    assert rates[0] == pytest.approx(1 / 0.051)
    # Scaled through this run, the others come within 10 % of what was measured.
    assert rates[3] == pytest.approx(31.2, rel=0.10)
    assert rates[7] == pytest.approx(30.4, rel=0.12)
    assert [d.depth for d in advice.depths if d.measured] == [0, 15]


def test_others_traffic_gives_no_advice_and_is_said() -> None:
    runs = seed_runs(foreign=500)
    found = figures(runs, 1)
    assert advise(runs, found, 0, {}) is None
    server = Fingerprint("http://x", "vLLM", "0.25.1", "m", 65_536, id="abc")
    text = "\n".join(lines(Measurement("seed", ("x",), (server,), runs=runs, figures=found)))
    assert "others used the server meanwhile (1,500 tokens of theirs)" in text


def test_advice_for_many_streams_and_all_charts() -> None:
    """At eight streams a deep K brings little: the step of K = 15 is long, and most of its drafts are lost."""
    many = seed_plan()[1]
    eight = [replace(run, cell=many, samples=run.samples * 8) for run in seed_runs()[:1]]
    runs = [*seed_runs(), *eight]
    found = Measurement("seed", ("x",), (Fingerprint("http://x", "vLLM", "0.25.1", "m", 1, id="abc"),), runs=runs)
    found.figures = figures(runs, 1)
    for streams, kept in ((1, found.advice), (8, found.together)):
        advice = advise(runs, found.figures, 0, {}, streams)
        assert advice is not None
        assert advice.streams == streams
        kept[0] = advice
    text = "\n".join(lines(found))
    assert "The same for 8 streams at a time, each:" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    (target,) = found.document()["targets"]
    names = {chart.name for chart in charts(target)}
    assert names == {"speed", "latency seed", "latency seed x8", "acceptance", "depths of drafts"}


def test_no_draft_was_kept() -> None:
    runs = [replace(run, speculation=Speculation(STEPS, 15 * STEPS, 0, (0,) * 15)) for run in seed_runs()]
    server = Fingerprint("http://x", "vLLM", "0.25.1", "m", 65_536, id="abc")
    text = " ".join(
        " ".join(lines(Measurement("seed", ("x",), (server,), runs=runs, figures=figures(runs, 1)))).split()
    )
    assert "No draft was kept at all" in text


def test_a_servers_text_reaches_no_terminal() -> None:
    server = Fingerprint("http://x", "vLLM", "0.25\x1b]0;x\x07", "m\x1b[2J", 1, {"a": "\x1b[1m"}, "abc")
    assert "\x1b" not in "".join(lines(Measurement("seed", ("x",), (server,))))


def test_repeats_are_spread_and_the_first_target_changes() -> None:
    one, two = Cell(Part.SINGLE, Kind.EDIT, 8, runs=2), Cell(Part.SINGLE, Kind.PROSE, 8, runs=1)
    assert [(cell.kind, number, target) for cell, number, target in order([one, two], 2)] == [
        (Kind.EDIT, 0, 0),
        (Kind.EDIT, 0, 1),
        (Kind.PROSE, 0, 0),
        (Kind.PROSE, 0, 1),
        (Kind.EDIT, 1, 1),
        (Kind.EDIT, 1, 0),
    ]


def test_the_seeds_plan_and_its_price() -> None:
    cells = seed_plan()
    assert [(c.streams, c.tokens, c.fixed, c.runs) for c in cells] == [(1, 256, True, 3), (8, 256, True, 1)]
    assert replies(cells) == 11
    cost = price(cells)
    assert (cost.written, cost.in_line) == (16 + 11 * 256, 16 + 4 * 256)
    assert [span(s) for s in (30, 600, 7_200)] == ["30 s", "10 min", "2.0 h"]


def test_every_kind_has_prompts_and_only_tools_have_tools() -> None:
    found = corpus()
    assert set(found) == set(Kind) - {Kind.REPLAY}
    assert all((kind is Kind.TOOL) == bool(prompt.tools) for kind, prompts in found.items() for prompt in prompts)
    long = deep(found[Kind.EDIT][0], 1_000, "n1").messages[0].content
    assert 3_900 < len(long) < 4_300
    assert long.startswith("Session n1. ")
    assert deep(found[Kind.EDIT][0], 0, "n2").messages[0].content.startswith("Session n2. ")


def test_bars() -> None:
    bars = [Bar("a", 2.0, "2"), Bar("bb", 1.0, "1", measured=False), Bar("c", 0.0, "0")]
    assert bar_lines(bars, 20) == ["   a 2 █████████████", "  bb 1 ░░░░░░", "   c 0"]
    assert bar_lines(bars, 20, unicode=False)[1] == "  bb 1 ------"
    assert bar_lines([], 20) == []
    assert "&lt;b&gt;" in bar_chart("x", "<b>", [Bar("<i>", 1.0, "&")]).svg


def test_prompts_of_a_session_are_sent_as_they_were(tmp_path: Path) -> None:
    tool: dict[str, object] = {"type": "function", "function": {"name": "read", "parameters": {}}}
    said = [("system", "Be brief."), ("user", "Mend it."), ("assistant", "Done."), ("user", "Häh?")]
    rows: list[dict[str, object]] = [
        {"type": "head.set", "head": json.dumps({"model": "m", "tools": [tool]})},
        *({"type": "message.added", "role": r, "text": encode(Message(Role(r), t)).data.decode()} for r, t in said),
    ]
    log = tmp_path / "s.jsonl"
    log.write_text("".join(json.dumps({"seq": at, **row}) + "\n" for at, row in enumerate(rows)), encoding="utf-8")
    first, second = replayed([log])
    assert (first.kind, first.tools, len(first.encoded), len(second.encoded)) == (Kind.REPLAY, (tool,), 2, 4)
    assert json.loads(second.encoded[-1]) == {"role": "user", "content": "Häh?"}
