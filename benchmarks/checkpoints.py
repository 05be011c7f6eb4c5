"""What checkpoints cost: `python benchmarks/checkpoints.py --files 100000`.

Makes repositories in a temporary folder. A checkpoint is what stands before a call and what comes after it, with five
files changed by the call, everything forced to disk. The first look is taken once without and once with the catalogue
that an earlier session left. Without notifications of the kernel (as on macOS) each look goes through the whole tree.
The home folder has a stray `.git` with nothing tracked and many files.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from pool.sessions.checkpoints.checkpoints import Checkpoints
from pool.sessions.checkpoints.undo import carry_out, plan_undo

FILES = 100_000
IN_A_FOLDER = 50
CHANGED = 5
ROUNDS = 20
WHOLE_ROUNDS = 5


def git(folder: Path, *args: str) -> None:
    subprocess.run(
        ("git", "-c", "user.name=N", "-c", "user.email=n@x", "-c", "gc.auto=0", *args), cwd=folder, check=True
    )


def fill(folder: Path, files: int) -> None:
    """Source-like files of about a kilobyte, fifty in each folder."""
    for n in range(files // IN_A_FOLDER):
        below = folder / f"pkg{n // 50:03d}" / f"mod{n % 50:02d}"
        below.mkdir(parents=True)
        for k in range(IN_A_FOLDER):
            (below / f"file_{k:02d}.py").write_text(f"# {n} {k}\n" + "value = compute(other, 1)\n" * (20 + k))


Times = tuple[float, float]
"""Seconds on the wall, and of the processor."""


def now() -> Times:
    return time.perf_counter(), time.process_time()


def since(begin: Times) -> Times:
    return time.perf_counter() - begin[0], time.process_time() - begin[1]


def timed(name: str, times: list[Times]) -> None:
    walls, cpus = ([one[i] * 1000 for one in times] for i in (0, 1))
    spread = f" [{min(walls):,.0f}-{max(walls):,.0f}], n={len(walls)}" if len(walls) > 1 else ""
    print(f"| {name} | {statistics.median(walls):,.0f}{spread} | {statistics.median(cpus):,.0f} |")


def first_look(state: Path, root: Path, session: str) -> tuple[Checkpoints, Times]:
    begin = now()
    made = Checkpoints(state / "checkpoints" / session, root)
    made.begin()
    return made, since(begin)


def calls(made: Checkpoints, root: Path, rounds: int, *, told: bool = True) -> list[Times]:
    """Seconds that a call's two looks take together."""
    paths = sorted(root.glob("pkg00*/mod0*/file_07.py"))[:CHANGED]
    assert len(paths) == CHANGED
    times: list[Times] = []
    if not told:
        made.tree.unwatch()
    for n in range(rounds):
        begin = now()
        made.before(f"r{n}", 1, "c")
        before = since(begin)
        for path in paths:
            path.write_text(f"changed {n} {told}\n")
        begin = now()
        look = made.after()
        after = since(begin)
        times.append((before[0] + after[0], before[1] + after[1]))
        assert len(look.changes) == CHANGED, look
    return times


def repository(top: Path, files: int) -> None:
    root, state = top / "repository", top / "state" / "pool"
    root.mkdir()
    fill(root, files)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    made, wall = first_look(state, root, "s1")
    timed(f"first look ever, {files:,} tracked files", [wall])
    timed(f"checkpoint, {CHANGED} files change", calls(made, root, ROUNDS))
    begin = now()
    plan = plan_undo(made, ["r0"])
    done = carry_out(made, plan)
    assert len(done.steps) == CHANGED
    timed(f"undo of {CHANGED} files", [since(begin)])
    timed("checkpoint, going through everything", calls(made, root, WHOLE_ROUNDS, told=False))
    made.close()
    made, wall = first_look(state, root, "s2")
    timed("first look of the next session", [wall])
    made.close()
    size = sum(p.stat().st_size for p in (state / "checkpoints" / "s1").iterdir())
    print(f"| kept on disk for the session | {size / 1e6:.1f} MB |")


def home(top: Path, files: int) -> None:
    root, state = top / "home", top / "state" / "pool"
    root.mkdir()
    git(root, "init", "-q")
    fill(root, files)
    made, wall = first_look(state, root, "h1")
    taken = made.before("r", 1, "c")
    timed(f"first look, stray .git above {files:,} untracked files", [wall])
    print(f"|   says | {'; '.join(taken.skipped.named)} |")
    made.close()
    (root / ".gitignore").write_text("pkg*/\n")
    made, wall = first_look(state, root, "h2")
    timed("the same, all of them ignored", [wall])
    made.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=FILES)
    args = parser.parse_args()
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()}")
    print("| | wall ms | CPU ms |")
    top = Path(tempfile.mkdtemp(prefix="checkpoints-"))
    try:
        repository(top, args.files)
        home(top, args.files)
    finally:
        shutil.rmtree(top)


if __name__ == "__main__":
    main()
