"""What a call of the tool `shell` costs, and how fast output is taken in: `python benchmarks/commands.py --runs 20`.

The calls run `true` in interleaved rounds: without a sandbox, in bubblewrap, and in bubblewrap once a job has been
started, from when on commands join one network. The first two rounds are thrown away. Output is taken in from memory.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pool_tools.capture import OutputCapture
from pool_tools.commands import Commands
from pool_tools.sandbox import NoSandbox, Policy, Sandbox
from pool_tools.sandbox.probe import probe
from pool_tools.shell import ShellTool
from pool_tools.workspace import Workspace

RUNS = 20
WARM_UP = 2
OUTPUT_BYTES = 20_000_000
READ_BYTES = 256 * 1024

OUTPUTS: dict[str, Callable[[int], bytes]] = {
    "/dev/urandom": os.urandom,
    "/dev/zero": bytes,
    "text": lambda size: b"a line of output\n" * (size // 17),
    "text in colours": lambda size: b"\x1b[32mok\x1b[0m a line\n" * (size // 19),
    "a progress bar": lambda size: b"\r\x1b[Kstep 12 of 90" * (size // 18),
    "Latin-1": lambda size: b"gr\xfc\xdfe aus K\xf6ln\n" * (size // 15),
}


def confined(root: Path) -> Sandbox:
    found = probe(Policy((root,)), tiers=("bubblewrap",))
    if found.tier != "bubblewrap":
        raise SystemExit(f"no bubblewrap here: {found.reason}")
    return found.sandbox


async def calls(root: Path, runs: int) -> dict[str, list[float]]:
    """Milliseconds of each call, by case."""
    workspace = Workspace(root)
    sandboxes = {"none": NoSandbox(kept=True), "bubblewrap": confined(root), "bubblewrap, after a job": confined(root)}
    commands = {name: Commands(workspace, sandbox) for name, sandbox in sandboxes.items()}
    if reason := await commands["bubblewrap, after a job"].share_network():
        raise SystemExit(f"no shared network here: {reason}")
    walls: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(WARM_UP + runs):
        for name, made in commands.items():
            begin = time.perf_counter()
            result = await ShellTool(made).run({"command": "true"}, lambda _: None)
            walls[name].append((time.perf_counter() - begin) * 1000)
            if not result.ok:
                raise SystemExit(result.text)
    for name, made in commands.items():
        await made.close()
        sandboxes[name].close()
    workspace.close()
    return {name: each[WARM_UP:] for name, each in walls.items()}


def megabytes_a_second(data: bytes) -> float:
    capture = OutputCapture()
    begin = time.process_time()
    for start in range(0, len(data), READ_BYTES):
        capture.feed(data[start : start + READ_BYTES])
    capture.close()
    return len(data) / 1e6 / (time.process_time() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    runs: int = parser.parse_args().runs
    print(f"Python {platform.python_version()}, {platform.machine()}, Linux {platform.release()}, n={runs}")
    with tempfile.TemporaryDirectory() as folder:
        for name, walls in asyncio.run(calls(Path(folder), runs)).items():
            print(f"{name:24} {statistics.median(walls):6.1f} [{min(walls):.1f}-{max(walls):.1f}] ms")
    for name, make in OUTPUTS.items():
        print(f"{name:24} {megabytes_a_second(make(OUTPUT_BYTES)):6.0f} MB a CPU second")


if __name__ == "__main__":
    main()
