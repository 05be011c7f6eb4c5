"""In a real terminal: what reaches it, and what is drawn while a reply streams."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.tui.terminal import Terminal

ROOT = Path(__file__).parents[3]
PROGRAM = [sys.executable, "-m", "tests.tui.transcript.hostile"]


def environment() -> dict[str, str]:
    paths = [str(ROOT), str(ROOT / "tools"), str(ROOT / "themes")]
    return {"PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "100", "LINES": "60"}


def whole(text: str) -> bool:
    """Whether all blocks are on the screen."""
    return "everything shown" in text and text.count("[red]H[/red]") >= 9


def test_no_escape_of_a_text_reaches_the_terminal() -> None:
    """Case TUI-03."""
    with Terminal(PROGRAM, cwd=ROOT, env=environment(), columns=100, rows=60) as terminal:
        text = terminal.wait_for(whole)
        raw = bytes(terminal.raw)
        terminal.send("q")
        assert terminal.wait_end() == 0
    assert b"\x1b]52" not in raw
    assert b"\x1b]8;" not in raw
    assert b"owned\x07" not in raw
    assert b"\x1b[6n" not in raw
    assert b"\x1b]unended" not in raw
    assert "\u202e".encode() not in raw
    assert b"\x9b31m" not in raw
    assert not re.search(rb"\x1b\[2J.*everything shown", raw, re.DOTALL)
    assert "A\\x1b]52;c;aGFja2Vk\\x07B" in text


COLOUR = re.compile(rb"[34]8;2;(\d+);(\d+);(\d+)")


def test_a_terminal_without_colours_shows_the_same_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown: list[str] = []
    greys: list[bool] = []
    for more in ({}, {"NO_COLOR": "1"}):
        with Terminal(PROGRAM, cwd=ROOT, env=environment() | more, columns=100, rows=60) as terminal:
            shown.append(terminal.wait_for(lambda text: whole(text) and COLOUR.search(bytes(terminal.raw)) is not None))
            colours = COLOUR.findall(bytes(terminal.raw))
        greys.append(all(red == green == blue for red, green, blue in colours))
    assert shown[0] == shown[1]
    assert greys == [False, True]
