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
    subprocess.run(("git", "-c", "user.name=N", "-c", "user.email=n@x", *args), cwd=folder, check=True)


def fill(folder: Path, files: int) -> None:
    """Source-like files of about a kilobyte, fifty in each folder."""
    for n in range(files // IN_A_FOLDER):
        below = folder / f"pkg{n // 50:03d}" / f"mod{n % 50:02d}"
        below.mkdir(parents=True)
        for k in range(IN_A_FOLDER):
            (below / f"file_{k:02d}.py").write_text(f"# {n} {k}\n" + "value = compute(other, 1)\n" * (20 + k))


def timed(name: str, walls: list[float]) -> None:
    low, high = min(walls) * 1000, max(walls) * 1000
    print(f"| {name} | {statistics.median(walls) * 1000:,.0f} ms [{low:,.0f}-{high:,.0f}], n={len(walls)} |")


def first_look(state: Path, root: Path, session: str) -> tuple[Checkpoints, float]:
    begin = time.perf_counter()
    made = Checkpoints(state / "checkpoints" / session, root)
    made.begin()
    return made, time.perf_counter() - begin


def calls(made: Checkpoints, root: Path, rounds: int, *, told: bool = True) -> list[float]:
    """Seconds that a call's two looks take together."""
    paths = sorted(root.glob("pkg00*/mod0*/file_07.py"))[:CHANGED]
    assert len(paths) == CHANGED
    walls: list[float] = []
    if not told:
        made.tree.unwatch()
    for n in range(rounds):
        begin = time.perf_counter()
        made.before(f"r{n}", 1, "c")
        before = time.perf_counter() - begin
        for path in paths:
            path.write_text(f"changed {n} {told}\n")
        begin = time.perf_counter()
        look = made.after()
        walls.append(before + time.perf_counter() - begin)
        assert len(look.changes) == CHANGED, look
    return walls


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
    begin = time.perf_counter()
    plan = plan_undo(made, ["r0"])
    done = carry_out(made, plan)
    assert len(done.steps) == CHANGED
    timed(f"undo of {CHANGED} files", [time.perf_counter() - begin])
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
    top = Path(tempfile.mkdtemp(prefix="checkpoints-"))
    try:
        repository(top, args.files)
        home(top, args.files)
    finally:
        shutil.rmtree(top)


if __name__ == "__main__":
    main()
