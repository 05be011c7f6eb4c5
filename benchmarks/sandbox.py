"""What a sandbox adds to each command: `python benchmarks/sandbox.py --runs 50`.

Runs `true` as commands are run, in each tier that this machine has, in interleaved rounds; the first round is thrown
away. Walls are as a tool call sees them: from asking for the command until its end is known and nothing of it is left.
The parts that a tier's number is made of are measured too: the guard over git, in a workspace of so many folders.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from pool_tools.environment import clean_environment
from pool_tools.process import run_command
from pool_tools.sandbox import NoSandbox, Policy, Sandbox
from pool_tools.sandbox.gitrestore import GitGuard
from pool_tools.sandbox.probe import TIERS, probe

RUNS = 50
MS_PER_SECOND = 1000
FOLDERS = (100, 1_000, 10_000)


@dataclass(slots=True)
class Case:
    """A tier; first is the first command's milliseconds, walls those of all later ones."""

    sandbox: Sandbox
    first: float = 0.0
    walls: list[float] = field(default_factory=list[float])


async def timed(sandbox: Sandbox, root: Path) -> float:
    begin = time.perf_counter()
    ended = await run_command(("true",), root, clean_environment(os.environ), sandbox, 60, lambda _: None)
    wall = time.perf_counter() - begin
    if ended.status != 0:
        raise SystemExit(f"`true` failed in the tier {sandbox.name}: {ended}")
    return wall * MS_PER_SECOND


async def measure(root: Path, runs: int) -> list[Case]:
    cases = [Case(NoSandbox(kept=True))]
    for tier in TIERS:
        found = probe(Policy((root,)), tiers=(tier,))
        if found.tier == tier:
            cases.append(Case(found.sandbox))
        else:
            print(f"{tier}: not here, since {found.reason}")
    for case in cases:
        case.first = await timed(case.sandbox, root)
    for _ in range(runs):
        for case in cases:
            case.walls.append(await timed(case.sandbox, root))
    for case in cases:
        case.sandbox.close()
    return cases


def bare(runs: int) -> list[float]:
    """Milliseconds of `true` without anything around it."""
    out: list[float] = []
    for _ in range(runs):
        begin = time.perf_counter()
        subprocess.run(["true"], check=True)
        out.append((time.perf_counter() - begin) * MS_PER_SECOND)
    return out


def guard_times(root: Path, folders: int) -> tuple[float, float]:
    """Milliseconds of the guard's first look at a workspace of so many folders, and of one command's two looks."""
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    for number in range(folders):
        (root / f"d{number // 100}" / f"e{number % 100}").mkdir(parents=True)
    guard = GitGuard((root,))
    begin = time.perf_counter()
    guard.before()
    first = time.perf_counter() - begin
    guard.after()
    walls: list[float] = []
    for _ in range(10):
        begin = time.perf_counter()
        guard.before()
        guard.after()
        walls.append((time.perf_counter() - begin) * MS_PER_SECOND)
    return first * MS_PER_SECOND, statistics.median(walls)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    runs: int = parser.parse_args().runs
    print(f"Python {platform.python_version()}, {platform.machine()}, Linux {platform.release()}, n={runs}")
    print(f"{'true by itself':24} {statistics.median(bare(runs)):6.1f} ms")
    with tempfile.TemporaryDirectory() as folder:
        for case in asyncio.run(measure(Path(folder), runs)):
            least, most = min(case.walls), max(case.walls)
            median = statistics.median(case.walls)
            print(f"{case.sandbox.name:24} {median:6.1f} [{least:.1f}-{most:.1f}] ms, the first {case.first:.1f} ms")
    for folders in FOLDERS:
        with tempfile.TemporaryDirectory() as folder:
            first, each = guard_times(Path(folder), folders)
        print(f"git guard, {folders:6} folders: {each:6.1f} ms a command, the first look {first:.1f} ms")


if __name__ == "__main__":
    main()
