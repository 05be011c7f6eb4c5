"""Sessions whose writers are killed at random moments, and what has to hold for each afterwards.

`python -m tests.sessions.killing 1000` prints a line of JSON with counts. The writers are forked, which takes a process
without threads. A writer acknowledges over a pipe what is safe: each event after its append has returned (`e`), and
each request that it would send (`r`), with the bytes of the history then.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pool.agent.history import History
from pool.agent.hub import EventHub
from pool.events import CallFinished, CallStarted, Compacted, Event, RunFinished, RunStarted, StopReason, Usage, to_dict
from pool.messages import ToolCall, user
from pool.sessions.log import Header, SessionLog
from pool.sessions.replay import Resumed, resumed
from pool.wire.reading import Reading
from tests.agent.test_history import problems

MOST_ALIVE_SECONDS = 0.03
SESSIONS = 10
"""Sessions that are written in turn, so that each is killed, opened and gone on with many times."""

LONG_CHARS = 300_000
COMPACT_AT_MESSAGES = 40


@dataclass(slots=True)
class Counts:
    """What was seen: kills, torn records cut off, events acknowledged, requests compared, runs and compactions."""

    kills: int = 0
    torn: int = 0
    acknowledged: int = 0
    compared: int = 0
    runs: int = 0
    compactions: int = 0


class AcknowledgingLog:
    """A log that says over a pipe what it has taken."""

    def __init__(self, log: SessionLog, pipe: int) -> None:
        self._log = log
        self._pipe = pipe

    def append(self, event: Event) -> None:
        self._log.append(event)
        if self._log.saving:
            tell(self._pipe, "e", event.envelope.seq, row_sum(to_dict(event)))

    def request(self, history: History) -> None:
        tell(self._pipe, "r", len(history.data), zlib.crc32(b"".join(history.data)))


def tell(pipe: int, kind: str, number: int, total: int) -> None:
    os.write(pipe, f"{kind} {number} {total}\n".encode())


def row_sum(row: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace"))


def write_for_ever(path: Path, pipe: int, seed: int) -> None:
    """Go on with a session: prompts, replies with calls, results, now and then a compaction."""
    rng = random.Random(seed)
    log, rows, _ = SessionLog.reopen(path, lambda text: None)
    earlier = resumed(rows)
    told = AcknowledgingLog(log, pipe)
    hub = EventHub(path.stem, told, next_seq=earlier.next_seq)
    history = History("be good", hub.emit, earlier=earlier.messages)
    while True:
        hub.run = str(rng.random())
        hub.emit(RunStarted(f"Prüfe {rng.random()}", "/w", "m", "s", "auto", "none"))
        history.add_user(f"Prüfe {rng.random()}")
        for _ in range(rng.randrange(1, 4)):
            told.request(history)
            work(rng, hub, history)
        told.request(history)
        history.add_assistant(Reading(content="fertig"), [])
        hub.emit(RunFinished(StopReason.COMPLETED, 0, "", "fertig", 1, 1.0, Usage()))
        if len(history.messages) > COMPACT_AT_MESSAGES:
            kept = [history.encode(user("an account")), *history.messages[-1:]]
            hub.emit(Compacted(9, 1, "smaller", len(kept)))
            history.replace([], kept)


def work(rng: random.Random, hub: EventHub, history: History) -> None:
    calls = [ToolCall(history.unique_id(""), "read", '{"path":"a"}') for _ in range(rng.randrange(1, 4))]
    history.add_assistant(Reading(content="", reasoning="hm " * rng.randrange(50)), calls)
    results: list[str] = []
    for call in calls:
        hub.emit(CallStarted("read"), call.id)
        results.append("é" * rng.choice([10, 1000, LONG_CHARS]))
        hub.emit(CallFinished("read", "ok", results[-1], 0.1), call.id)
    for call, result in zip(calls, results, strict=True):
        history.add_result(call.id, result)


def killed_after(path: Path, seconds: float, seed: int) -> Iterator[tuple[str, int, int]]:
    """Let a process write and kill it so long after its first acknowledgement; what it acknowledged."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            write_for_ever(path, writing, seed)
        finally:
            os._exit(1)
    os.close(writing)
    data, until = b"", float("inf")
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, min(until - time.monotonic(), 30.0)))
        if ready:
            data += os.read(reading, 65_536)
            until = min(until, time.monotonic() + seconds)
        if time.monotonic() >= until or not ready:
            break
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(reading, 65_536):
        data += more
    os.close(reading)
    for line in data.decode().split("\n")[:-1]:
        kind, number, total = line.split()
        yield kind, int(number), int(total)


def check(path: Path, told: list[tuple[str, int, int]], counts: Counts) -> None:
    """Open a session whose writer was killed. Raises AssertionError if anything is not as it has to be."""
    log, rows, damage = SessionLog.reopen(path, lambda text: None)
    log.close()
    sums = {row["seq"]: row_sum(row) for row in rows if "seq" in row}
    events = [(number, total) for kind, number, total in told if kind == "e"]
    assert all(sums.get(number) == total for number, total in events), "an acknowledged event is lost or differs"
    found = resumed(rows)
    assert found.left_out == 0
    assert problems(next_request(found)) == []
    _compare(rows, told, found, counts)
    counts.kills += 1
    counts.torn += damage > 0
    counts.acknowledged += len(events)


def _compare(rows: list[dict[str, Any]], told: list[tuple[str, int, int]], found: Resumed, counts: Counts) -> None:
    """The last request's messages are sent again byte for byte, unless a compaction came after it."""
    at = max((i for i, one in enumerate(told) if one[0] == "r"), default=-1)
    if at < 0:
        return
    last = max((number for kind, number, _ in told[:at] if kind == "e"), default=-1)
    if any(row["type"] == "history.compacted" and row["seq"] > last for row in rows if "seq" in row):
        return
    _, count, total = told[at]
    data = b"".join(message.data for message in found.messages[:count])
    assert zlib.crc32(data) == total, "the prefix of the last request differs"
    counts.compared += 1


def next_request(earlier: Resumed) -> list[dict[str, Any]]:
    history = History("be good", lambda body: None, earlier=earlier.messages)
    history.add_user("next")
    return [json.loads(data) for data in history.data]


def kill_many(kills: int, folder: Path, seed: int) -> Counts:
    """Kill so many writers, one after the other, and check after each."""
    rng = random.Random(seed)
    counts = Counts()
    paths: list[Path] = []
    for number in range(kills):
        if number < SESSIONS:
            with SessionLog.create(folder, Header(f"session-{number}", "/w", 1.0, "0"), print) as log:
                paths.append(log.path)
        path = rng.choice(paths)
        told = list(killed_after(path, rng.random() * MOST_ALIVE_SECONDS, rng.randrange(2**32)))
        check(path, told, counts)
        if path.stat().st_size > 100 * LONG_CHARS:
            path.unlink()
            with SessionLog.create(folder, Header(path.stem, "/w", 1.0, "0"), print):
                pass
    for path in paths:
        types = [row["type"] for row in _rows(path)]
        counts.runs += types.count("run.started")
        counts.compactions += types.count("history.compacted")
    return counts


def _rows(path: Path) -> list[dict[str, Any]]:
    log, rows, _ = SessionLog.reopen(path, lambda text: None)
    log.close()
    return rows


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as where:
        print(json.dumps(asdict(kill_many(int(sys.argv[1]), Path(where), int((sys.argv + ["0"] * 2)[2])))))
