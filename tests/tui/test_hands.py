"""What a person does with both hands on the keys: takes back, stops, begins anew. In a real terminal."""

from __future__ import annotations

import time

import pytest

from pool.tui.completion import Offer
from tests.tui.conftest import Starts
from tests.tui.views import StillApp

pytestmark = pytest.mark.slow

ESCAPE, UP, INTERRUPT = "\x1b", "\x1b[A", "\x03"
SHELL = "<tool_call>shell<arg_key>command</arg_key><arg_value>{}</arg_value></tool_call>"


def test_what_waits_is_taken_back_by_a_key(start: Starts) -> None:
    terminal = start(f"t</think>{SHELL.format('sleep 9')}", flags=("--mode", "allow-all", "--sandbox", "off"))
    terminal.send("go\r")
    terminal.wait_for("sleep 9 · running")
    terminal.send("and then this\t")
    terminal.wait_for("after this run: and then this")
    terminal.send(UP)
    terminal.wait_for(lambda text: "│ and then this" in text and "after this run" not in text)
    terminal.send("\t")
    terminal.wait_for("after this run: and then this")
    terminal.send(ESCAPE)
    terminal.wait_for("after the next run: and then this")


def test_a_shell_line_is_stopped_and_a_new_session_keeps_the_mode(start: Starts) -> None:
    terminal = start("Hm.</think>Yes.", flags=("--mode", "default"))
    terminal.send("!sleep 30\r")
    terminal.wait_for("! sleep 30 · running")
    terminal.send(INTERRUPT)
    terminal.wait_for("! sleep 30 · stopped")
    terminal.send("/mode plan\r")
    terminal.wait_for("default to plan")
    terminal.send("/new\r")
    screen = terminal.wait_for(lambda text: "default to plan" not in text and "laguna-sim" in text)
    assert screen.splitlines()[-1].startswith(" plan")


def test_two_presses_of_escape_with_words_between_are_not_one_gesture(start: Starts) -> None:
    terminal = start("Hm.</think>Yes.")
    terminal.send("hello\r")
    terminal.wait_for("completed")
    terminal.send(ESCAPE)
    terminal.wait_for("Esc again goes back")
    terminal.send("/mode\r")
    terminal.wait_for("accept-edits")
    terminal.send(ESCAPE)
    time.sleep(0.5)
    assert "Go back to before a prompt" not in terminal.text


async def test_offers_leave_the_box_in_a_low_window() -> None:
    app = StillApp("pool-dark")
    async with app.run_test(size=(40, 12)) as pilot:
        app.completion.show_offers([Offer(f"/{name}") for name in "abcdefghij"])
        await pilot.pause()
        assert 1 < app.completion.size.height < 8
        assert app.box.region.bottom <= app.bar.region.y


def test_what_is_typed_after_a_click_into_the_conversation_is_not_lost(start: Starts) -> None:
    terminal = start("Hm.</think>Yes.")
    terminal.send("hello\r")
    terminal.wait_for("completed")
    terminal.send("\x1b[<0;5;16M\x1b[<0;5;16m")
    time.sleep(0.5)
    terminal.send("What now")
    terminal.wait_for("│ What now")


def test_a_session_that_is_gone_on_with_is_as_it_was_left(start: Starts) -> None:
    """Its mode, and what the user ran last beside it, which the model is told with the next prompt."""
    terminal = start("t</think>Said.", flags=("hello",))
    terminal.wait_for("completed")
    terminal.send("\x1b[Z\x1b[Z\x1b[Z")
    terminal.wait_for("mode: auto to accept-edits")
    terminal.send("!echo own-words\r")
    terminal.wait_for("exit status 0")
    terminal.send("\x04")
    assert terminal.wait_end() == 0
    again = start("t</think>Again.", flags=("-c",), wait=False)
    screen = again.wait_for("going on with session")
    assert "in mode accept-edits" in screen
    assert "own-words" in screen
    again.send("/mode plan\r")
    again.wait_for("mode plan:")


def test_the_cursor_is_where_text_is_composed(start: Starts) -> None:
    """Input methods draw at the terminal's cursor: before the first key, and when the box has moved."""
    terminal = start("t</think>Said.")
    terminal.wait_for(lambda text: terminal.cursor == (2, box_row(text)))
    terminal.send("日本\n")
    terminal.wait_for(lambda text: "日本" in text and terminal.cursor == (2, box_row(text) + 1))
    terminal.resize(60, 18)
    terminal.wait_for(lambda text: len(text.splitlines()[-1]) <= 60 and terminal.cursor == (2, box_row(text) + 1))


def box_row(text: str) -> int:
    """The row of the first line in the prompt box."""
    return max((row for row, line in enumerate(text.split("\n")) if line.startswith("╭")), default=-9) + 1
