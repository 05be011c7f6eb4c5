"""Choosing hunks on a terminal, one after the other, and showing what a commit would hold."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator

from pool.agent.gitwork.authorship import Whose
from pool.agent.gitwork.proposal import CommitFile, CommitHunk, CommitProposal
from pool.headless.asking import ask_line
from pool.headless.plain import one_line, safe
from pool.sessions.checkpoints.textdiff import CONTEXT_LINES

HELP = "y: take it, n: leave it, a: take this and the rest of the file, d: leave them, q: leave all that follows"
SHOWN_LINES = 60
WORDS = {Whose.AGENT: "", Whose.YOURS: " (yours)", Whose.MIXED: " (yours and the agent's, in the same lines)"}


def overview(proposal: CommitProposal, chosen: Collection[int]) -> Iterator[str]:
    """What would be committed and what not, one line a file."""
    for file in proposal.files:
        taken = [hunk for hunk in file.hunks if hunk.number in chosen]
        left = len(file.hunks) - len(taken)
        if not taken:
            continue
        counts = "" if file.binary else "  +{} -{}".format(*_counts(file, taken))
        rest = f"  ({left} of {len(file.hunks)} hunks stay out)" if left else ""
        mixed = "  holds changes of yours that cannot be told apart" if _mixed(taken) else ""
        yield f"  {file.kind:9}{one_line(file.path)}{counts}{rest}{mixed}"
    for path, why in proposal.left_out:
        yield f"  {'left out':9}{one_line(path)}  ({one_line(why)})"
    for note in proposal.notes:
        yield f"  {one_line(note)}"


def hunk_lines(file: CommitFile, hunk: CommitHunk) -> Iterator[str]:
    """A hunk with a few lines around it."""
    if hunk.block is None:
        yield f"{file.kind}: the whole file" + (" (binary)" if file.binary else "")
        if file.binary:
            return
        text = file.after if file.after_mode else file.before
        lines = [("+" if file.after_mode else "-", line) for line in text.split(b"\n")[:-1] or [text]]
    else:
        around = file.before.split(b"\n")
        block = hunk.block
        yield f"@@ line {block.start + 1} @@"
        lines = [(" ", line) for line in around[max(0, block.start - CONTEXT_LINES) : block.start]]
        lines += [("-", line) for line in block.old] + [("+", line) for line in block.new]
        lines += [(" ", line) for line in around[block.end : block.end + CONTEXT_LINES]]
    for sign, line in lines[:SHOWN_LINES]:
        yield sign + one_line(line.decode("utf-8", "replace").rstrip("\n"))
    if len(lines) > SHOWN_LINES:
        yield f"  … {len(lines) - SHOWN_LINES:,} more lines"


def choose(proposal: CommitProposal) -> frozenset[int]:
    """Ask about each hunk on the terminal; the numbers of those to take. An end of input leaves the rest."""
    chosen: set[int] = set()
    for file in proposal.files:
        verdict = ""
        for hunk in file.hunks:
            if not verdict:
                _say(f"\n{one_line(file.path)}, change {hunk.number} of {len(proposal.hunks)}{WORDS[hunk.whose]}")
                for line in hunk_lines(file, hunk):
                    _say(line)
                verdict = _asked(default="n" if hunk.whose is Whose.YOURS else "y")
            if verdict == "q":
                return frozenset(chosen)
            if verdict in ("y", "a"):
                chosen.add(hunk.number)
            verdict = verdict if verdict in ("a", "d") else ""
    return frozenset(chosen)


def _asked(default: str) -> str:
    while True:
        answer = ask_line(f"Take this change? [y,n,a,d,q,?] ({default})")
        if answer is None:
            return "q"
        answer = answer.lower() or default
        if answer in ("y", "n", "a", "d", "q"):
            return answer
        _say(HELP)


def _counts(file: CommitFile, taken: list[CommitHunk]) -> tuple[int, int]:
    added = removed = 0
    for hunk in taken:
        if hunk.block is not None:
            added, removed = added + len(hunk.block.new), removed + len(hunk.block.old)
        else:
            added, removed = added + file.after.count(b"\n"), removed + file.before.count(b"\n")
    return added, removed


def _mixed(taken: list[CommitHunk]) -> bool:
    return any(hunk.whose is Whose.MIXED for hunk in taken)


def _say(text: str) -> None:
    sys.stderr.write(safe(text, terminal=True) + "\n")
