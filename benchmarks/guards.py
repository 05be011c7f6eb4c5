"""What the guards do to the scripted runs of tests/guards, in two halves: set on A, judged on B.

    python benchmarks/guards.py [--half A|B] [-v]

A half's row: bad runs that ended within their bound and for their reason; honest runs that were touched; false stops
(an honest run nudged, blocked, cut or ended) for each 1,000 turns of honest runs, with the upper end of the 95 %
interval for a rate that was seen so often (rule of three for none).
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.guards.cases import half
from tests.guards.player import Played, play

PER = 1000
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


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--half", choices=["A", "B"], help="only this half")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for each run")
    args = parser.parse_args()
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
