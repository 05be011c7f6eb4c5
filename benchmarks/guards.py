"""What the guards do to the scripted runs of tests/guards, in two halves: set on A, judged on B.

    python benchmarks/guards.py [--half A|B] [-v]
    python benchmarks/guards.py --files

A half's row: bad runs that ended within their bound and for their reason; honest runs that were touched; false stops
(an honest run nudged, blocked, cut or ended) for each 1,000 turns of honest runs, with the upper end of the 95 %
interval where none was seen (rule of three).

`--files` reads ordinary files (Python's own library) as if they were thoughts: how many would have been cut, by which
sign. Thoughts are no files, but they quote them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import sysconfig
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pool.agent.guards.signals import ThoughtSignals
from pool.config.guards import GuardSettings
from tests.guards.cases import half
from tests.guards.player import Played, play

PER = 1000
FILE_CHARS = 14_000
"""About 4,000 tokens, as long as a thought may be."""

DELTA_CHARS = 4
NONE_SEEN = 3.0
"""Rule of three: none in n trials leaves a rate of up to 3 / n possible."""


async def played_half(letter: str, verbose: bool) -> list[Played]:
    """All cases of a half, one after the other."""
    out: list[Played] = []
    for case in half(letter):
        with tempfile.TemporaryDirectory() as folder:
            played = await play(case, Path(folder) / "work")
        out.append(played)
        for fault in played.faults():
            print(f"  {case.name}: {fault} {played.fired}")
        if verbose:
            said = (
                f"{played.run.reason.value}, {len(played.bodies)} requests, {played.thought_tokens} tokens of thought"
            )
            print(f"  {case.name}: {said}, {played.fired}")
    return out


def row(letter: str, runs: list[Played]) -> str:
    """One row of the table."""
    bad = [p for p in runs if not p.case.honest]
    honest = [p for p in runs if p.case.honest]
    ended = sum(not p.faults() for p in bad)
    touched = sum(bool(p.hard) for p in honest)
    turns = sum(p.run.finished.turns for p in honest)
    stops = sum(len(p.hard) for p in honest)
    most = f"{NONE_SEEN * PER / turns:.1f}" if not stops else "-"
    rate = f"{stops * PER / turns:.1f}"
    return f"| {letter} | {ended} of {len(bad)} | {touched} of {len(honest)} | {turns} | {rate} | {most} |"


def sign_in(text: str) -> str:
    """The sign that cuts a thought of this text, "" if none does."""
    signals = ThoughtSignals(GuardSettings())
    for at in range(0, len(text), DELTA_CHARS):
        if found := signals.feed(text[at : at + DELTA_CHARS]):
            return found.name
    return ""


def read_files() -> None:
    """Print how many files of Python's library would be cut."""
    signs = Counter[str]()
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("**/*.py")):
        if "site-packages" not in path.parts:
            text = path.read_text(encoding="utf-8", errors="replace")
            signs[sign_in(text[:FILE_CHARS]) if len(text) >= FILE_CHARS else "short"] += 1
    long = signs.total() - signs["short"]
    print(f"{long} files of {FILE_CHARS:,} characters or more; cut: {long - signs['']} {dict(signs)}")


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--half", choices=["A", "B"], help="only this half")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for each run")
    parser.add_argument("--files", action="store_true", help="read ordinary files as thoughts instead")
    args = parser.parse_args()
    if args.files:
        read_files()
        return
    rows: list[str] = []
    fired = Counter[tuple[str, str]]()
    for letter in args.half or "AB":
        runs = asyncio.run(played_half(letter, args.verbose))
        rows.append(row(letter, runs))
        fired.update(firing for p in runs if not p.case.honest for firing in p.fired)
    print("| half | bad runs ended | honest runs touched | honest turns | false stops per 1,000 turns | at most |")
    print("|---|---|---|---|---|---|")
    print("\n".join(rows))
    print("\nFired in bad runs:", ", ".join(f"{g} {a} {n}" for (g, a), n in sorted(fired.items())))


if __name__ == "__main__":
    main()
