"""Telling a person who looks elsewhere: the bell, what terminals know, the desktop; the window's title."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.config.interface import InterfaceSettings, Notify
from pool.config.settings import Settings
from pool.events import ApprovalAsked, Envelope, Event, RunFinished, RunStarted, StopReason, Usage
from pool.facekit.desktop import by_desktop
from pool.tui.app import PoolApp
from pool.tui.attention import guess, notification, through_tmux, window_title
from tests.tui.waiting import until

HOSTILE = "a\x1b]52;c;eA==\x07;b\nc\x9bd"


@pytest.mark.parametrize(
    ("how", "sequence"),
    [
        ("off", ""),
        ("bell", "\x07"),
        ("osc9", "\x1b]9;a ]52;c;eA== ;b c d\x07"),
        ("osc777", "\x1b]777;notify;Pool;a ]52,c,eA== ,b c d\x07"),
        ("osc99", "\x1b]99;;a ]52;c;eA== ;b c d\x1b\\"),
    ],
)
def test_a_text_stays_within_its_sequence(how: str, sequence: str) -> None:
    assert notification(HOSTILE, how) == sequence


def test_a_sequence_goes_through_tmux_and_the_bell_needs_no_help() -> None:
    assert through_tmux("\x1b]99;;x\x1b\\") == "\x1bPtmux;\x1b\x1b]99;;x\x1b\x1b\\\x1b\\"
    assert through_tmux("\x07") == "\x07"


@pytest.mark.parametrize(
    ("environ", "how"),
    [
        ({"TERM": "xterm-kitty"}, "osc99"),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/x"}, "bell"),
        ({"TERM_PROGRAM": "iTerm.app"}, "osc9"),
        ({"TERM": "foot"}, "osc777"),
        ({"VTE_VERSION": "7600"}, "osc777"),
        ({"TERM": "xterm-256color"}, "bell"),
    ],
)
def test_what_a_terminal_is_known_to_take(environ: dict[str, str], how: str) -> None:
    assert guess(environ) == how


def test_the_title_is_the_folder() -> None:
    assert window_title(Path("/home/you/shop"), "●") == "\x1b]2;● shop - pool\x07"


def test_the_desktop_is_given_text_and_no_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_file = tmp_path / "said"
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {assert_file}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("DISPLAY", ":0")
    assert by_desktop("--shop: <b>x</b>")
    assert assert_file.read_text() == "--app-name=Pool|--|Pool|--shop: &lt;b&gt;x&lt;/b&gt;|"
    program.write_text("#!/bin/sh\nexit 1\n")
    assert not by_desktop("x")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert not by_desktop("x")


class Telling(PoolApp):
    """The app with nothing behind it, which keeps what it writes to the terminal."""

    def __init__(self, how: Notify) -> None:
        super().__init__(Settings(Path("/home/you/shop"), ui=InterfaceSettings(notify=how)))
        self.written = list[str]()

    def begin(self) -> None:
        pass

    def write(self, sequence: str) -> None:
        self.written.append(sequence)


def events(*bodies: RunStarted | ApprovalAsked | RunFinished) -> list[Event]:
    return [Event(Envelope("s", "r", 1, n, 0.0, 0.0), body) for n, body in enumerate(bodies)]


async def test_who_looks_elsewhere_is_told_and_who_looks_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    app = Telling(Notify.OSC9)
    run = events(
        RunStarted("p", "/w", "m", "s", "auto", "bubblewrap"),
        ApprovalAsked("shell", "no rule"),
        RunFinished(StopReason.COMPLETED, 0, "", "Done.", 1, 2.0, Usage(10, 5, 0, 0)),
    )
    async with app.run_test() as pilot:
        await until(pilot, app.whole.is_set)
        for event in run:
            app.hearing.take(event)
        titles = ["\x1b]2;● shop - pool\x07", "\x1b]2;shop - pool\x07"]
        assert app.written[-2:] == titles
        app.written.clear()
        app.has_terminal_focus = False
        for event in run:
            app.hearing.take(event)
        assert [s for s in app.written if s not in titles] == [
            "\x1b]9;shop: waits for your answer\x07",
            "\x1b]9;shop: finished: completed\x07",
        ]


async def test_without_a_desktop_the_bell_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    app = Telling(Notify.DESKTOP)
    async with app.run_test() as pilot:
        await until(pilot, app.whole.is_set)
        app.has_terminal_focus = False
        app.hearing.take(events(ApprovalAsked("shell", "no rule"))[0])
        await until(pilot, lambda: "\x07" in app.written)
