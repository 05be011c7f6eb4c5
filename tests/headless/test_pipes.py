"""`pool run` between other programs: closed and silent streams, settings that warn, many things on one stdout."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pool.sim.process import RunningSim, running
from pool.sim.settings import SimSettings

LIMIT_SECONDS = 20.0
SIGNALLED = 128
SOON_SECONDS = 6.0
"""Far below what a wait for a silent pipe would take, far above a start on a busy machine."""

POOL = [sys.executable, "-m", "pool"]


@pytest.fixture(scope="module")
def sim() -> Iterator[RunningSim]:
    with running(SimSettings(port=0)) as server:
        yield server


def flags(sim: RunningSim) -> list[str]:
    return ["--base-url", sim.url, "--sandbox", "off", "--mode", "allow-all", "--ephemeral"]


@pytest.mark.parametrize("form", ["json", "stream-json"])
def test_HEAD_02_warnings_do_not_reach_machine_output(sim: RunningSim, tmp_path: Path, form: str) -> None:
    """An unknown key in the project's settings, a Python warning asked for, and a tool that prints."""
    (tmp_path / ".pool").mkdir()
    (tmp_path / ".pool/config.toml").write_text('[server]\nmodle = "x"\n')
    (tmp_path / "note.txt").write_text("A note.\n")
    line = [*POOL, "run", "-o", form, "-v", *flags(sim), "Read note.txt"]
    env = {**os.environ, "PYTHONWARNINGS": "always"}
    done = subprocess.run(line, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, env=env)
    rows = [json.loads(row) for row in done.stdout.splitlines()]
    assert done.returncode == 0
    assert rows[-1]["reason"] == "completed"
    assert b"modle" in done.stderr


@pytest.mark.parametrize("words", [["run"], ["run", "-i", "stream-json", "-o", "json"], []])
def test_HEAD_11_nothing_to_do_and_nobody_there(words: list[str], tmp_path: Path) -> None:
    begun = time.monotonic()
    read, write = os.pipe()
    if "-i" in words:
        os.close(write)
    try:
        line = [*POOL, *words, *(["--base-url", "http://127.0.0.1:9", "--model", "m"] if words else [])]
        more = ["--sandbox", "off", "--mode", "allow-all"] if words else []
        done = subprocess.run([*line, *more], cwd=tmp_path, stdin=read, capture_output=True, timeout=LIMIT_SECONDS)
    finally:
        os.close(read)
        if "-i" not in words:
            os.close(write)
    assert done.returncode == 2
    assert done.stderr
    assert time.monotonic() - begun < SOON_SECONDS


def test_HEAD_03_a_pipe_that_speaks_late_is_left_alone(sim: RunningSim, tmp_path: Path) -> None:
    """(e): what comes after the wait is not part of the prompt, and nothing waits for it."""
    pool = shlex.join([*POOL, "run", *flags(sim), "What are you?"])
    done = subprocess.run(
        ["bash", "-c", f"(sleep 2; echo LATE) | {pool}"], cwd=tmp_path, capture_output=True, timeout=LIMIT_SECONDS
    )
    assert done.returncode == 0
    assert sim.seen[-1]["messages"][-1]["content"] == "What are you?"


@pytest.mark.parametrize("closed", ["<&-", "2>&-", ">&-"])
def test_closed_streams(sim: RunningSim, tmp_path: Path, closed: str) -> None:
    plain, driven = ["What are you?"], ["-i", "stream-json", "What are you?"]
    for words in (plain, driven) if closed == "<&-" else (plain,):
        pool = shlex.join([*POOL, "run", *flags(sim), *words])
        feed = "" if closed == "<&-" else "</dev/null"
        done = subprocess.run(["bash", "-c", f"{pool} {feed} {closed}"], cwd=tmp_path, capture_output=True)
        assert done.returncode == 0, done.stderr
        assert (b"simulator" in done.stdout) is (closed != ">&-")


def test_HEAD_06_a_signal_while_the_server_is_waited_for(tmp_path: Path) -> None:
    """No run has begun, and yet there is a last event and the signal's exit code."""
    words = ["--base-url", "http://127.0.0.1:9", "--wait-server", "60", "--sandbox", "off", "--mode", "allow-all"]
    process = subprocess.Popen([*POOL, "run", "-o", "json", *words, "Go."], cwd=tmp_path, stdout=subprocess.PIPE)
    end = time.monotonic() + LIMIT_SECONDS
    while not _catches(process.pid, signal.SIGTERM):
        assert time.monotonic() < end
        time.sleep(0.02)
    process.terminate()
    out, _ = process.communicate(timeout=LIMIT_SECONDS)
    code = SIGNALLED + signal.SIGTERM
    assert (process.returncode, json.loads(out)["exit_code"], json.loads(out)["reason"]) == (code, code, "signalled")


def _catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return caught is not None and bool(int(caught[1], 16) >> (number - 1) & 1)
