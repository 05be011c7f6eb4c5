"""`pool keys` in a real terminal, and how it takes what is sent apart."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

from pool.tui.keys import DEFAULTS
from pool.tui.keyshow import ON, Pressed, Reader, line, warnings
from tests.tui.terminal import POOL, Terminal


def names(text: str) -> list[tuple[str, str]]:
    return [(p.sent, p.name) for p in Reader().feed(text)]


def test_keys_with_what_was_sent_for_each() -> None:
    sent = "a\x1b[A\x12\x1b[13;2u設"
    assert names(sent) == [
        ("a", "a"),
        ("\x1b[A", "up"),
        ("\x12", "ctrl+r"),
        ("\x1b[13;2u", "shift+enter"),
        ("設", "設"),
    ]
    (paste,) = Reader().feed("\x1b[200~two\rlines\x1b[201~")
    assert (paste.name, paste.pasted) == ("paste", 9)


def test_lines_say_what_a_key_does() -> None:
    assert line(Pressed("\r", "enter"), DEFAULTS).startswith("\\r")
    assert "send: send" in line(Pressed("\r", "enter"), DEFAULTS)
    assert line(Pressed("x", "x", "x"), DEFAULTS).endswith("typed")
    assert "ESC [A" in line(Pressed("\x1b[A", "up"), DEFAULTS)
    assert "\x1b" not in line(Pressed("\x1b]52;c;" + "x" * 100, ""), DEFAULTS)


@pytest.mark.parametrize(("says", "warned"), [("off", True), ("on", False), ("always", False)])
def test_tmux_without_extended_keys_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, warned: bool
) -> None:
    program = tmp_path / "tmux"
    program.write_text(f"#!/bin/sh\necho {says}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert bool(warnings({"TMUX": "x"})) is warned
    assert warnings({}) == []


def test_in_a_terminal_until_interrupted_twice(tmp_path: Path) -> None:
    with Terminal([*POOL, "keys"], cwd=tmp_path, env={"TMUX": ""}, columns=100) as terminal:
        before = terminal.modes
        terminal.wait_written(ON.encode())
        terminal.send("\x1b[5~")
        terminal.wait_for("pageup            page_up: one page up")
        terminal.send("\x1b")
        terminal.wait_for("escape            stop:")
        assert terminal.leave("interrupt: ") == 0
        assert terminal.modes == before
        assert bytes(terminal.raw).endswith(b"\x1b[<u\x1b[?2004l")


def test_ended_from_outside_it_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    with Terminal([*POOL, "keys"], cwd=tmp_path) as terminal:
        before = terminal.modes
        terminal.wait_written(ON.encode())
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.wait_end() == 128 + signal.SIGTERM
        assert terminal.modes == before
