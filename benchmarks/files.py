"""Searching many files, and memory with huge ones: `python benchmarks/files.py --files 100000 --gigabytes 1`.

The search is for a name that one file of all holds, with ripgrep and with Pool's own process, after one search that is
not counted. Memory is the growth of the process's peak over a call, each kind in a process of its own; the huge file is
sparse, with text at its beginning and a line at its end. Needs Linux and bubblewrap.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pool_tools.api import Tool, ToolError
from pool_tools.commands import Commands
from pool_tools.read import ReadTool
from pool_tools.sandbox import Policy
from pool_tools.sandbox.probe import probe
from pool_tools.search import SearchTool
from pool_tools.shell import ShellTool
from pool_tools.workspace import Workspace

FILES = 100_000
IN_A_FOLDER = 50
FILE_LINES = 25
RUNS = 5
HUGE_BYTES = 5_000_000_000
TEXT_LINES = 300_000
GIGABYTE = 1_000_000_000
RESET_PEAK = "5"
"""See proc(5), clear_refs."""

KIB_PER_MB = 1_000_000 / 1024
NEEDLE = "the_one_function"
BYTES_SHOWN = "yes 'a line of output' | head -c"


def fill(folder: Path, files: int) -> None:
    """Source-like files of about a kilobyte, fifty in each folder; the last holds the needle."""
    for n in range(files):
        below = folder / f"pkg{n // IN_A_FOLDER // 50:03d}" / f"mod{n // IN_A_FOLDER % 50:02d}"
        if n % IN_A_FOLDER == 0:
            below.mkdir(parents=True)
        name = NEEDLE if n == files - 1 else f"function_{n}"
        text = f"def {name}(value):\n" + "".join(
            f"    value += {n} * {row}  # a step of it\n" for row in range(FILE_LINES)
        )
        (below / f"file{n}.py").write_text(text)


def peak_kib() -> int:
    """The most that this process had in memory since that was last reset."""
    return int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0])


def called(tool: Tool, args: dict[str, object]) -> tuple[str, float, float]:
    """What the model is told of a call, its seconds, and by how many MB the peak of this process grew."""
    Path("/proc/self/clear_refs").write_text(RESET_PEAK)
    peak = peak_kib()
    begin = time.perf_counter()
    text = asyncio.run(_call(tool, args))
    seconds = time.perf_counter() - begin
    return text, seconds, (peak_kib() - peak) / KIB_PER_MB


async def _call(tool: Tool, args: dict[str, object]) -> str:
    try:
        return (await tool.run(args, lambda _: None)).text
    except ToolError as error:
        return str(error)


def searches(root: Path, files: int, runs: int) -> None:
    fill(root, files)
    workspace = Workspace(root)
    print(f"search over {files:,} files")
    for name, search_path in (("ripgrep", os.environ["PATH"]), ("without ripgrep", "")):
        walls: list[float] = []
        cut = 0
        for _ in range(runs + 1):
            text, seconds, _ = called(SearchTool(workspace, search_path), {"pattern": f"def {NEEDLE}"})
            walls.append(seconds)
            cut += NEEDLE not in text
        one = walls[1:]
        spread = f"{statistics.median(one):.2f} [{min(one):.2f}-{max(one):.2f}] s"
        print(f"  {name:18} {spread}, {cut} of {runs + 1} without the hit")
    workspace.close()


def read(root: Path, _: float) -> str:
    """A text of many lines, then nothing up to the end, where one more line is: its beginning, and that line."""
    with (root / "huge.log").open("wb") as file:
        file.write(b"a line of text\n" * TEXT_LINES)
        file.seek(HUGE_BYTES)
        file.write(b"\nlast\n")
    workspace = Workspace(root)
    told: list[str] = []
    for what, line in (("beginning", 1), ("end", TEXT_LINES + 2)):
        text, seconds, grown = called(ReadTool(workspace), {"path": "huge.log", "offset": line})
        told.append(f"{what} {seconds:.2f} s, {grown:.1f} MB more, told {text[:40]!r}")
    workspace.close()
    return f"read of {HUGE_BYTES / GIGABYTE:g} GB: {'; '.join(told)}"


def shell(root: Path, gigabytes: float) -> str:
    workspace = Workspace(root)
    found = probe(Policy((root,)), tiers=("bubblewrap",))
    if found.reason:
        raise SystemExit(f"no bubblewrap here: {found.reason}")
    command = f"{BYTES_SHOWN} {gigabytes * GIGABYTE:.0f}"
    text, seconds, grown = called(ShellTool(Commands(workspace, found.sandbox)), {"command": command, "timeout": 600})
    found.sandbox.close()
    workspace.close()
    return f"{gigabytes:g} GB printed: {seconds:.2f} s, {grown:.1f} MB more, {len(text):,} characters to the model"


MEASURED = {"read": read, "shell": shell}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--gigabytes", type=float, default=1)
    parser.add_argument("--only", choices=sorted(MEASURED), help="measure this alone, in this process")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        if args.only:
            print(MEASURED[args.only](root, args.gigabytes))
            return
        print(f"Python {platform.python_version()}, {platform.machine()}, Linux {platform.release()}, n={args.runs}")
        for name in MEASURED:
            line = [sys.executable, __file__, "--only", name, "--gigabytes", str(args.gigabytes)]
            subprocess.run(line, check=True)
        searches(root, args.files, args.runs)


if __name__ == "__main__":
    main()
