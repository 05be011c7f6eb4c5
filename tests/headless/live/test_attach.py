"""`pool attach` at a real terminal: a person steers a run, answers by one key, and leaves it."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pool.facekit.approving import SETTLE_SECONDS
from pool.facekit.live.finding import by_id
from pool.facekit.live.place import LiveRecord, live_records
from pool.sim.process import RunningSim, running
from pool.sim.settings import SimSettings

LIMIT_SECONDS = 20
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(scope="module")
def sim() -> Iterator[RunningSim]:
    with running(SimSettings(port=0)) as server:
        yield server


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield
    for record in live_records():
        os.kill(record.pid, signal.SIGKILL)


def asking(sim: RunningSim, folder: Path) -> LiveRecord:
    """A run that will wait for an approval."""
    line = [sys.executable, "-m", "pool", "run", "--base-url", sim.url, "--sandbox", "off", "--mode", "default"]
    line += ["--detach", "make the failing tests pass"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    return by_id(done.stdout.strip())


class Terminal:
    """A person's terminal with `pool attach` in it."""

    def __init__(self, *args: str) -> None:
        self._pid, self._handle = pty.fork()
        if not self._pid:
            os.execv(sys.executable, [sys.executable, "-m", "pool", "attach", "--lines", *args])
        self.text = ""

    def until(self, words: str) -> None:
        end = time.monotonic() + LIMIT_SECONDS
        while words not in self.text:
            assert time.monotonic() < end, self.text
            if select.select([self._handle], [], [], 0.1)[0]:
                try:
                    data = os.read(self._handle, 65_536)
                except OSError:
                    data = b""
                assert data, self.text
                self.text += _ESCAPES.sub("", data.decode("utf-8", "replace")).replace("\r", "")

    def press(self, keys: str) -> None:
        os.write(self._handle, keys.encode())

    def end(self) -> int:
        """The exit code."""
        _, status = os.waitpid(self._pid, 0)
        os.close(self._handle)
        return os.waitstatus_to_exitcode(status)


def test_a_key_answers_a_line_is_a_prompt_and_ctrl_c_leaves(sim: RunningSim, tmp_path: Path) -> None:
    record = asking(sim, tmp_path)
    person = Terminal(record.session[-8:])
    person.until("may it run?")
    person.press("y")
    person.until("no, and say why")
    time.sleep(SETTLE_SECONDS / 2)
    person.press("y")
    time.sleep(SETTLE_SECONDS)
    assert live_records(), "keys that came with the question answer nothing"
    assert "denied" not in person.text
    person.press("r")
    person.until("why not?")
    person.press("not today\n")
    person.until("denied")
    person.until("files changed: none")
    assert "not today" in person.text.partition("why not?")[2]
    person.press("/mode fast\n")
    person.until("not known")
    person.press("What are you?\n")
    person.until("simulator")
    person.press("\x03")
    person.until("detached; pool attach")
    assert person.end() == 0


def test_an_end_of_the_run_elsewhere_ends_the_face_with_its_code(sim: RunningSim, tmp_path: Path) -> None:
    record = asking(sim, tmp_path)
    person = Terminal("--new", record.session)
    person.until("may it run?")
    os.kill(record.pid, signal.SIGINT)
    person.until("interrupted")
    assert person.end() == 130
