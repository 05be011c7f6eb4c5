"""What loading the configuration adds to a start: `python benchmarks/configuration.py --runs 30`.

Each round is a process of its own that has imported what a run imports anyhow. CPU times, since walls on a busy machine
say more about its neighbours. For comparison: importing Pydantic and making a model of as many fields.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 20

PREAMBLE = """
import argparse, asyncio, contextlib, hashlib, json, pathlib, re, sys, time
import pool.config.settings
clock = time.process_time
begun = clock()
"""

IMPORT = "from pool.config.load import load_settings\nfrom pool.config.keys import keys\nkeys()\n"
LOAD = IMPORT + "begun = clock()\nload_settings(pathlib.Path({folder!r}), {env!r})\n"
PYDANTIC = """
from pydantic import BaseModel
source = "".join(
    f"class M{i}(BaseModel):\\n" + "".join(f"    f{j}: int = 0\\n" for j in range(9)) for i in range(9)
)
exec(source + "class All(BaseModel):\\n" + "".join(f"    m{i}: M{i} = M{i}()\\n" for i in range(9)))
"""
END = "print((clock() - begun) * 1000)\n"

FILE = "[server]\nwindow = 32768\n[budgets]\nturns = 60\n[approvals]\nallow = ['shell(git log *)']\n"


def milliseconds(script: str, runs: int) -> list[float]:
    """CPU times of a script's part after its begin; the first round is thrown away."""
    times = [
        float(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout)
        for _ in range(runs + 1)
    ]
    return times[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what loading the configuration costs.")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"rounds that count (default {RUNS})")
    runs = max(1, parser.parse_args().runs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for place in ("empty", "user/pool", "checkout/.pool"):
            (folder / place).mkdir(parents=True)
        (folder / "user" / "pool" / "config.toml").write_text(FILE)
        (folder / "checkout" / ".pool" / "config.toml").write_text("[budgets]\nturns = 30\n")
        none = {"XDG_CONFIG_HOME": str(folder / "empty"), "XDG_STATE_HOME": str(folder / "state")}
        some = {**none, "XDG_CONFIG_HOME": str(folder / "user")}
        cases = {
            "importing it": IMPORT,
            "loading without a file": LOAD.format(folder=str(folder / "empty"), env=none),
            "loading a user's and a project's file": LOAD.format(folder=str(folder / "checkout"), env=some),
            "Pydantic with a model of 81 fields": PYDANTIC,
        }
        print("| step | CPU ms |\n|---|---|")
        for case, script in cases.items():
            times = milliseconds(PREAMBLE + script + END, runs)
            print(f"| {case} | {statistics.median(times):.1f} [{min(times):.1f}-{max(times):.1f}] |")


if __name__ == "__main__":
    main()
