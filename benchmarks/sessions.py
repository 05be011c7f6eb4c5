"""Opening a long session, and listing many: `python benchmarks/sessions.py --sessions 5000 --turns 2000`."""

from __future__ import annotations

import argparse
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pool.agent.history import History
from pool.agent.hub import EventHub
from pool.agent.ids import new_id
from pool.events import CallFinished, CallProposed, CallStarted, RunStarted, TurnFinished, Usage, UsageReported
from pool.headless.shown import shown_rows
from pool.messages import ToolCall
from pool.sessions.index import SessionIndex
from pool.sessions.log import Header, SessionLog, read_rows
from pool.sessions.replay import resumed
from pool.wire.reading import Reading

MS_PER_SECOND = 1000
ROUNDS = 7
RESULT = "    for line in lines:  # what a file says\n" * 30
LAST_ROWS = 200
"""Rows of which the first screen is made."""


def write(folder: Path, turns: int, workspace: str) -> Path:
    """A session with a read in every turn."""
    os.fdatasync = _no_sync
    session = new_id()
    with SessionLog.create(folder, Header(session, workspace, time.time(), "0"), print) as log:
        hub = EventHub(session, log)
        history = History("You are a coding agent. " * 100, hub.emit)
        words = " ".join(random.choices("fix mend read the parser session tests of 日本語".split(), k=6))
        hub.emit(RunStarted(words, workspace, "laguna", "http://127.0.0.1:8000", "auto", "none"))
        history.add_user(words)
        for number in range(turns):
            call = ToolCall(f"call_{number}", "read", '{"path":"src/parser.py"}')
            hub.emit(UsageReported(Usage(9000, 80, 8000, 40), 0.4, 2.0))
            history.add_assistant(Reading(content="Now this file.", reasoning="I look at it. " * 20), [call])
            hub.emit(CallProposed("read", {"path": "src/parser.py"}, "read", "Read src/parser.py"), call.id)
            hub.emit(CallStarted("read"), call.id)
            hub.emit(CallFinished("read", "ok", RESULT, 0.1, {"path": "src/parser.py"}), call.id)
            history.add_result(call.id, RESULT)
            hub.emit(TurnFinished("tool_calls", "whole", 1))
    return log.path


def _no_sync(fd: int) -> None:
    """Making sessions is not what is measured."""


def timed(work: Callable[[], object]) -> list[float]:
    """Milliseconds of each round."""
    out: list[float] = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        out.append((time.perf_counter() - started) * MS_PER_SECOND)
    return out


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.0f} [{min(values):.0f}-{max(values):.0f}]"


def open_session(path: Path) -> None:
    """What opening takes until the last messages can be shown."""
    log, rows, _ = SessionLog.reopen(path, print)
    found = resumed(rows)
    History("", lambda body: None, earlier=found.messages)
    text = list(shown_rows(rows[-LAST_ROWS:]))
    log.close()
    assert text


def started(argv: list[str], env: dict[str, str]) -> Callable[[], object]:
    return lambda: subprocess.run(argv, env=env, stdout=subprocess.DEVNULL, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure opening and listing sessions.")
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--sessions", type=int, default=5000)
    args = parser.parse_args()
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()}; "
        f"median [min-max], n={ROUNDS}\n"
    )
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where) / "pool" / "sessions"
        long = write(folder, args.turns, "/long")
        rows, _ = read_rows(long.read_bytes())
        what = f"a session of {args.turns:,} turns, {len(rows):,} events, {long.stat().st_size / 1e6:.1f} MB"
        print(f"opening {what}: {spread(timed(lambda: open_session(long)))} ms")
        for number in range(args.sessions - 1):
            write(folder, 1 + number % 4, f"/projects/{number % 50}")
        begun = time.perf_counter()
        SessionIndex(folder, print).close()
        print(f"index of {args.sessions:,} sessions made: {time.perf_counter() - begun:.1f} s")

        def listing(workspace: str, limit: int) -> None:
            with SessionIndex(folder, print) as index:
                index.entries(workspace, limit)

        def searching() -> None:
            with SessionIndex(folder, print) as index:
                index.search(["parser", "日本語"], limit=20)

        print(f"listing all of them, within the process: {spread(timed(lambda: listing('', 0)))} ms")
        print(f"listing the last 20: {spread(timed(lambda: listing('', 20)))} ms")
        print(f"searching: {spread(timed(searching))} ms")
        env = {**os.environ, "XDG_STATE_HOME": where}
        pool = [sys.executable, "-m", "pool"]
        for name, argv in (
            ("python -c pass", [sys.executable, "-c", "pass"]),
            ("pool --version", [*pool, "--version"]),
            ("pool sessions --all", [*pool, "sessions", "--all"]),
            ("pool sessions --all --limit 0", [*pool, "sessions", "--all", "--limit", "0"]),
            ("pool stats --all", [*pool, "stats", "--all"]),
        ):
            print(f"`{name}`: {spread(timed(started(argv, env)))} ms")


if __name__ == "__main__":
    main()
