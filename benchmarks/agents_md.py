"""What finding and reading AGENTS.md files costs: at the start of a session, and at each prompt after it.

    python benchmarks/agents_md.py

The workspace has 3,000 folders and a file of 4,000 bytes. At the start it is looked through for files deeper in it, in
a thread beside the search for the server; at a prompt only the known files are read again.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pool.config.settings import AgentsMd
from pool.extend.agentsmd import read_instructions

OUTER, INNER = 50, 60
ROUNDS = 20


def measured(workspace: Path, nested: tuple[str, ...] | None) -> str:
    """Median and range in milliseconds."""
    times: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        read_instructions(workspace, AgentsMd(), workspace / ".config", workspace.parent, nested)
        times.append((time.perf_counter() - began) * 1000)
    return f"{statistics.median(times):.1f} ms [{min(times):.1f}-{max(times):.1f}]"


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder).resolve() / "work"
        for i in range(OUTER):
            for j in range(INNER):
                (workspace / f"part{i}" / f"piece{j}").mkdir(parents=True)
        (workspace / "AGENTS.md").write_text("rule\n" * 800)
        print(f"| session start | {measured(workspace, None)} |")
        print(f"| each prompt | {measured(workspace, ())} |")


if __name__ == "__main__":
    main()
