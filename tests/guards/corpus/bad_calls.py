"""Calls that lead nowhere: repeats, cycles, edits back and forth, denials, mistakes that are not learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat

from pool.config.settings import Budgets, Mode
from pool.events import StopReason
from tests.guards.script import Case, Say, call, edit, read, shell

LOOP = StopReason.LOOP
ROUNDS = 40
SAME_CALL_REQUESTS = 7
"""Six times the same call, and the closing word."""

NO_PROGRESS_REQUESTS = 19
"""15 turns without anything new, a few before them that bring something new, and the closing word."""

FILES = {f"f{i}.txt": f"file {i}\n" for i in range(6)}
UNIT = (
    "import unittest\nfrom app import f\n\n"
    "class T(unittest.TestCase):\n    def test_f(self):\n        self.assertEqual(f(2), 5)\n"
)
PROJECT = {"app.py": "def f(x):\n    return x + 1\n", "test_app.py": UNIT}
TEST = "python3 -B -m unittest -q"
"""Without bytecode files: Python would take one of an earlier edit in the same second for current."""


def again(name: str, *says: Say, requests: int, stop: StopReason = LOOP, source: str = "", **more: object) -> Case:
    """The same replies in turn, many times over."""
    turns = tuple(chain.from_iterable(repeat(says, ROUNDS)))
    return Case(name, turns, stop=stop, requests=requests, files={**FILES, **PROJECT}, source=source, **more)  # pyright: ignore[reportArgumentType]


def many(name: str, says: Sequence[Say], requests: int, stop: StopReason = LOOP) -> Case:
    """Replies that differ."""
    return Case(name, tuple(says), stop=stop, requests=requests, files={**FILES, **PROJECT})


def cycle(length: int) -> Case:
    """Some files read in turn for ever: told after three rounds, ended after five, or after 15 idle turns."""
    reads = (read(f"f{i}.txt") for i in range(length))
    idle = 5 * length > NO_PROGRESS_REQUESTS
    stop = StopReason.NO_PROGRESS if idle else LOOP
    return again(f"cycle of {length} reads", *reads, requests=min(5 * length + 1, NO_PROGRESS_REQUESTS), stop=stop)


_BACK = edit("app.py", "x + 2", "x + 1")
_FORTH = edit("app.py", "x + 1", "x + 2")

CASES: tuple[Case, ...] = (
    again("same search", call("search", pattern="zzz"), requests=SAME_CALL_REQUESTS, source="LOOP-04"),
    again("same folder made", shell("mkdir -p build && ls build"), requests=SAME_CALL_REQUESTS),
    again("same missing file", read("nowhere.py"), requests=SAME_CALL_REQUESTS),
    many("changing comment", [shell(f"ls f1.txt  # attempt {i}") for i in range(ROUNDS)], SAME_CALL_REQUESTS),
    many("changing comment line", [shell(f"# try number {i}\nls f1.txt") for i in range(ROUNDS)], SAME_CALL_REQUESTS),
    many(
        "changing label before",
        [shell(f'echo "=== try {i} ===" && cat f1.txt') for i in range(ROUNDS)],
        SAME_CALL_REQUESTS,
    ),
    many("changing label after", [shell(f"cat f1.txt; echo done {i}") for i in range(ROUNDS)], SAME_CALL_REQUESTS),
    many("changing blanks", [shell(f"ls{' ' * (i + 1)}f1.txt") for i in range(ROUNDS)], SAME_CALL_REQUESTS),
    many("changing no-op", [shell(f": round {i}; cat f2.txt") for i in range(ROUNDS)], SAME_CALL_REQUESTS),
    cycle(2),
    cycle(3),
    cycle(4),
    cycle(5),
    again("tests without an edit", shell(TEST), requests=SAME_CALL_REQUESTS),
    again("tests and a listing without an edit", shell(TEST), call("list"), requests=11),
    again("clock in the output", shell("date +%H:%M:%S.%N; cat f3.txt"), requests=SAME_CALL_REQUESTS),
    again("edit back and forth", read("app.py"), _FORTH, _BACK, requests=20),
    again("edit back and forth with tests", shell(f"cat app.py; {TEST}"), _FORTH, shell(TEST), _BACK, requests=30),
    again(
        "write back and forth",
        call("write", path="new.txt", content="one\n"),
        call("write", path="new.txt", content="two\n"),
        requests=12,
    ),
    many(
        "three contents in turn",
        [call("write", path="new.txt", content=f"{'abc'[i % 3]}\n") for i in range(ROUNDS)],
        12,
    ),
    again(
        "denied command",
        shell("make install"),
        requests=4,
        stop=StopReason.DENIED,
        settings={"mode": Mode.ACCEPT_EDITS},
    ),
    Case(
        "denied commands of all kinds",
        tuple(shell(f"make target{i}") for i in range(ROUNDS)),
        stop=StopReason.DENIED,
        requests=4,
        settings={"mode": Mode.ACCEPT_EDITS},
    ),
    again(
        "denied command between reads",
        shell("make install"),
        read("f1.txt"),
        requests=13,
        settings={"mode": Mode.ACCEPT_EDITS},
    ),
    many(
        "edits that never match",
        [edit("app.py", f"def g{i}(y):\n    return y * {i}", "pass") for i in range(ROUNDS)],
        18,
        StopReason.NO_PROGRESS,
    ),
    many("files that do not exist", [read(f"src/guess{i}.py") for i in range(ROUNDS)], 18, StopReason.NO_PROGRESS),
    again("unknown tool", call("browser", url="http://localhost"), requests=4, stop=StopReason.UNUSABLE_REPLY),
    again("argument missing", call("read", offset=3), requests=SAME_CALL_REQUESTS),
    Case(
        "reads on after the plan",
        (
            Say("Planning is done. Now I will start implementing.", calls=read("long.txt", limit=1).calls),
            *(read("long.txt", offset=i, limit=1) for i in range(2, 60)),
        ),
        files={"long.txt": "".join(f"line {i}\n" for i in range(80))},
        stop=StopReason.NO_PROGRESS,
        requests=17,
    ),
    Case(
        "reads and reads",
        tuple(read("long.txt", offset=i, limit=1) for i in range(1, 80)),
        files={"long.txt": "".join(f"line {i}\n" for i in range(80))},
        stop=StopReason.NO_PROGRESS,
        requests=31,
    ),
    Case(
        "always something new",
        tuple(call("write", path=f"n{i}.txt", content=f"{i}\n") for i in range(ROUNDS)),
        stop=StopReason.MAX_TURNS,
        requests=11,
        settings={"budgets": Budgets(turns=10)},
    ),
    Case(
        "tokens used up",
        tuple(call("write", path=f"n{i}.txt", content=f"{i}\n") for i in range(ROUNDS)),
        stop=StopReason.MAX_TOKENS,
        requests=13,
        settings={"budgets": Budgets(tokens=20_000)},
    ),
)
