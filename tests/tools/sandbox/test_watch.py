"""Ending commands that take too much of the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pool_tools.process import Ended, run_command
from pool_tools.sandbox.base import NoSandbox
from pool_tools.sandbox.bounds import Bounds
from pool_tools.sandbox.watch import Watch


async def run(folder: Path, bounds: Bounds, *argv: str) -> Ended:
    return await run_command(argv, folder, dict(os.environ), NoSandbox(bounds=bounds), 30, lambda _: None)


async def test_a_command_within_its_bounds_is_left_alone(tmp_path: Path) -> None:
    ended = await run(tmp_path, Bounds(), "sleep", "0.5")
    assert (ended.status, ended.killed) == (0, "")


async def test_too_many_processes(tmp_path: Path) -> None:
    ended = await run(tmp_path, Bounds(processes=50), "sh", "-c", "for i in $(seq 200); do sleep 30 & done; wait")
    assert ended.killed == "it started more than 50 processes"
    assert ended.seconds < 10


DISK = """
import os
from pathlib import Path
from pool_tools.sandbox.bounds import Bounds
from pool_tools.sandbox.watch import Watch
disk = Path("/mnt")
watch = Watch((disk, disk), Bounds())
(disk / "a").write_bytes(bytes(40 << 20))
print(watch.breach(os.getpid()))
(disk / "b").write_bytes(bytes(12 << 20))
print(watch.breach(os.getpid()))
tidying = Watch((disk,), Bounds())
(disk / "c").write_bytes(bytes(1 << 20))
print(tidying.breach(os.getpid()))
"""


def test_a_disk_that_fills(tmp_path: Path) -> None:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        pytest.skip("no bwrap to make a small disk with")
    small = (bwrap, "--bind", "/", "/", "--dev", "/dev", "--size", str(64 << 20), "--tmpfs", "/mnt")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run((*small, sys.executable, "-c", DISK), env=env, capture_output=True, text=True)
    assert done.stdout.split("\n") == ["", "the disk is nearly full, 12 MiB are left", "", ""], done.stderr


def test_looking_at_what_is_not_there(tmp_path: Path) -> None:
    assert Watch((tmp_path / "missing",), Bounds()).breach(os.getpid()) == ""
