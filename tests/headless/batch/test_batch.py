"""`pool batch`: tasks, folders, results, resuming after a kill, and keeping within a server's limits."""

from __future__ import annotations

import asyncio
import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pool.headless.batch.command import main
from pool.headless.batch.conduct import Conduct
from pool.headless.batch.engine import Lost, Watch, ended_of
from pool.headless.batch.ledger import Attempt, Ended, Ledger
from pool.headless.batch.places import CALM_LOOKS, GROW_SECONDS, LOOK_SECONDS, Place
from pool.headless.batch.table import Board
from pool.headless.batch.tasks import BatchError, Task, read_tasks
from pool.headless.batch.workspaces import Workspaces
from pool.sessions.log import read_rows
from pool.sim.process import RunningSim, running
from pool.sim.settings import SimSettings
from pool.wire.metrics import ServerLoad

LIMIT_SECONDS = 40
QUESTION = "What are you?"
ALL = {"sandbox": "off", "mode": "allow-all"}


@pytest.fixture(scope="module")
def sim() -> Iterator[RunningSim]:
    with running(SimSettings(port=0)) as server:
        yield server


@pytest.fixture(scope="module")
def slow() -> Iterator[RunningSim]:
    with running(SimSettings(port=0, rate=10)) as server:
        yield server


def tasks_file(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "tasks.jsonl"
    path.write_text("".join(json.dumps({**ALL, **row}) + "\n" for row in rows))
    return path


def repository(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    for args in (["init", "-q"], ["add", "."], ["commit", "-qm", "First"]):
        identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *identity, *args], cwd=folder, check=True)
    return folder


