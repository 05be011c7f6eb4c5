"""The session log: whole records whatever happens, one owner at a time, and nothing acknowledged is lost."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.agent.hub import EventHub
from pool.events import Notice
from pool.sessions.log import LOCK_PAUSE_SECONDS, Header, SessionBusy, SessionLog, in_use, read_rows

ROOT = Path(__file__).resolve().parents[2]
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


FULL_DISK = """
import resource, sys
from pathlib import Path
from pool.sessions.log import SessionLog
said = []
log, _, _ = SessionLog.reopen(Path(sys.argv[1]), said.append)
before = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
n = 0
while log.saving:
    log.write({"n": n, "text": "x" * 999}, sync=n % 3 == 0)
    print(n, log.saving)
    n += 1
for n in range(n, n + 4):
    log.write({"n": n, "text": "x" * 99}, sync=True)
    print(n, log.saving)
resource.setrlimit(resource.RLIMIT_FSIZE, before)
log.write({"n": n + 1}, sync=True)
print(n + 1, log.saving)
print(len(said), *said, sep="|")
"""


def test_a_file_that_may_not_grow_keeps_whole_records_and_says_it_once(tmp_path: Path) -> None:
    """HEAD-10, with a limit of the kernel's; what waited is written once there is room."""
    path = made(tmp_path)
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=True)
    *lines, said = done.stdout.splitlines()
    saved = [line.split()[1] == "True" for line in lines]
    assert saved == [True] * (len(lines) - 6) + [False] * 5 + [True]
    assert said.startswith("2|nothing is being saved: File too large")
    assert [row["n"] for row in read_rows(path.read_bytes())[0][1:]] == list(range(len(lines)))


def test_what_the_disk_refused_when_it_was_forced_there_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SessionLog.create(tmp_path, HEADER, lambda text: None)
    log.write({"n": 0}, sync=False)

    def refuse(fd: int) -> None:
        os.ftruncate(fd, log.path.stat().st_size - 3)  # the kernel drops pages that it could not write
        raise OSError(5, "Input/output error")

    with log:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", refuse)
            log.write({"n": 1}, sync=True)
        assert not log.saving
        log.write({"n": 2}, sync=False)
        assert log.saving
    assert [row.get("n") for row in read_rows(log.path.read_bytes())[0]] == [None, 0, 1, 2]


def test_after_a_torn_record_that_cannot_be_taken_back_the_next_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write

    def half(fd: int, data: bytes) -> int:
        if len(data) < 5:
            raise OSError(28, "No space left on device")
        return real(fd, data[: len(data) // 2])

    def refuse(fd: int, size: int) -> None:
        raise OSError(5, "Input/output error")

    with SessionLog.create(tmp_path, HEADER, lambda text: None) as log:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", half)
            patch.setattr(os, "ftruncate", refuse)
            log.write({"n": 1}, sync=True)
        log.write({"n": 2}, sync=True)
    assert [row.get("n") for row in read_rows(log.path.read_bytes())[0]] == [None, 1, 2]


def test_a_session_that_is_deleted_while_it_is_opened_is_not_opened(tmp_path: Path) -> None:
    path = made(tmp_path)
    log, _, _ = SessionLog.reopen(path, print)
    assert in_use(path)
    with ThreadPoolExecutor() as pool:
        opening = pool.submit(SessionLog.reopen, path, print)
        time.sleep(LOCK_PAUSE_SECONDS)
        log.remove()
        with pytest.raises(FileNotFoundError):
            opening.result()
    assert not in_use(path)
    with pytest.raises(FileNotFoundError):
        SessionLog.reopen(path, print)


def test_looking_whether_a_session_is_in_use_does_not_keep_it_from_being_opened(tmp_path: Path) -> None:
    path = made(tmp_path)
    looker = os.open(path, os.O_RDONLY)
    fcntl.flock(looker, fcntl.LOCK_SH)
    with ThreadPoolExecutor() as pool:
        opening = pool.submit(SessionLog.reopen, path, print)
        time.sleep(LOCK_PAUSE_SECONDS)
        os.close(looker)
        opening.result()[0].close()
    assert not in_use(path)


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


def test_writers_killed_at_random_moments_lose_nothing_they_acknowledged() -> None:
    """Few here; `benchmarks/session_kills.py` kills a thousand. A process of its own, since the writers are forked."""
    argv = [sys.executable, "-m", "tests.sessions.killing", "25"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert counts["kills"] == 25
    assert counts["acknowledged"] >= 25
    assert counts["compared"] > 0
