"""A panel in a real terminal: opened by a command, worked by keys and the mouse, closed again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.conftest import Starts

WRITE = (
    "<tool_call>write<arg_key>path</arg_key><arg_value>{}</arg_value>"
    "<arg_key>content</arg_key><arg_value>{}</arg_value></tool_call>"
)


@pytest.mark.slow
def test_changes_are_looked_at_and_taken_back(start: Starts, tmp_path: Path) -> None:
    calls = WRITE.format("one.txt", "first\n") + WRITE.format("two.txt", "second\n")
    terminal = start(f"t</think>{calls}", "t</think>Both written.", flags=("--mode", "allow-all", "--sandbox", "off"))
    terminal.send("write them\r")
    terminal.wait_for("completed")
    terminal.send("/diff\r")
    screen = terminal.wait_for("Files changed: the last prompt, 2 files +2 -0")
    row = next(n for n, line in enumerate(screen.split("\n")) if "two.txt" in line)
    terminal.send(f"\x1b[<0;6;{row + 1}M\x1b[<0;6;{row + 1}m")
    terminal.wait_for(lambda text: "+ second" not in text and "+ first" in text)
    terminal.send("rr")
    terminal.wait_for("taken back: all of two.txt")
    assert not (tmp_path / "work" / "two.txt").exists()
    assert (tmp_path / "work" / "one.txt").exists()
    terminal.send("\x1b[H\x1b[H")
    terminal.send("\x1b[Bcshorter\r")
    terminal.wait_for("┃ shorter")
    terminal.send("\x1b")
    screen = terminal.wait_for(lambda text: "Files changed" not in text and "one.txt:1" in text)
    assert "> +first" in screen
    assert "shorter" in screen
