"""Logs that are made at once: whatever ends the making, a fork is whole or not there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pool.sessions.forks import fork
from pool.sessions.wholelog import STALE_SECONDS, write_logs
from tests.sessions.checkpoints.test_rewind import SESSION, found, talk

OTHER = "0192bbbb-0000-7000-8000-00000000000b"
STOPPED_AFTER_BYTES = 2_000
FORKING = f"""
import os, signal, sys, time
from pathlib import Path
from pool.sessions.forks import fork
from pool.sessions.store import by_id

# As a kill would come, in the middle of the writing: after some bytes of it.
import pool.sessions.wholelog as whole
encoded, done = whole.encoded_row, 0

def dying(row):
    global done
    done += len(encoded(row))
    if done > {STOPPED_AFTER_BYTES}:
        os.kill(os.getpid(), signal.SIGKILL)
    return encoded(row)

whole.encoded_row = dying
fork(by_id(Path(sys.argv[1]), {SESSION!r}), {OTHER!r}, "0")
"""


def test_a_killed_fork_leaves_no_session(tmp_path: Path) -> None:
    talk(tmp_path, 1, 30)
    done = subprocess.run([sys.executable, "-c", FORKING, str(tmp_path)], check=False)
    assert done.returncode == -9
    assert [p.name for p in tmp_path.glob("*.jsonl")] == [f"{SESSION}.jsonl"]
    (left,) = tmp_path.glob(".*")
    fork(found(tmp_path), OTHER.replace("b", "c"), "0")
    assert left.exists()
    old = time.time() - 2 * STALE_SECONDS
    os.utime(left, (old, old))
    fork(found(tmp_path), OTHER.replace("b", "d"), "0")
    assert not left.exists()


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(OSError, match=f"No space.*{tmp_path}"):
        write_logs(tmp_path, [("one", [{"type": "session"}])])
    assert list(tmp_path.iterdir()) == []
