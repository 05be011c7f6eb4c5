"""What skills cost the start of a session: milliseconds to find them, and tokens of the prompt.

python benchmarks/skills.py [--runs N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

from pool.agent.sessionskills import extensions_for
from pool.config.files import Places
from pool.config.settings import Settings
from pool.config.trust import TrustStore
from pool.wire.tokens import count_offline

COUNTS = (0, 10, 100)
SKILL = (
    """\
---
name: skill-{number}
description: Does the thing of number {number}. Use it when the user asks for that thing, or for one that is like it.
---
"""
    + "One step of many that are written down here.\n" * 60
)


def main(runs: int) -> None:
    """Print a table: skills, where they lie, the median time, the list's tokens."""
    print("skills  whose     ms    listed  tokens")
    for count in COUNTS:
        for whose in ("own", "checkout"):
            with tempfile.TemporaryDirectory() as base:
                _measure(Path(base), count, whose, runs)


def _measure(base: Path, count: int, whose: str, runs: int) -> None:
    home, work = base / "home", base / "work"
    for name, below in (("HOME", ""), ("XDG_CONFIG_HOME", ".config"), ("XDG_STATE_HOME", ".local/state")):
        os.environ[name] = str(home / below)
    (work / ".git").mkdir(parents=True)
    for number in range(count):
        folder = (home if whose == "own" else work) / ".agents" / "skills" / f"skill-{number}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(SKILL.format(number=number))
    settings = Settings(work)
    waiting = extensions_for(settings).skills.waiting
    if waiting:
        TrustStore(Places.usual(os.environ).state, work).trust({skill.place: skill.digest for skill in waiting})
    times: list[float] = []
    for _ in range(runs):
        began = time.perf_counter()
        extensions_for(settings)
        times.append(time.perf_counter() - began)
    block = extensions_for(settings).block
    ms = statistics.median(times) * 1000
    print(f"{count:6}  {whose:8} {ms:5.1f}  {block.listed:6}  {count_offline(block.text):6}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    main(parser.parse_args().runs)
