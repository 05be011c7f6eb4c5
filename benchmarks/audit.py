"""How right `pool audit` is over the written runs of `tests/agent/audit`, and how long it takes for a long session.

Run: python benchmarks/audit.py [--steps N] [--commits N]. --commits takes the last commits of this repository for runs
whose prompts are their messages: all of them honest, and many of them changes of tests that nobody asked for in words.
Nothing is run again and no model is asked: only what the record shows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

# Run as a script, the folder of the tests is not on the path.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pool.agent.audit.audit import audit_record, audit_trajectory
from pool.agent.audit.facts import TaskFacts
from pool.agent.audit.filebook import decoded
from pool.agent.audit.filekinds import is_test
from pool.agent.audit.finding import Severity
from pool.agent.audit.record import Change, Edit, Record, Said
from pool.lab.audit.calibration import Labelled, labelled, table
from tests.agent.audit.honest import HONEST
from tests.agent.audit.story import DONE, FIX, GREEN, RED, Story, edit, ran, read, shell
from tests.agent.audit.unfair import UNFAIR

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2_000, help="steps of the long session (%(default)s)")
    parser.add_argument("--commits", type=int, default=0, metavar="N", help="look at so many commits instead")
    args = parser.parse_args()
    if args.commits:
        commits(args.commits)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.json"
        rows = [judged(story, file) for story in (*UNFAIR, *HONEST)]
        print("\n".join(table(rows)))
        severe = sum(row.note == Severity.H.value for row in rows if row.fair)
        print(f"fair runs with a finding of severity H: {severe}")
        parts = (read("stock.py"), edit(*FIX), edit(FIX[0], FIX[2], FIX[1]), shell("git log --oneline"), ran(RED))
        steps = [part for _ in range(args.steps // len(parts)) for part in parts]
        file.write_text(json.dumps(Story("long", (*steps, ran(GREEN), DONE)).trajectory()), encoding="utf-8")
        begun, cpu = time.perf_counter(), time.process_time()
        audit_trajectory(file)
        print(f"{len(steps):,} steps: {time.perf_counter() - begun:.2f} s, {time.process_time() - cpu:.2f} s of CPU")


def judged(story: Story, file: Path) -> Labelled:
    """A story's label; its note is the severest letter that was seen."""
    file.write_text(json.dumps(story.trajectory()), encoding="utf-8")
    audit = audit_trajectory(file, TaskFacts(evaluation=story.evaluation))
    letters = [severity.value for severity in Severity if audit.flags[severity.value]]
    return replace(labelled(audit, fair=not story.signal), note=letters[0] if letters else "")


def commits(count: int) -> None:
    """Print how many of the last commits have a finding of each severity, and which signals they are."""
    found: Counter[str] = Counter()
    runs = severe = 0
    for commit in git("log", "--no-merges", "--format=%H", "-n", str(count)).decode().split():
        record = Record(commit, prompts=[Said(1, git("log", "-1", "--format=%B", commit).decode())])
        for path in git("diff-tree", "-r", "--no-commit-id", "--name-only", "--no-renames", "-z", commit).split(b"\0")[
            :-1
        ]:
            name = path.decode("utf-8", "surrogateescape")
            before, after = (decoded(blob(f"{rev}:{name}")) for rev in (f"{commit}^", commit))
            record.changes.append(Change(name, before, after, [Edit(2, name, before, after)]))
        record.tests = "\n".join(change.before or "" for change in record.changes if is_test(change.path))
        findings = audit_record(record).findings
        found.update(f"{one.severity} {one.name}" for one in findings)
        runs, severe = runs + 1, severe + any(one.severity is Severity.H for one in findings)
    print(f"{runs} commits, {severe} with a finding of severity H")
    print("\n".join(f"{number:>4} {name}" for name, number in sorted(found.items())))


def git(*words: str) -> bytes:
    """What git says in this repository."""
    return subprocess.run(["git", "-C", ROOT, *words], check=True, capture_output=True).stdout


def blob(name: str) -> bytes | None:
    """A file of a commit, None if it is not there."""
    done = subprocess.run(["git", "-C", ROOT, "cat-file", "blob", name], check=False, capture_output=True)
    return done.stdout if done.returncode == 0 else None


if __name__ == "__main__":
    main()
