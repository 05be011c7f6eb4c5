"""A plan in `pool chat`: the question below it, changes in the user's editor, and leaving while it waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.facekit.approving import SETTLE_SECONDS
from tests.repl.conftest import Starts

pytestmark = pytest.mark.slow

WRITE = "<tool_call>shell<arg_key>command</arg_key><arg_value>echo late > a.txt</arg_value></tool_call>"


def test_a_plan_is_edited_and_carried_out_and_another_is_left_waiting(start: Starts, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "\\n3. And say so" >> "$1"\n')
    editor.chmod(0o755)
    texts = ("t</think>1. Write a.txt\n2. Read it", f"t</think>{WRITE}", "t</think>All is done.", "t</think>1. Rest")
    terminal = start(*texts, flags=("--mode", "allow-all", "--sandbox", "off"), env={"EDITOR": str(editor)})
    terminal.send("/plan make a file\r")
    terminal.wait_for("no, edit it first")
    terminal.press("5", "3. And say so", SETTLE_SECONDS)
    terminal.wait_for(lambda text: text.count("yes, in mode allow-all") == 1)
    terminal.press("1", "plan approved, mode allow-all", SETTLE_SECONDS)
    terminal.wait_for("All is done.")
    assert (tmp_path / "work" / "a.txt").read_text() == "late\n"
    terminal.send("/plan and the rest\r")
    terminal.wait_for("Carry out this plan?")
    terminal.press("d", "the plan waits", SETTLE_SECONDS)
    terminal.send("/quit\r")
    assert terminal.wait_end() == 0
