"""Changes of one file by several commands at once, and what is said where a file cannot be written."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pool.agent.rules.kept import KeptApprovals
from pool.agent.rules.syntax import Action, parse_rule
from pool.config import writing
from pool.config.trust import TrustStore
from pool.config.writing import changing, write_whole

ADDS = """
import sys
from pathlib import Path
from pool.config.writing import changing, write_whole
path = Path(sys.argv[1])
for number in range(20):
    with changing(path):
        old = path.read_text() if path.exists() else ""
        write_whole(path, old + sys.argv[2])
"""


def test_no_change_is_lost_among_processes(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    processes = [subprocess.Popen([sys.executable, "-c", ADDS, str(path), mark]) for mark in "abc"]
    assert [process.wait(50) for process in processes] == [0, 0, 0]
    assert sorted(path.read_text()) == sorted("abc" * 20)
    assert [one.name for one in path.parent.iterdir()] == ["file"]


def test_answers_of_several_sessions_are_all_kept(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    numbers = range(12)

    def answer(number: int) -> None:
        TrustStore(tmp_path / "state", tmp_path / "work").trust({f"skill {number}": "hash"})
        rule = parse_rule(Action.ALLOW, f"shell(x{number})")
        KeptApprovals(tmp_path / "work", tmp_path / "state").add([rule])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(answer, numbers))
    assert len(TrustStore(tmp_path / "state", tmp_path / "work").load()) == len(numbers)
    assert len(KeptApprovals(tmp_path / "work", tmp_path / "state").load().rules) == len(numbers)


def test_a_change_that_never_ends_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "WAIT_SECONDS", 0.0)
    with changing(tmp_path / "x"), pytest.raises(OSError, match="another command changes it"), changing(tmp_path / "x"):
        pass
    with changing(tmp_path / "x"):
        pass


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "below"
    with pytest.raises(OSError, match="below") as error, changing(path):
        write_whole(path, "x")
    assert error.value.filename == str(path)
