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
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "\\n3. And say so" >> "$1"\n')
    editor.chmod(0o755)
    write = CALL.format("shell", "command", "echo late > a.txt")
    texts = ("t</think>1. Write a.txt\n2. Read it", f"t</think>{TODO}", f"t</think>{write}", "t</think>All is done.")
    flags = ("--mode", "allow-all", "--sandbox", "off")
    terminal = start(*texts, flags=flags, env={"EDITOR": str(editor)}, rows=30)
    terminal.send("/plan make a file\r")
    terminal.wait_for("Carry out this plan?")
    terminal.wait_for("yes, in mode allow-all")
    terminal.wait_for("edit it first")
    terminal.press("5", "3. And say so", SETTLE_SECONDS)
    terminal.press("1", "I approve this plan", SETTLE_SECONDS)
    terminal.wait_for("I approve this plan. Carry it out:")
    terminal.wait_for("All is done.")
    assert (tmp_path / "work" / "a.txt").read_text() == "late\n"
    terminal.wait_for("1 of 3 mend")
    terminal.send(F3)
    terminal.wait_for("[ ] test")
    terminal.send(ESCAPE)
    terminal.wait_for(lambda text: "[ ] test" not in text)


def test_without_an_editor_the_plan_is_edited_in_the_box(start: Starts) -> None:
    texts = ("t</think>1. Do it", "t</think>Done as you say.")
    terminal = start(*texts, flags=("--mode", "plan"), env={"EDITOR": "/nonexistent/editor", "VISUAL": ""}, rows=30)
    terminal.send("make a file\r")
    terminal.wait_for("Carry out this plan?")
    terminal.press("4", "keeps it", SETTLE_SECONDS)
    terminal.wait_for("│ 1. Do it")
    terminal.send(" in capitals\r")
    terminal.wait_for("plan edited")
    terminal.wait_for("1. Do it in capitals")
