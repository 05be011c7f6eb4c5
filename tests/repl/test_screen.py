"""`pool chat` in a real terminal: what people type and see, and how it leaves the terminal behind."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests.repl.conftest import Starts

pytestmark = pytest.mark.slow

SHELL = "<tool_call>shell<arg_key>command</arg_key><arg_value>{}</arg_value></tool_call>"
WRITE = (
    "<tool_call>write<arg_key>path</arg_key><arg_value>new.py</arg_value>"
    "<arg_key>content</arg_key><arg_value>one\n</arg_value></tool_call>"
)
UNCONFINED = ("--mode", "allow-all", "--sandbox", "off")
HOSTILE = "\x1b]52;c;aGk=\x07 \x1b]0;title\x07 \x1b[2J \x1b[6n [bold]"
SETTLED_SECONDS = 0.8

STOPPED_SECONDS = 20.0
"""Far less than what is stopped would have taken, and enough for a busy machine."""


def test_a_talk(start: Starts) -> None:
    """Code in colours, lines joined, a large paste as one, history searched, and how to come back."""
    code = "```python\ndef f():\n    return 1\n```"
    terminal = start(f"Some thought</think># Title\n\n{code}\n\nThe end.", "t</think>second", "t</think>third")
    terminal.send("first line\\\rsecond line\nthird line")
    terminal.wait_for("  third line")
    terminal.send("\r")
    terminal.wait_for("✓ completed")
    raw = bytes(terminal.raw)
    assert b"\x1b[35mdef\x1b[0m \x1b[34mf\x1b[0m():" in raw
    assert b"\x1b[?1049h" not in raw
    assert terminal.text.startswith("Pool")
    terminal.send("\x14")
    terminal.wait_for("│ Some thought")
    data = b"\x1b[200~" + b"\r".join(b"line %d" % n for n in range(10_000)) + b"\x1b[201~"
    for at in range(0, len(data), 4096):
        terminal.send(data[at : at + 4096])
    terminal.wait_for("[paste #1: 10,000 lines]")
    terminal.send("\r")
    terminal.wait_for("… 9,988 more lines")
    terminal.wait_for(lambda text: "\nsecond\n" in text and "Esc stops" not in text)
    terminal.send("\x12ird l")
    terminal.wait_for("  third line")
    terminal.send("\r\r")
    terminal.wait_for(lambda text: "\nthird\n" in text and "Esc stops" not in text)
    assert terminal.leave() == 0
    said = rb"To go on with this session: pool chat --base-url \S+ -r [0-9a-f-]{36}\r\n$"
    assert re.search(said, bytes(terminal.raw))


def test_approvals_and_questions(start: Starts, tmp_path: Path) -> None:
    """A no has its reason; a diff has colours; hostile text is data."""
    ask = "<tool_call>ask<arg_key>question</arg_key><arg_value>Which?</arg_value></tool_call>"
    terminal = start(
        f"t</think>{SHELL.format('touch made.txt')}", f"t</think>{WRITE}", f"t</think>{ask}", f"t</think>{HOSTILE}",
        flags=("--mode", "default"),
    )  # fmt: skip
    terminal.send("go\r")
    terminal.wait_for("y  yes, once")
    time.sleep(SETTLED_SECONDS)
    terminal.send("y")
    screen = terminal.wait_for("write: may it run?")
    assert "✓ $ touch made.txt" in screen
    assert (tmp_path / "work" / "made.txt").exists()
    terminal.wait_for("r  no, and say why")
    assert b"\x1b[32m+one\x1b[0m" in bytes(terminal.raw)
    time.sleep(SETTLED_SECONDS)
    terminal.send("rnot there\r")
    terminal.wait_for("denied. not there")
    terminal.wait_for("0  answer in your own words")
    time.sleep(SETTLED_SECONDS)
    terminal.send("0this one\r")
    terminal.wait_for("Which? → this one")
    terminal.wait_for("[bold]")
    raw = bytes(terminal.raw)
    for sequence in (b"\x1b]52", b"\x1b]0;", b"\x1b[2J", b"\x1b[6n"):
        assert sequence not in raw, sequence


def test_working_together(start: Starts) -> None:
    """Steering, the queue, the live end of a command's output, and a stop within a second."""
    command = "printf '\\033[31mred\\033[0m\\n'; sleep 2"
    terminal = start(
        f"t</think>{SHELL.format(command)}", "t</think>first done", f"t</think>{SHELL.format('sleep 60')}",
        flags=UNCONFINED,
    )  # fmt: skip
    terminal.send("go\r")
    terminal.wait_for(lambda text: "  red" in text and "running shell" in text)
    terminal.send("think of the docs")
    terminal.wait_for("Esc stops, Tab queues")
    terminal.send("\r")
    terminal.wait_for("for this turn: think of the docs")
    terminal.send("and then this")
    terminal.wait_for("> and then this")
    terminal.send("\t")
    terminal.wait_for("after this run: and then this")
    terminal.wait_for("> and then this")
    assert b"  \x1b[31mred\x1b[0m" in bytes(terminal.raw)
    terminal.wait_for(lambda text: "$ sleep 60" in text and "running shell" in text)
    begun = time.monotonic()
    terminal.send("\x1b")
    terminal.wait_for("interrupted: the user stopped it")
    assert time.monotonic() - begun < STOPPED_SECONDS
    screen = terminal.text
    assert "> think of the docs\n  (while it worked)" in screen
    assert "first done" in screen


def test_no_colour_and_a_signal(start: Starts) -> None:
    """NO_COLOR: not one SGR sequence. SIGTERM: the terminal as it was, and a way back."""
    terminal = start("t</think>**some** `code`\n```python\nx = 1\n```", env={"NO_COLOR": "1"}, flags=("--vi",))
    terminal.send("xgo\x1b")
    time.sleep(0.4)
    terminal.send("0x")
    terminal.wait_for("> go")
    terminal.send("\r")
    terminal.wait_for("✓ completed")
    assert not re.search(rb"\x1b\[[0-9;:]*m", bytes(terminal.raw))
    terminal.send("kept words")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.wait_end() == 128 + signal.SIGTERM
    raw = bytes(terminal.raw)
    assert raw.rstrip().endswith(b"\x1b[?2004l") or b"\x1b[?2004l" in raw[raw.rindex(b"completed") :]
    assert b"To go on with this session" in raw


def test_a_dumb_terminal_gets_plain_lines(start: Starts, tmp_path: Path) -> None:
    """TUI-15: no escape at all; a question is answered by a line, and a word to what works by one too."""
    terminal = start(
        f"t</think>{SHELL.format('touch made.txt')}", "t</think>done",
        env={"TERM": "dumb"}, flags=("--mode", "default"), until="\n>",
    )  # fmt: skip
    terminal.send("go\n")
    terminal.wait_for("your answer:")
    time.sleep(SETTLED_SECONDS)
    terminal.send("y\n")
    terminal.wait_for(lambda text: "\ncompleted" in text and text.rstrip().endswith(">"))
    assert (tmp_path / "work" / "made.txt").exists()
    terminal.send("\x04")
    assert terminal.wait_end() == 0
    raw = bytes(terminal.raw)
    assert b"\x1b" not in raw
    assert b"[ok] $ touch made.txt" in raw
    assert re.search(rb"\r\nTo go on with this session: pool chat --base-url \S+ -r [0-9a-f-]{36}", raw)
