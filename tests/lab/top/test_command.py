"""`pool top` against a simulator: as text, as JSON, on the screen, and without a server."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pool.lab.bench.counters import Counters, read_counters
from pool.lab.top.app import TopApp
from pool.lab.top.board import Role, Server, board, plain
from pool.lab.top.command import main, theme_of
from pool.lab.top.gauges import Look, Readings, readings
from pool.lab.top.watching import Watcher
from pool.sim.process import RunningSim, running
from pool.sim.settings import SimSettings, StepSizes
from pool.wire.dialects import ServerKind
from pool.wire.endpoint import parse_endpoint
from pool.wire.identify import ServerInfo
from pool.wire.transport import Transport
from pool_themes import load

SNAPSHOTS = Path(__file__).parent / "snapshots"
UPDATE = bool(os.environ.get("UPDATE_PICTURES"))
TEXT = re.compile(r'<text [^>]*y="([0-9.]+)"[^>]*>([^<]*)</text>')
RECORDING = Path(__file__).parents[2] / "wire" / "recordings" / "metrics-vllm-0.32.0-speculative.txt"


@pytest.fixture(scope="module")
def sim() -> Iterator[RunningSim]:
    with running(SimSettings(steps=StepSizes(4, 4))) as server:
        body = {"messages": [{"role": "user", "content": "Hello."}], "max_tokens": 32, "ignore_eos": True}
        httpx.post(f"{server.url}/v1/chat/completions", json=body, trust_env=False).raise_for_status()
        yield server


def test_once(sim: RunningSim, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--base-url", sim.url, "--once", "--every", "0.1"]) == 0
    out = capsys.readouterr().out
    assert "running       0     waiting 0     preempted 0" in out
    assert "K = 3: 3.00 kept a step (drafts only), 4.00 tokens a step" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_json(sim: RunningSim, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--base-url", sim.url, "--once", "--json", "--every", "0.1"]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert (seen["kind"], seen["running"], seen["write_rate"]) == ("vllm", 0, 0.0)
    assert seen["speculation"]["accepted_length_with_bonus"] == 4.0


def test_no_server_and_no_terminal(sim: RunningSim, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--base-url", "http://127.0.0.1:9", "--once"]) == 75
    assert "nothing listens" in capsys.readouterr().out
    assert main(["--base-url", sim.url]) == 2
    assert "--once or --json" in capsys.readouterr().err


class Still(Watcher):
    """A watcher that sees what it is told."""

    def __init__(self, seen: list[Readings | None], info: ServerInfo) -> None:
        super().__init__(Transport(parse_endpoint("http://127.0.0.1:8000")), clock=lambda: 12.0)
        self.info = info
        self._seen = seen
        self.speeds.extend(float(20 + at * 7 % 13) for at in range(30))

    async def look(self) -> Readings | None:
        now = self._seen.pop(0) if self._seen else None
        self.trouble = "" if now else "nothing listens at the server's address"
        return now


def busy() -> Readings:
    before = read_counters(RECORDING.read_text(encoding="utf-8"))
    more = {
        "vllm:generation_tokens": 64.0,
        "vllm:prompt_tokens": 900.0,
        "vllm:prefix_cache_queries": 900.0,
        "vllm:prefix_cache_hits": 640.0,
        "vllm:num_preemptions": 2.0,
        "vllm:spec_decode_num_drafts": 30.0,
        "vllm:spec_decode_num_draft_tokens": 120.0,
        "vllm:spec_decode_num_accepted_tokens": 34.0,
    }
    values = dict(before.values) | {name: before.values[name] + rise for name, rise in more.items()}
    values |= {"vllm:num_requests_running": 3.0, "vllm:num_requests_waiting": 1.0, "vllm:kv_cache_usage_perc": 0.94}
    kept = {0: 20.0, 1: 9.0, 2: 4.0, 3: 1.0}
    after = Counters(values, {at: before.positions[at] + rise for at, rise in kept.items()})
    now = readings([Look(10.0, before), Look(11.0, after)])
    assert now is not None
    return now


async def test_the_dashboard_in_dark_and_light(tmp_path: Path) -> None:
    info = ServerInfo(ServerKind.VLLM, "0.32.0", model="laguna-s-2.1", window=131_072, reachable=True)
    watcher = Still([busy()], info)
    app = TopApp(watcher, load("pool-dark"), 3_600.0)
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.pause()
        dark = app.export_screenshot(title="pool top", simplify=True)
        app.use(load("pool-light"))
        await pilot.pause()
        light = app.export_screenshot(title="pool top", simplify=True)
        await pilot.press("p")
        await pilot.pause()
        assert "paused" in words(app.export_screenshot(simplify=True))[-1]
        await pilot.resize_terminal(50, 12)
        await pilot.pause()
        assert "writing" in "".join(words(app.export_screenshot(simplify=True))), "no row wraps"
        await pilot.resize_terminal(24, 6)
        await pilot.pause()
        await pilot.press("q")
    assert app.return_value == 0
    compare("top-dark.svg", dark, tmp_path)
    compare("top-light.svg", light, tmp_path)
    await watcher.transport.aclose()


def words(svg: str) -> list[str]:
    """The rows of text in a picture."""
    rows: dict[float, str] = {}
    for place, text in TEXT.findall(svg):
        rows[float(place)] = rows.get(float(place), "") + html.unescape(text)
    return [" ".join(rows[place].split()) for place in sorted(rows)]


def compare(name: str, svg: str, tmp_path: Path) -> None:
    """Hold a picture against the kept one by its text; `UPDATE_PICTURES=1` keeps it."""
    kept = SNAPSHOTS / name
    if UPDATE:
        kept.write_text(svg, encoding="utf-8")
    (tmp_path / name).write_text(svg, encoding="utf-8")
    assert words(svg) == words(kept.read_text(encoding="utf-8")), f"see {tmp_path / name}"


def test_a_servers_text_is_neither_markup_nor_escape() -> None:
    rows = board(Server("http://x/\x1b[2J", "[red]m[/]\x1b]0;t\x07", 3.0, "\x1b[31mgone"), None, (), 60)
    text = "\n".join(map(plain, rows))
    assert "\x1b" not in text
    assert "[red]m[/]" in text
    assert "nothing for 3 s:" in text


@pytest.mark.parametrize("width", [20, 40, 80, 300])
def test_no_row_is_wider_than_the_screen(width: int) -> None:
    now = busy()
    rows = board(Server("http://127.0.0.1:8000/v1", "vLLM"), now, [1.0, 0.0, 5.0] * 200, width)
    if width >= 40:
        assert max(len(plain(row)) for row in rows) <= max(width, 78)
    ascii_rows = board(Server("http://h", "vLLM"), now, [1.0, 5.0], width, unicode=False)
    assert "\n".join(map(plain, ascii_rows)).isascii()
    assert any(role is Role.WARNING for row in rows for _, role in row)


def test_the_theme_follows_the_terminal() -> None:
    assert theme_of("auto", {"COLORFGBG": "0;15"}).dark is False
    assert theme_of("auto", {}).dark is True
    assert theme_of("paper", {}).name == "paper"
