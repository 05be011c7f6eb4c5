"""Colours that follow the terminal, themes of one's own, other keys: in a real terminal and in a headless app."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from textual.events import Key

from pool.config.interface import DiffView, InterfaceSettings
from pool.config.settings import Settings
from pool.tui.app import PoolApp
from pool.tui.background import QUESTION
from pool.tui.base import early_events
from pool.tui.keys import bound
from pool.tui.parser import Parser
from pool.tui.transcript.block import Block, Layout
from pool.tui.transcript.diff import diff_rows
from pool.tui.transcript.lines import Line
from pool_themes import load
from tests.tui.terminal import POOL, Terminal

NOWHERE = "http://127.0.0.1:9/v1"
"""An address at which nothing listens."""

LIGHT = b"\x1b]11;rgb:fafa/fafa/fafa\x1b\\\x1b[?62c"


def rgb(colour: str) -> bytes:
    return ";".join(str(int(colour[n : n + 2], 16)) for n in (1, 3, 5)).encode()


def app(
    tmp_path: Path, *, theme: str = "pool-dark", own: Path | None = None, ui: InterfaceSettings | None = None
) -> PoolApp:
    settings = Settings(tmp_path, base_url=NOWHERE, ui=ui or InterfaceSettings())
    return PoolApp(settings, theme=theme, own_themes=own, keys=bound(settings.ui.keys))


@pytest.mark.slow
def test_the_background_chooses_the_theme(tmp_path: Path) -> None:
    """TUI-15."""
    command = [*POOL, "--base-url", NOWHERE]
    with Terminal(command, cwd=tmp_path, answers={QUESTION: LIGHT}) as terminal:
        terminal.wait_for("Pool 0")
        assert rgb(load("pool-light").colours.background) in bytes(terminal.raw)
        assert "rgb:" not in terminal.text


@pytest.mark.slow
def test_the_mouse_can_be_the_terminals_from_the_start(tmp_path: Path) -> None:
    """TUI-07."""
    env = {"POOL_UI_MOUSE": "false", "XDG_STATE_HOME": str(tmp_path / "state")}
    with Terminal([*POOL, "--base-url", NOWHERE], cwd=tmp_path, env=env) as terminal:
        terminal.wait_for("What is to be done?")
        assert b"?1000h" not in bytes(terminal.raw)
        terminal.send("\x1bOQ")
        terminal.wait_for("the mouse works in Pool again")
        assert b"?1000h" in bytes(terminal.raw)


@pytest.mark.slow
def test_sixteen_colours_are_sent_as_such(tmp_path: Path) -> None:
    """TUI-15: no colour is named by its place in a larger palette."""
    command = [*POOL, "--base-url", NOWHERE]
    with Terminal(command, cwd=tmp_path, env={"TERM": "linux", "COLORTERM": ""}) as terminal:
        terminal.wait_for("Pool 0")
        assert re.search(rb"\x1b\[[0-9;]*9[0-7]", bytes(terminal.raw))
        assert not re.search(rb"[34]8;[25];", bytes(terminal.raw))


async def test_a_theme_of_ones_own_is_followed_while_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('base = "paper"\n[colours]\nbackground = "#010203"\n')
    pool = app(tmp_path, theme="mine", own=tmp_path)
    async with pool.run_test(size=(80, 24)) as pilot:
        assert pool.screen.styles.background.hex == "#010203"
        path.write_text('base = "paper"\ncode_style = "vim"\n[colours]\nbackground = "#0a0b0c"\n# longer\n')
        await pilot.pause(1.3)
        assert pool.screen.styles.background.hex == "#0A0B0C"
        assert pool.transcript.code_style == "vim"
        path.write_text("broken")
        await pilot.pause(1.3)
        assert pool.screen.styles.background.hex == "#0A0B0C"
        assert any("theme mine: not TOML" in e.block.source() for e in pool.transcript.store.entries)


async def test_other_keys_work_and_are_shown(tmp_path: Path) -> None:
    ui = InterfaceSettings(keys=(("help", ("f9",)), ("stop", ("f8",)), ("newline", ("ctrl+n",))))
    pool = app(tmp_path, ui=ui)
    async with pool.run_test(size=(80, 24)) as pilot:
        await pilot.press("a", "ctrl+n", "b")
        assert pool.box.text == "a\nb"
        await pilot.press("f1")
        assert len(pool.screen_stack) == 1
        await pilot.press("f9")
        assert len(pool.screen_stack) == 2
        await pilot.press("f8")
        assert len(pool.screen_stack) == 1
        await pilot.press("ctrl+q")
        assert pool.is_running


def test_bytes_that_came_early() -> None:
    assert [getattr(e, "key", "paste") for e in early_events(b"a\x1b[A\x1b[200~x\x1b[201~\n")] == [
        *("a", "up", "paste", "ctrl+j")
    ]


KIND = LIGHT.index(b"\x1b[?")


@pytest.mark.parametrize(
    "pieces",
    [
        [LIGHT],
        [LIGHT[:9], LIGHT[9:]],
        [LIGHT[:KIND], LIGHT[KIND:-1], LIGHT[-1:]],
        [LIGHT[:4], *(LIGHT[n : n + 1] for n in range(4, KIND)), LIGHT[KIND:]],
    ],
)
def test_late_answers_are_dropped(pieces: list[bytes]) -> None:
    parser = Parser()
    keys = [getattr(e, "key", "?") for piece in ["a", *(p.decode() for p in pieces), "b"] for e in parser.feed(piece)]
    assert keys == ["a", "b"]


DIFF = "@@ -1,1 +1,1 @@\n-old words\n+new words\n"


@pytest.mark.parametrize(
    ("view", "columns", "beside"),
    [("auto", 130, True), ("side", 80, True), ("unified", 130, False)],
)
async def test_diffs_stand_as_was_chosen(tmp_path: Path, view: str, columns: int, beside: bool) -> None:
    pool = app(tmp_path, ui=InterfaceSettings(diff=DiffView(view)))
    async with pool.run_test(size=(columns, 24)) as pilot:
        entry = pool.transcript.add(DiffBlock())
        await pilot.pause(0.3)
        rows = pool.transcript.store.rows(entry)
        assert any("old words" in row.drawn and "new words" in row.drawn for row in rows) is beside


class DiffBlock(Block):
    """A diff alone."""

    def layout(self, at: Layout) -> Sequence[Line]:
        return diff_rows(DIFF, at)

    def source(self, part: int = 0) -> str:
        return DIFF


def test_escape_and_return_in_one_piece_are_alt_enter() -> None:
    assert [event.key for event in Parser().feed("\x1b\r") if isinstance(event, Key)] == ["alt+enter"]
    assert not list(Parser().feed("\x1b[200~a\x1b\rb"))
