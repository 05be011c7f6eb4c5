"""A run in another process, in the full-screen interface and in the lines of `pool chat` at once."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pool.cli import attach, chat
from pool.facekit.approving import SETTLE_SECONDS
from pool.facekit.live.finding import by_id
from pool.facekit.live.place import live_records
from pool.sim.process import running
from pool.sim.settings import SimSettings
from tests.tui.terminal import POOL, Terminal

LIMIT_SECONDS = 30


def test_two_faces_show_one_run_and_leaving_lets_it_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    work = tmp_path / "work"
    work.mkdir()
    with running(SimSettings(port=0)) as sim:
        line = [
            *POOL,
            "run",
            "--base-url",
            sim.url,
            "--sandbox",
            "off",
            "--mode",
            "default",
            "--detach",
            "fix the tests",
        ]
        done = subprocess.run(line, cwd=work, capture_output=True, text=True, timeout=LIMIT_SECONDS)
        record = by_id(done.stdout.strip())
        name = record.session[-8:]
        try:
            with (
                Terminal([*POOL, "attach", name], cwd=tmp_path) as full,
                Terminal([*POOL, "chat", "--attach", name], cwd=tmp_path) as lines,
            ):
                full.wait_for("may it run?", LIMIT_SECONDS)
                lines.wait_for("no, and say why", LIMIT_SECONDS)
                # What came before is shown.
                full.wait_for("▌ fix the tests", LIMIT_SECONDS)
                lines.wait_for("> fix the tests", LIMIT_SECONDS)
                full.wait_for("default  none  laguna-sim", LIMIT_SECONDS)

                assert full.leave() == 0
                full.wait_for(f"The run goes on: pool attach {name} shows it", LIMIT_SECONDS)

                time.sleep(SETTLE_SECONDS)
                lines.send("n")
                lines.wait_for("denied", LIMIT_SECONDS)
                lines.wait_for(lambda text: "may it run?" not in text.splitlines()[-4:], LIMIT_SECONDS)
                lines.send("/status\r")
                lines.wait_for("none works", LIMIT_SECONDS)
                lines.send("/new\r")
                lines.wait_for("leave this run first", LIMIT_SECONDS)
                os.kill(record.pid, signal.SIGINT)
                assert lines.wait_end(LIMIT_SECONDS) != 0
                lines.wait_for("has ended, with exit code", LIMIT_SECONDS)
        finally:
            for one in live_records():
                os.kill(one.pid, signal.SIGKILL)


def test_a_run_that_is_not_there_is_a_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert attach.main(["beef"]) == attach.EXIT_USAGE
    assert chat.main(["--attach", "beef"]) == chat.EXIT_USAGE
    assert capsys.readouterr().err.count("pool ps lists them") == 2
