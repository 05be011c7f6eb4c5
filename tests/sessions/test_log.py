"""The session log: whole records whatever happens, one owner at a time, and nothing acknowledged is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.agent.hub import EventHub
from pool.events import Notice
from pool.sessions.log import Header, SessionBusy, SessionLog, read_rows

HEADER = Header("018f-test", "/w", 1.0, "0")
WRITER = """
import sys
from pathlib import Path
from pool.sessions.log import SessionLog
log, rows, _ = SessionLog.reopen(Path(sys.argv[1]), print)
n = int(sys.argv[2])
while True:
    log.write({"type": "message.added", "n": n, "text": "x" * (n * 37 % 4000)}, sync=True)
    print(n, flush=True)
    n += 1
"""


def made(folder: Path) -> Path:
    with SessionLog.create(folder, HEADER, print) as log:
        return log.path


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    path = made(tmp_path)
    following, killed = 0, 0
    for round_ in range(12):
        args = [sys.executable, "-c", WRITER, str(path), str(following)]
        process = subprocess.Popen(args, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first
        time.sleep(0.002 * round_)
        process.send_signal(signal.SIGKILL)
        rest = process.communicate()[0].splitlines()
        killed += 1
        acknowledged = [int(line) for line in [first, *rest] if line.strip().isdigit()]
        log, rows, _ = SessionLog.reopen(path, print)
        log.close()
        numbers = [r["n"] for r in rows if r["type"] == "message.added"]
        assert numbers == list(range(len(numbers)))
        assert numbers[-1] >= acknowledged[-1]
        following = len(numbers)
    assert killed == 12


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_torn_last_line_is_cut_off_and_said(tmp_path: Path, cut: int) -> None:
    """HEAD-08."""
    path = made(tmp_path)
    with path.open("ab") as file:
        file.write(b'{"type":"notice","n":1}\n{"type":"notice","n":2}\n'[:-cut])
    log, rows, damage = SessionLog.reopen(path, print)
    with log:
        assert [r.get("n") for r in rows] == [None, 1]
        assert damage == 24 - cut
        log.write({"type": "notice", "n": 3}, sync=True)
    assert [r.get("n") for r in read_rows(path.read_bytes())[0]] == [None, 1, 3]


def test_an_empty_file_opens(tmp_path: Path) -> None:
    """HEAD-09."""
    path = tmp_path / "empty.jsonl"
    path.touch()
    log, rows, damage = SessionLog.reopen(path, print)
    log.close()
    assert (rows, damage) == ([], 0)


def test_one_owner_at_a_time_and_a_dead_one_does_not_block(tmp_path: Path) -> None:
    """HEAD-07."""
    path = made(tmp_path)
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path), "0"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    with pytest.raises(SessionBusy):
        SessionLog.reopen(path, print)
    process.kill()
    process.communicate()
    log, _, _ = SessionLog.reopen(path, print)
    log.close()


def test_a_full_disk_is_said_once_and_saving_goes_on_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HEAD-10, with a disk that takes a part of a record and then no more."""
    path = made(tmp_path)
    said: list[str] = []
    log, _, _ = SessionLog.reopen(path, said.append)
    real, room = os.write, [10]

    def write(fd: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        taken = real(fd, data[: room[0]])
        room[0] -= taken
        return taken

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        for n in range(3):
            log.write({"type": "notice", "n": n}, sync=True)
        assert not log.saving
    assert len(said) == 1
    assert "No space left" in said[0]
    assert [r.get("n") for r in read_rows(path.read_bytes())[0]] == [None]
    log.write({"type": "notice", "n": 3}, sync=True)
    assert log.saving
    assert len(said) == 2
    log.close()
    assert [r.get("n") for r in read_rows(path.read_bytes())[0]] == [None, 0, 1, 2, 3]


def test_events_and_text_of_every_kind_are_kept(tmp_path: Path) -> None:
    with SessionLog.create(tmp_path, HEADER, print) as log:
        hub = EventHub("s", log)
        hub.emit(Notice("info", "日本 🚀 \x1b \u2028"))
    rows, _ = read_rows(log.path.read_bytes())
    assert rows[1]["text"] == "日本 🚀 \x1b \u2028"
    assert log.path.stat().st_mode & 0o777 == 0o600


@given(st.binary(max_size=300))
def test_any_bytes_can_be_read(data: bytes) -> None:
    rows, good = read_rows(data)
    assert good <= len(data)
    assert read_rows(data[:good])[0] == rows
    for row in rows:
        json.dumps(row)
