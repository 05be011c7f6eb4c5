"""The interface in a real terminal: what people type and see, and how it leaves the terminal behind."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from pool.facekit.approving import SETTLE_SECONDS
from pool.sim.process import running
from pool.sim.settings import SimSettings
from pool.tui.answerpanel import KEYS_COUNT
from tests.tui.conftest import Starts
from tests.tui.terminal import POOL, Terminal

pytestmark = pytest.mark.slow

SHELL = "<tool_call>shell<arg_key>command</arg_key><arg_value>{}</arg_value></tool_call>"
TYPED = "two words"

OFF = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?1004l", b"\x1b[?2004l")
"""Alternate screen off, cursor on, mouse, focus and paste reports off."""

STOPPED_SECONDS = 20.0
"""Far less than what is stopped would have taken, and enough for a busy machine."""

HOSTILE = "[/bold] tail [12] and [ok] [@click=app.quit]x[/] [step=load, n=3"


def ask(terminal: Terminal, text: str = "go") -> None:
    terminal.send(text)
    terminal.wait_for(text)
    terminal.send("\r")
    terminal.wait_for(f"▌ {text[:40]}")


def test_a_prompt_is_answered_and_leaving_says_how_to_come_back(start: Starts) -> None:
    terminal = start("Hm.</think>The answer is **forty-two**.")
    ask(terminal, "what is it?")
    screen = terminal.wait_for("completed")
    assert "The answer is forty-two." in screen
    assert "▌ what is it?" in screen
    assert terminal.leave() == 0
    assert re.search(rb"To go on with this session: pool --base-url \S+ -r [0-9a-f-]{36}", bytes(terminal.raw))


def test_text_is_never_markup(start: Starts) -> None:
    """TUI-01."""
    terminal = start(f"{HOSTILE} in a thought</think>{HOSTILE}", columns=100)
    ask(terminal, HOSTILE)
    screen = terminal.wait_for("completed")
    assert screen.count(HOSTILE) >= 2
    terminal.send("/rename [/bold]\r")
    terminal.wait_for("[/bold]")


def test_escape_sequences_of_files_and_models_do_not_reach_the_terminal(start: Starts, tmp_path: Path) -> None:
    """TUI-03."""
    hostile = "\x1b]52;c;aGk=\x07 \x1b]0;title\x07 \x1b]8;;http://x\x07link \x1b[2J \x1b[6n \x1b]never"
    (tmp_path / "work" / ".pool").mkdir(parents=True)
    (tmp_path / "work" / "bad.txt").write_text(f"before {hostile} after")
    config = f"[approvals]\nallow = ['shell']\n{json.dumps('x' + hostile)} = 1\n"
    (tmp_path / "work" / ".pool" / "config.toml").write_text(config)
    call = "<tool_call>read<arg_key>path</arg_key><arg_value>bad.txt</arg_value></tool_call>"
    terminal = start(f"t</think>{call}", f"t {hostile}</think>said {hostile} end")
    terminal.wait_for("pool config trust")
    ask(terminal)
    terminal.wait_for("completed")
    raw = bytes(terminal.raw)
    for sequence in (b"\x1b]52", b"\x1b]0;", b"\x1b]8;;http://x", b"\x1b[2J", b"\x1b[6n", b"\x1b]never"):
        assert sequence not in raw, sequence


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_as_it_was(start: Starts, number: signal.Signals) -> None:
    """TUI-02."""
    terminal = start("x</think>y", wait=False)
    before = terminal.modes
    terminal.wait_for("laguna-sim")
    assert terminal.modes != before
    os.kill(terminal.pid, number)
    assert terminal.wait_end() == 128 + number
    assert terminal.modes == before
    assert all(off in bytes(terminal.raw) for off in OFF)


def test_a_paste_of_ten_thousand_lines_in_pieces_is_one_block(start: Starts) -> None:
    """TUI-04: line ends are CR, and the end mark is cut in two."""
    terminal = start("t</think>got it")
    data = b"\x1b[200~" + b"\r".join(b"line %d" % n for n in range(10_000)) + b"\x1b[201~"
    for at in range(0, len(data), 4096):
        terminal.send(data[at : at + 4096])
    terminal.wait_for("[paste #1: 10,000 lines]")
    terminal.send("\r")
    screen = terminal.wait_for("completed")
    assert "got it" in screen


def test_escape_stops_a_command(start: Starts) -> None:
    """TUI-17."""
    terminal = start(f"t</think>{SHELL.format('sleep 60')}", flags=("--mode", "allow-all", "--sandbox", "off"))
    ask(terminal)
    terminal.wait_for("sleep 60 · running")
    begun = time.monotonic()
    terminal.send("\x1b")
    terminal.wait_for("interrupted")
    assert time.monotonic() - begun < STOPPED_SECONDS
    terminal.send("\x03")
    terminal.wait_for("Ctrl+C again leaves")


def test_sequences_cut_in_two_are_not_typed(start: Starts) -> None:
    """TUI-18. The end of a sequence is waited for longer than a busy machine takes to write it."""
    terminal = start("t</think>y", env={"ESCDELAY": "5000"})
    terminal.send("ab")
    for whole in (b"\x1b[D", b"\x1b[13;2u", b"\x1b[200~"):
        terminal.send(whole[:1])
        time.sleep(0.04)
        terminal.send(whole[1:])
        time.sleep(0.1)
    terminal.send(b"pasted\x1b[201~")
    screen = terminal.wait_for("pasted")
    assert not re.search(r"\[D|13;2u|200~", screen)


def test_the_view_stays_where_the_reader_is(start: Starts) -> None:
    """TUI-08."""
    lines = "\n\n".join(f"paragraph {n}" for n in range(60))
    terminal = start(f"t</think>{lines}", sim=("--rate", "40"))
    ask(terminal)
    terminal.wait_for("paragraph 20")
    terminal.send("\x1b[5~")
    terminal.wait_for("new output below")
    held = re.findall(r"paragraph \d+", terminal.text)
    time.sleep(1.0)
    assert re.findall(r"paragraph \d+", terminal.text) == held
    terminal.send("\x1b[F")
    terminal.wait_for("paragraph 59")


@pytest.mark.parametrize("size", [(7, 4), (3, 2), (1, 1)])
def test_tiny_windows_while_text_streams(start: Starts, size: tuple[int, int]) -> None:
    """TUI-10."""
    terminal = start("t</think>" + "words and 設定を読む " * 200, sim=("--rate", "200"))
    ask(terminal)
    terminal.send("設定を読む👩‍💻")
    terminal.wait_for("writing")
    terminal.resize(*size)
    time.sleep(0.3)
    terminal.resize(80, 24)
    screen = terminal.wait_for("設定を読む👩")
    assert "│ 設定を読む👩" in screen


def test_waiting_is_cheap_and_never_clears_the_screen(start: Starts) -> None:
    """TUI-11: under 5 KB a second, no full clear."""
    terminal = start("t</think>y", sim=("--prefill-rate", "200"))
    ask(terminal)
    terminal.wait_for("reading the prompt")
    before = len(terminal.raw)
    time.sleep(3.0)
    waited = bytes(terminal.raw[before:])
    assert len(waited) < 3 * 5 * 1024
    assert b"\x1b[2J" not in waited


def test_no_colour_means_none(start: Starts) -> None:
    """TUI-15."""
    terminal = start("t</think>some **bold** text", env={"NO_COLOR": "1"})
    ask(terminal)
    terminal.wait_for("completed")
    colours = set(re.findall(rb"\x1b\[[0-9;]*?((?:3|4)8;(?:5;\d+|2;\d+;\d+;\d+))[;m]", bytes(terminal.raw)))
    greys = {c for c in colours if len(set(c.split(b";")[2:])) <= 1}
    assert colours == greys


def test_a_dumb_terminal_is_told_what_works(tmp_path: Path) -> None:
    """TUI-15."""
    with Terminal(POOL, cwd=tmp_path, env={"TERM": "dumb"}) as terminal:
        assert terminal.wait_end() == 2
        assert b"pool run" in bytes(terminal.raw)
        assert b"\x1b" not in bytes(terminal.raw)


def test_suspended_and_back(tmp_path: Path) -> None:
    """TUI-16: Ctrl-Z gives a clean terminal to the shell; fg draws anew, at the size of then."""
    shell = ["bash", "--norc", "-i"]
    with running(SimSettings()) as server, Terminal(shell, cwd=tmp_path, env={"PS1": "shell> "}) as terminal:
        terminal.wait_for("shell>")
        terminal.send(f"{shlex.join(POOL)} --base-url {server.url}\r")
        terminal.wait_for("laguna-sim")
        terminal.send("kept words")
        terminal.wait_for("kept words")
        begun = len(terminal.raw)
        terminal.send("\x1a")
        terminal.wait_for("Stopped")
        terminal.wait_for(lambda _: all(off in bytes(terminal.raw[begun:]) for off in OFF))
        terminal.resize(100, 30)
        terminal.send("clear; fg\r")
        terminal.wait_for(
            lambda text: (
                text.rstrip().count("\n") == 29
                and "laguna-sim" in text.rstrip().split("\n")[-1]
                and "kept words" in text
            )
        )


def test_what_is_typed_while_it_starts_is_not_lost(start: Starts) -> None:
    terminal = start("t</think>answered", wait=False)
    terminal.send("typed early\r")
    screen = terminal.wait_for("completed")
    assert "▌ typed early" in screen
    assert "answered" in screen


def test_an_approval_is_answered_by_a_key_and_not_by_one_typed_ahead(start: Starts, tmp_path: Path) -> None:
    call = SHELL.format("touch made.txt")
    terminal = start(f"t</think>{call}", "t</think>done", flags=("--mode", "default"))
    ask(terminal)
    screen = terminal.wait_for("may it run?")
    terminal.send("y")
    assert "touch made.txt" in screen
    # A machine that takes longer than SETTLE_SECONDS to bring the key takes it for an answer, and rightly.
    if KEYS_COUNT in terminal.wait_for(lambda text: KEYS_COUNT in text or "completed" in text):
        assert not (tmp_path / "work" / "made.txt").exists()
        terminal.send("y")
    terminal.wait_for("completed")
    assert (tmp_path / "work" / "made.txt").exists()


def test_a_refusal_with_its_reason_reaches_the_model(start: Starts) -> None:
    call = SHELL.format("touch made.txt")
    terminal = start(f"t</think>{call}", "t</think>Could not do it: refused.", flags=("--mode", "default"))
    ask(terminal)
    terminal.wait_for("may it run?")
    time.sleep(SETTLE_SECONDS + 0.1)
    terminal.send("r")
    terminal.send("use the other file\r")
    terminal.wait_for("use the other file")
    screen = terminal.wait_for("Could not do it: refused.")
    assert "denied. use the other file" in screen


def test_steering_and_queueing_while_it_works(start: Starts) -> None:
    terminal = start(
        f"t</think>{SHELL.format('sleep 3')}",
        "t</think>first done",
        "t</think>second done",
        flags=("--mode", "allow-all", "--sandbox", "off"),
    )
    ask(terminal)
    terminal.wait_for("sleep 3 · running")
    terminal.send("think of the docs\r")
    terminal.wait_for("for this turn: think of the docs")
    terminal.send("and then this\t")
    terminal.wait_for("after this run: and then this")
    screen = terminal.wait_for("second done")
    assert "think of the docs" in screen
    assert "▌ and then this" in screen


def test_a_shell_line_of_ones_own_goes_with_the_next_prompt(start: Starts) -> None:
    terminal = start("t</think>seen")
    terminal.send("!echo $((40+2))\r")
    terminal.wait_for("exit status 0")
    assert "│ 42" in terminal.text
    ask(terminal, "what did I run?")
    terminal.wait_for("I ran this in my own shell: echo $((40+2))")
    terminal.wait_for("completed")


def test_a_move_offers_files_and_prompts_of_the_worktree(start: Starts, tmp_path: Path) -> None:
    """After `/move`: `@` lists what lies there, Up brings back what was typed there, and the way back names it."""
    work, tree = tmp_path / "work", tmp_path / "work.worktrees" / "side"
    work.mkdir()
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    for args in (("init", "-qb", "main"), ("commit", "-q", "--allow-empty", "-m", "First")):
        subprocess.run(["git", *identity, *args], cwd=work, check=True)
    (work / "only_here.txt").write_text("")
    terminal = start("Hm.</think>Yes.", columns=100)
    ask(terminal, "first")
    terminal.wait_for("completed")
    terminal.send("/move side\r")
    terminal.wait_for(lambda text: "▌ first" in text and "laguna-sim" in text and "(worktree)" in text.split("\n")[-1])
    (tree / "only_there.txt").write_text("")
    terminal.send("@only")
    screen = terminal.wait_for("only_there.txt")
    assert "only_here.txt" not in screen
    terminal.send("\x15\x1b[A")
    time.sleep(0.5)
    assert "/move side" not in terminal.text.rpartition("▌ first")[2]
    terminal.send("\x03")
    terminal.leave()
    assert re.search(rb"pool -C \S+/work.worktrees/side --base-url \S+ -r [0-9a-f-]{36}", bytes(terminal.raw))