def results(path: Path) -> list[dict[str, Any]]:
    return read_rows(path.read_bytes())[0] if path.exists() else []


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def processes(*words: str) -> list[int]:
    """Processes whose command lines have all these words in them."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if all(word in line for word in words):
            found.append(int(path.parent.name))
    return found


def test_tasks_work_apart_and_the_code_says_that_not_all_were_done(
    sim: RunningSim, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work, plain = repository(tmp_path / "work"), tmp_path / "plain dir"
    plain.mkdir()
    path = tasks_file(
        *(tmp_path, {"id": "tree", "prompt": QUESTION, "dir": "work"}),
        {"id": "copy/1", "prompt": "-- " + QUESTION, "dir": "plain dir", "max_turns": 3},
        {"prompt": "make the failing tests pass", "dir": "work", "isolate": "none", "max_turns": 1},
    )
    out = tmp_path / "out" / "results.jsonl"
    assert main([str(path), "--jobs", "3", "--server", f"{sim.url}=2", "--out", str(out)]) == 4
    rows = {row["id"]: row for row in results(out) if row["type"] == "task.finished"}
    assert {name: (row["exit_code"], row["reason"]) for name, row in rows.items()} == {
        "tree": (0, "completed"),
        "copy/1": (0, "completed"),
        "3": (5, "max_turns"),
    }
    assert rows["tree"]["branch"] == "pool/tasks-tree"
    assert Path(rows["tree"]["workspace"]) == tmp_path / "work.worktrees" / "pool-tasks-tree"
    assert Path(rows["copy/1"]["workspace"]) == tmp_path / "out" / "results.folders" / "copy-1"
    assert rows["3"]["workspace"] == str(work)
    assert rows["tree"]["result"]["type"] == "run.result"
    assert "FAIL  3: max_turns" in capsys.readouterr().err
    # Once more is refused, and going on works nothing anew.
    size = out.stat().st_size
    assert main([str(path), "--out", str(out)]) == 2
    assert main([str(path), "--out", str(out), "--resume", "--server", sim.url]) == 4
    assert out.stat().st_size == size
    assert "3 of 3 ended, 1 failed" in capsys.readouterr().err


def test_a_killed_batch_takes_its_runs_along_and_resumes(slow: RunningSim, sim: RunningSim, tmp_path: Path) -> None:
    repository(tmp_path / "work")
    path = tasks_file(tmp_path, *({"id": name, "prompt": QUESTION, "dir": "work"} for name in "ab"))
    out = tmp_path / "tasks.results.jsonl"
    line = [sys.executable, "-m", "pool", "batch", str(path), "--server"]
    batch = subprocess.Popen([*line, slow.url, "--jobs", "1"], stderr=subprocess.PIPE)
    until(lambda: len(results(out)) == 1 and len(slow.seen) == 1)
    assert len(processes("pool", str(tmp_path))) == 2
    batch.send_signal(signal.SIGKILL)
    batch.communicate()
    until(lambda: not processes("pool", str(tmp_path)))
    with out.open("ab") as file:
        file.write(b'{"type":"task.fin')
    again = subprocess.run([*line, sim.url, "--resume"], capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert again.returncode == 0, again.stderr
    ends = [(row["id"], row["attempt"], row["branch"]) for row in results(out) if row["type"] == "task.finished"]
    assert ends == [("a", 2, "pool/tasks-a-2"), ("b", 1, "pool/tasks-b")]


def test_ctrl_c_ends_what_works_in_order_and_is_resumed(slow: RunningSim, tmp_path: Path) -> None:
    path = tasks_file(tmp_path, {"id": "a", "prompt": QUESTION, "isolate": "none"})
    out = tmp_path / "tasks.results.jsonl"
    seen = len(slow.seen)
    line = [sys.executable, "-m", "pool", "batch", str(path), "--server", slow.url]
    batch = subprocess.Popen(line, stderr=subprocess.PIPE)
    until(lambda: len(slow.seen) > seen)
    batch.send_signal(signal.SIGINT)
    batch.communicate(timeout=LIMIT_SECONDS)
    assert batch.returncode == 130
    assert [(r["type"], r.get("reason")) for r in results(out)] == [
        ("task.started", None),
        ("task.finished", "interrupted"),
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ("{}", "`prompt` is missing"),
        ('{"prompt": 3}', "`prompt` has to be text"),
        ('{"prompt": " "}', "empty"),
        ('{"prompt": "x", "dir": "gone"}', "no folder"),
        ('{"prompt": "x", "max_turns": -1}', "number"),
        ('{"prompt": "x", "max_turns": true}', "number"),
        ('{"prompt": "x", "allow": "a"}', "list"),
        ('{"prompt": "x", "isolate": "vm"}', "vm"),
        ('{"prompt": "x", "colour": 1}', "colour"),
        ('{"prompt": "x", "id": "\\u001b[1m"}', "visible"),
        ('{"prompt": "x", "id": "2"}\n{"prompt": "y"}', "twice"),
        ("", "no task"),
    ],
)
def test_a_faulty_file_is_refused_with_the_line(
    line: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(line + "\n")
    assert main([str(path)]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert not (tmp_path / "tasks.results.jsonl").exists()


def test_flags_of_a_task_are_those_of_a_run(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    row = {"prompt": "x", "max_turns": 1e6, "max_seconds": 1.5, "mode": "plan", "allow": ["shell(git log *)"]}
    path.write_text(json.dumps(row))
    assert read_tasks(path)[0].flags() == [
        *("--mode=plan", "--max-turns=1000000", "--max-seconds=1.5", "--allow=shell(git log *)"),
    ]


def test_a_results_file_is_held_by_one_batch(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with Ledger(path, resume=False), pytest.raises(BatchError, match="another batch"):
        Ledger(path, resume=True)


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def place(most: int = 4) -> tuple[Place, Clock]:
    clock = Clock()
    return Place("", most, clock=clock), clock


def has_room(where: Place) -> bool:
    return asyncio.run(where.has_room())


def test_a_server_gets_more_only_while_nothing_waits_there() -> None:
    where, clock = place()
    where.take(ServerLoad(running=9, waiting=5))
    assert has_room(where)
    where.begin()
    assert not has_room(where)
    assert where.why_not == "requests wait there"
    clock.now += LOOK_SECONDS
    for _ in range(CALM_LOOKS):
        assert not has_room(where)
        where.take(ServerLoad(running=9, waiting=0))
    assert has_room(where)
    for _ in range(3):
        where.begin()
    clock.now += LOOK_SECONDS
    assert not has_room(where)


def test_a_queue_that_stays_takes_room() -> None:
    where, clock = place()
    for _ in range(3):
        where.begin()
    clock.now += LOOK_SECONDS
    for waiting in (1, 0, 2, 1, *(0 for _ in range(CALM_LOOKS))):
        where.take(ServerLoad(2, waiting))
    assert not has_room(where)
    assert where.why_not == "it has more than it can work"
    where.end()
    assert not has_room(where), "it works two at a time, so it keeps two tasks and gets no third"
    where.end()
    assert has_room(where)


def test_preemptions_take_room_and_time_gives_it_back() -> None:
    where, clock = place()
    where.take(ServerLoad(3, 0, preemptions=7))
    for _ in range(3):
        where.begin()
    clock.now += LOOK_SECONDS
    assert has_room(where)
    where.take(ServerLoad(3, 0, preemptions=8))
    assert not has_room(where)
    where.end()
    assert not has_room(where)
    where.end()
    for _ in range(CALM_LOOKS):
        where.take(ServerLoad(2, 0, preemptions=8))
    assert has_room(where)
    where.begin()
    clock.now += GROW_SECONDS
    where.take(ServerLoad(2, 0, preemptions=8))
    assert has_room(where)


def test_a_server_without_metrics_gets_all_jobs() -> None:
    where, _ = place(2)
    where.begin()
    assert has_room(where)
    where.begin()
    assert not has_room(where)


class Shaky:
    """An engine whose workers die a number of times."""

    def __init__(self, deaths: int) -> None:
        self.deaths = deaths

    async def work(self, attempt: Attempt, watch: Watch) -> Ended:
        if attempt.number <= self.deaths:
            raise Lost("a worker was lost")
        watch({"type": "turn.started", "turn": 1})
        return Ended(0, "completed", "", 0.1)

    async def close(self) -> None: ...


@pytest.mark.parametrize(("deaths", "ends"), [(2, (0, 3)), (9, (1, 3))])
def test_a_lost_worker_costs_an_attempt(deaths: int, ends: tuple[int, int], tmp_path: Path) -> None:
    task = Task("a", "x", str(tmp_path), isolate="none")
    with Ledger(tmp_path / "out.jsonl", resume=False) as ledger:
        board = Board(io.StringIO(), 1, 0, columns=60)
        work = Conduct(ledger, Shaky(deaths), [place()[0]], Workspaces("b", tmp_path), board, 1)
        asyncio.run(work.work([task], asyncio.Event()))
        assert (ledger.ended["a"]["exit_code"], ledger.ended["a"]["attempt"]) == ends


def test_a_process_that_left_no_result_is_told_by_what_it_said() -> None:
    assert ended_of({}, -9, "a\nb\n", 1.0).exit_code == 137
    assert ended_of({}, 0, "", 1.0).exit_code == 1
    assert ended_of({}, 2, "pool: no\n", 1.0).detail == "pool: no"
    assert ended_of({"exit_code": 0, "reason": "completed"}, 4, "", 1.0).exit_code == 4


def test_the_table_is_drawn_over_itself_and_shows_no_escapes() -> None:
    out = io.StringIO()
    board = Board(out, 2, 0, columns=60)
    attempt = Attempt(Task("a\u202e", "do\nit \x1b[31m now", "/"), 1, "/w", "", "")
    board.begin(attempt)
    board.wait("2 requests wait there")
    board.watch(attempt)({"type": "turn.started", "turn": 3})
    board.end(attempt, Ended(6, "loop", "again \x1b]0;x\x07", 61.0))
    board.close()
    text = out.getvalue()
    assert "FAIL" in text
    assert "\x1b[31m" not in text
    assert "\x1b]" not in text
    assert all(len(line) < 80 for line in text.split("\n"))
    assert text.count("\x1b[2F\x1b[J") >= 1
