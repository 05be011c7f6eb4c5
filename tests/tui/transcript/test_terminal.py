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


COLOUR = re.compile(rb"[34]8;2;(\d+);(\d+);(\d+)[;m]")
"""A whole one: what has been read may end anywhere."""


def greys(terminal: Terminal) -> list[bool]:
    """Of each colour that was sent, whether it is a grey."""
    return [len(set(levels)) == 1 for levels in COLOUR.findall(bytes(terminal.raw))]


def test_a_terminal_without_colours_shows_the_same_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    with (
        Terminal(PROGRAM, cwd=ROOT, env=environment(), columns=100, rows=60) as coloured,
        Terminal(PROGRAM, cwd=ROOT, env=environment() | {"NO_COLOR": "1"}, columns=100, rows=60) as grey,
    ):
        grey.wait_for(lambda text: whole(text) and text == coloured.text)
        coloured.wait_for(lambda _: False in greys(coloured))
        grey.wait_for(lambda _: True in greys(grey))
        assert False not in greys(grey)
