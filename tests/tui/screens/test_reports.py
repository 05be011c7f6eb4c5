"""Panels to read: the context meter, statistics, model and server, guards; and the sessions to go on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.agent.contextreport import ContextPart, ContextReport
from pool.agent.price import Price
from pool.sessions.store import sessions_folder
from pool.sessions.turnseries import firings, request_points
from pool.tui.screens.bars import bar, plot, stacked
from pool.tui.screens.contextrows import context_rows
from pool.tui.screens.guardrows import guard_rows
from pool.tui.screens.keyline import KeyLine
from pool.tui.screens.linelist import Row
from pool.tui.screens.report import ReportScreen
from pool.tui.screens.sessions import SessionsScreen
from tests.cases.driver import answer, call
from tests.sessions.made import finished, row, said, session, started
from tests.tui.screens.kit import rows, screen_text, until, working
from tests.tui.views import StillApp


def text(shown: list[Row] | tuple[Row, ...]) -> list[str]:
    return ["".join(run for run, _ in one.runs).rstrip() for one in shown]


def test_bars_and_plots() -> None:
    assert bar(0.5, 4) == "██"
    assert bar(1 / 64, 8) == "▏"
    assert bar(0.000001, 8) == "▏"
    assert bar(2, 3) == "███"
    assert bar(0, 3) == ""
    assert "".join(run for run, _ in stacked([(0.5, "a"), (0.001, "b"), (0.2, "c")], 10)) == "█████▓█░░░"
    assert "".join(run for run, _ in stacked([], 3)) == "░░░"
    drawn = text(plot([1, 2, 4], 30, "accent"))
    assert drawn[0] == "      4 ┤      ███"
    assert drawn[3] == "      0 ┤█████████"
    assert all(len(line) <= 30 for line in text(plot(list(range(1000)), 30, "accent")))
    assert text(plot([], 30, "accent"))[0] == "      1 ┤"


def test_the_context_meter_says_what_fills_the_window() -> None:
    parts = (ContextPart("system prompt", 2_000, 0.02), ContextPart("conversation", 30_000, 0.30))
    report = ContextReport(parts, 32_000, 100_000, True, 0.97, "request 5: compacted", 1, 0)
    shown = text(list(context_rows(report, Price(12_000, 3.0), 60)))
    assert shown[0] == "32,000 tokens of 100,000, 32% full"
    assert shown[3].startswith("system prompt      2,000   2.0%  █")
    assert shown[4] == "conversation      30,000  30.0%  " + "█" * 27
    assert shown[5] == "free              68,000  68.0%"
    assert "cached         97% of the last prompt" in shown
    assert "prefix         broke last at request 5: compacted" in shown
    assert "some 3 s" in "\n".join(shown)
    assert max(map(len, shown)) <= 60


def test_guards_are_listed_by_prompt() -> None:
    log = [
        started("First"),
        {**row("guard.fired", guard="loop", action="nudge", detail="the same call 3 times", cost=""), "turn": 4},
        finished(),
        started("Second\x1b[31m"),
        {**row("guard.fired", guard="loop", action="stop", detail="again " * 30, cost="1 s"), "turn": 9},
    ]
    shown = text(list(guard_rows(firings(log), 60)))
    assert shown[:4] == ["loop            1 × nudge", "loop            1 × stop", "", "Prompt 1: First"]
    assert shown[4] == "  turn  4  loop      nudge the same call 3 times"
    assert "Prompt 2: Second [31m" in shown
    assert max(map(len, shown)) <= 60
    assert text(list(guard_rows([], 60))) == ["No guard has acted in this session."]


def test_points_of_odd_logs() -> None:
    good = row("usage", usage={"prompt": 100, "completion": 11, "cached": 50}, first_token_seconds=1, reply_seconds=2)
    odd = row("usage", usage="x", first_token_seconds="y", reply_seconds=None)
    points = request_points([good, odd])
    assert (points[0].context, points[0].cached, points[0].speed) == (111, 0.5, 10.0)
    assert (points[1].context, points[1].speed) == (0, 0.0)


@pytest.mark.parametrize("size", [(120, 40), (40, 12)])
async def test_panels_open_from_the_list_and_by_command(tmp_path: Path, size: tuple[int, int]) -> None:
    steps = (call("read", "c0", path="b.txt"), answer("Done."))
    async with working(tmp_path / "work", *steps, size=size) as (app, pilot):
        for line, what in (("/context", "system prompt"), ("/stats", "tokens a second")):
            app.actions.command(line)
            await until(pilot, lambda w=what: len(app.screen_stack) == 2 and w in rows(app))
            await pilot.press("end", "home", "escape")
        for name, what in (("Model and server", "address"), ("guards", "No guard has acted")):
            await pilot.press("ctrl+o", *name.split(" ")[0].lower(), "enter")
            await until(pilot, lambda w=what: w in screen_text(app))
            await pilot.press("q")
        assert len(app.screen_stack) == 1


async def test_sessions_are_searched_while_typing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    work = tmp_path / "work"
    async with working(work, answer("Done.")) as (app, pilot):
        here = str(work)
        session(sessions_folder(), "0190-parser", started("Mend the parser"), finished(), workspace=here, age=60)
        other = (started("Write\x1b[31m docs"), said("assistant", "Documented the parser's odd corner."), finished())
        session(sessions_folder(), "0190-docs", *other, workspace=here)
        session(sessions_folder(), "0190-else", started("Mend the parser"), finished(), workspace="/elsewhere")
        app.actions.command("/resume")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and "Mend the parser" in rows(app))
        assert rows(app).count("\n") == 1
        assert "1 prompt  Write [31m docs" in rows(app)
        await pilot.press(*"odd")
        await until(pilot, lambda: "Mend" not in rows(app))
        assert "answer: Documented the parser's odd" in rows(app)
        await pilot.press(*" zebra")
        await until(pilot, lambda: "nothing fits" in rows(app))
        await pilot.press("ctrl+u", *"pars", "down", "enter")
        await until(pilot, lambda: app.settings.resume == "0190-parser")
        await until(pilot, lambda: app.driver.conversation is not None)


async def test_panels_are_closed_by_the_mouse() -> None:
    app = StillApp("pool-dark")
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(ReportScreen("Guards", lambda width: guard_rows((), width), ()))
        await pilot.pause()
        keys = app.screen.query_one(KeyLine)
        await pilot.click(keys, offset=(keys.render_line(0).text.index("Esc"), 0))
        await until(pilot, lambda: len(app.screen_stack) == 1)
        app.actions.show_help()
        await pilot.pause()
        await pilot.click(offset=(5, 23))
        await until(pilot, lambda: len(app.screen_stack) == 1)
