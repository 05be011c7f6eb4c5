"""A list of steps and a plan, seen and decided in a real terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.facekit.approving import SETTLE_SECONDS
from tests.tui.conftest import Starts

pytestmark = pytest.mark.slow

ESCAPE, F3 = "\x1b", "\x1bOR"
CALL = "<tool_call>{}<arg_key>{}</arg_key><arg_value>{}</arg_value></tool_call>"
TODO = CALL.format("todo", "items", '["[x] look", "[>] mend \\u001b[31mit", "[ ] test"]')


def test_a_plan_is_edited_and_carried_out_and_the_list_is_shown(start: Starts, tmp_path: Path) -> None:
    """The editor cannot be run, so the plan is changed in the box."""
    write = CALL.format("shell", "command", "echo late > a.txt")
    texts = ("t</think>1. Write a.txt\n2. Read it", f"t</think>{TODO}", f"t</think>{write}", "t</think>All is done.")
    flags = ("--mode", "allow-all", "--sandbox", "off")
    terminal = start(*texts, flags=flags, env={"EDITOR": "/nonexistent/editor", "VISUAL": ""}, rows=30)
    terminal.send("/plan make a file\r")
    terminal.wait_for("Carry out this plan?")
    terminal.wait_for("yes, in mode allow-all")
    terminal.wait_for("edit it first")
    terminal.press("5", "keeps it", SETTLE_SECONDS)
    terminal.wait_for("│ 1. Write a.txt")
    terminal.send(", and say so\r")
    terminal.wait_for("plan edited")
    terminal.press("1", "I approve this plan", SETTLE_SECONDS)
    terminal.wait_for("2. Read it, and say so")
    terminal.wait_for("All is done.")
    assert (tmp_path / "work" / "a.txt").read_text() == "late\n"
    terminal.wait_for("1 of 3 mend")
    terminal.send(F3)
    terminal.wait_for("[ ] test")
    terminal.send(ESCAPE)
    terminal.wait_for(lambda text: "[ ] test" not in text)
