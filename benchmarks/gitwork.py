"""What a commit of an agent's work and the status line cost in a repository of many files.

    python benchmarks/gitwork.py [FILES]

Makes a repository in a temporary folder, lets an agent's session change five files, and measures: the state for the
status line, the proposal of a commit, and the commit with the index brought up to it. Each in the sandbox that works
here.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pool.agent.gitwork.committing import commit
from pool.agent.gitwork.opening import open_repository
from pool.agent.gitwork.proposal import propose
from pool.agent.gitwork.state import git_state
from pool.config.settings import Settings
from pool.sessions.checkpoints.changes import ChangesView
from pool.sessions.checkpoints.checkpoints import Checkpoints
from pool_tools.git.signing import refuse

FILES = 100_000
A_FOLDER = 100
CHANGED = 5


def main() -> None:
    """Make the repository and measure."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    with tempfile.TemporaryDirectory() as place:
        top = Path(place, "work")
        for number in range(0, files, A_FOLDER):
            folder = top / f"d{number // A_FOLDER}"
            folder.mkdir(parents=True)
            for one in range(number, min(files, number + A_FOLDER)):
                (folder / f"f{one}.txt").write_text(f"{one}\n")
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        for args in (("init", "-q"), ("config", "user.name", "A"), ("config", "user.email", "a@example.org")):
            subprocess.run(["git", *args], cwd=top, check=True)
        for args in (("add", "."), ("commit", "-qm", "All")):
            subprocess.run(["git", *identity, *args], cwd=top, check=True)
        kept = Checkpoints(Path(place, "checkpoints", "s1"), top)
        kept.before("r1", 1, "c1")
        for number in range(CHANGED):
            (top / f"d{number}" / f"f{number * A_FOLDER}.txt").write_text("changed\n")
        kept.after()
        asyncio.run(_measure(top, Path(place, "checkpoints", "s1"), files))
        kept.close()


async def _measure(top: Path, checkpoints: Path, files: int) -> None:
    print(f"{files:,} tracked files, {CHANGED} changed; {os.cpu_count()} cores")
    async with open_repository(Settings(top)) as repo:
        commands = repo.git.commands.reading()
        await git_state(commands)
        began = time.perf_counter()
        state = await git_state(commands)
        print(f"state for the status line   {time.perf_counter() - began:6.2f} s  {state}")
        with ChangesView(checkpoints, top) as view:
            began = time.perf_counter()
            proposal = await propose(repo, view)
            print(f"proposal of a commit        {time.perf_counter() - began:6.2f} s  {len(proposal.hunks)} hunks")
        began = time.perf_counter()
        made = await commit(repo, proposal, None, "Measure", refuse)
        print(f"commit and index            {time.perf_counter() - began:6.2f} s  {len(made.files)} files")


if __name__ == "__main__":
    main()
