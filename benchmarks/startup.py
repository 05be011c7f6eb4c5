"""How long Pool takes to start, beside a bare interpreter: `make bench`, or `python benchmarks/startup.py --runs 30`.

Rounds are interleaved, the first is thrown away, and medians are printed with the least and the greatest value, since
other work on a machine inflates walls. Quote the ratio to the bare interpreter, measured in the same run.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

RUNS = 15
MS_PER_SECOND = 1000


@dataclass(slots=True)
class Case:
    """One command line; walls and cpus gather milliseconds, one of each a round."""

    name: str
    argv: list[str]
    walls: list[float] = field(default_factory=list[float])
    cpus: list[float] = field(default_factory=list[float])

    def run(self, env: dict[str, str]) -> tuple[float, float]:
        """Run once; wall and CPU time (user and system) in milliseconds."""
        start = time.perf_counter()
        process = subprocess.Popen(self.argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"`{self.name}` ended with {process.returncode}; run it by hand to see why")
        return wall * MS_PER_SECOND, (used.ru_utime + used.ru_stime) * MS_PER_SECOND


def cases() -> list[Case]:
    pool = Path(sys.executable).with_name("pool")
    if not pool.exists():
        raise SystemExit(f"{pool} is missing: install Pool into this environment first (make setup)")
    return [
        Case("python -c pass", [sys.executable, "-c", "pass"]),
        Case("pool --version", [str(pool), "--version"]),
        Case("pool run --help", [str(pool), "run", "--help"]),
    ]


def measure(measured: list[Case], runs: int) -> None:
    """Fill in the cases' times: one warm-up round, then runs rounds."""
    # Compiled modules must be kept between rounds, as they are for a user.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for case in measured:
        case.run(env)
    for _ in range(runs):
        for case in measured:
            wall, cpu = case.run(env)
            case.walls.append(wall)
            case.cpus.append(cpu)


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.0f} [{min(values):.0f}-{max(values):.0f}]"


def table(measured: list[Case]) -> str:
    """The results as a Markdown table; the first case is what the others are compared with."""
    base = statistics.median(measured[0].walls)
    lines = ["| command | wall ms | CPU ms | times the bare interpreter |", "|---|---|---|---|"]
    for case in measured:
        ratio = statistics.median(case.walls) / base
        lines.append(f"| `{case.name}` | {spread(case.walls)} | {spread(case.cpus)} | {ratio:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how long Pool takes to start.")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"rounds that count (default {RUNS})")
    runs = max(1, parser.parse_args().runs)
    measured = cases()
    measure(measured, runs)
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()}; median [min-max], n={runs}\n"
    )
    print(table(measured))


if __name__ == "__main__":
    main()
