"""What the terminal answers, what it is told to be, and the theme that follows."""

from __future__ import annotations

import os
import pty
import sys
import termios
import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from pool.tui.background import QUESTION, Answer, Question, read_answer, theme_for, told_dark

TRUE = {"TERM": "xterm-256color"}
KIND = b"\x1b[?62;22c"


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\" + KIND, Answer(False)),
        (b"\x1b]11;rgb:1e/1e/2e\x07" + KIND, Answer(True)),
        (b"\x1b]11;rgba:0000/0000/0000/ffff\x1b\\" + KIND, Answer(True)),
        (b"ab\x1b]11;rgb:f/f/f\x07c" + KIND + b"\n", Answer(False, b"abc\n")),
        (KIND, Answer(None)),
        (b"typed", Answer(None, b"typed")),
        (b"", Answer()),
        (b"\x1b]11;nonsense\x07" + KIND, Answer(None)),
    ],
)
def test_answers(data: bytes, answer: Answer) -> None:
    assert read_answer(data) == answer


@pytest.mark.parametrize(
    ("value", "dark"),
    [("15;0", True), ("0;15", False), ("0;default;7", False), ("", None), ("x", None), ("0;99", None)],
)
def test_what_the_environment_tells(value: str, dark: bool | None) -> None:
    assert told_dark({"COLORFGBG": value}) is dark


@pytest.mark.parametrize(
    ("dark", "environ", "theme"),
    [
        (True, TRUE, "pool-dark"),
        (False, TRUE, "pool-light"),
        (None, TRUE, "pool-dark"),
        (None, {**TRUE, "COLORFGBG": "0;15"}, "pool-light"),
        (True, {**TRUE, "COLORFGBG": "0;15"}, "pool-dark"),
        (False, {"TERM": "linux"}, "sixteen-light"),
        (None, {"TERM": "xterm"}, "sixteen-dark"),
        (None, {"TERM": "xterm", "COLORTERM": "truecolor"}, "pool-dark"),
        (None, {"TERM": "a-terminal-of-tomorrow"}, "pool-dark"),
    ],
)
def test_themes_for_terminals(dark: bool | None, environ: dict[str, str], theme: str) -> None:
    assert theme_for(dark, environ) == theme


@contextmanager
def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Generator[tuple[int, int]]:
    ours, theirs = pty.openpty()
    with open(theirs, closefd=False) as stdin, open(theirs, "w", closefd=False) as stdout:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", stdout)
        yield ours, theirs
    os.close(ours)
    os.close(theirs)


def test_a_terminal_is_asked_and_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    with on_a_terminal(monkeypatch) as (ours, theirs):
        before = termios.tcgetattr(theirs)
        question = Question()
        question.ask()
        os.write(ours, b"early\r")
        threading.Timer(0.05, os.write, (ours, b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\" + KIND)).start()
        assert question.answer() == Answer(False, b"early\n")
        assert termios.tcgetattr(theirs) == before
        # Nothing that was typed or answered was echoed.
        assert os.read(ours, 4096) == QUESTION


def test_a_silent_terminal_costs_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    with on_a_terminal(monkeypatch) as (_, theirs):
        before = termios.tcgetattr(theirs)
        question = Question()
        question.ask()
        assert question.answer() == Answer()
        assert termios.tcgetattr(theirs) == before


def test_without_a_terminal_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    with open(read) as stdin, open(write, "w") as stdout:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", stdout)
        question = Question()
        question.ask()
        assert question.answer() == Answer()
