"""A problem that a checker found, and which problems are new since an edit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from pool_tools.frozen import frozen

COMPARED_LINES = 1_000
"""Changed lines, old and new together, that are compared one by one; beyond, a problem is known by its text alone."""


@frozen
class Problem:
    """path is relative to the workspace where it lies in it; line and column count from 1, 0 where unknown.

    severity is error, warning or info; code may be "".
    """

    path: str
    line: int
    column: int
    severity: str
    code: str
    message: str

    @property
    def text(self) -> str:
        """The problem in one line."""
        place = ":".join([self.path, *(str(n) for n in (self.line, self.column) if n)])
        return " ".join(part for part in (f"{place}:", self.severity, self.code, self.message) if part)


def new_problems(
    before: Sequence[Problem], after: Sequence[Problem], path: str, old: str, new: str
) -> tuple[Problem, ...]:
    """What of after was not there before, in its order.

    old and new are the contents of the edited file: a problem that only moved with its line is not new. Elsewhere, and
    where a line was changed, as many problems of one code and text are old as there were.
    """
    moved = _moved(old, new)
    places = Counter((p.path, moved.get(p.line, 0) if p.path == path else p.line, p.code, p.message) for p in before)
    known = Counter((p.path, p.code, p.message) for p in before)
    left: list[Problem] = []
    for problem in after:
        place = (problem.path, problem.line, problem.code, problem.message)
        if places[place] > 0:
            places[place] -= 1
            known[problem.path, problem.code, problem.message] -= 1
        else:
            left.append(problem)
    out: list[Problem] = []
    for problem in left:
        key = (problem.path, problem.code, problem.message)
        if known[key] > 0:
            known[key] -= 1
        else:
            out.append(problem)
    return tuple(out)


def _moved(old: str, new: str) -> Mapping[int, int]:
    """Where each line of old that is still there is in new; numbers from 1."""
    olds, news = old.splitlines(), new.splitlines()
    start = 0
    while start < min(len(olds), len(news)) and olds[start] == news[start]:
        start += 1
    end = 0
    while end < min(len(olds), len(news)) - start and olds[-1 - end] == news[-1 - end]:
        end += 1
    out = {line: line for line in range(1, start + 1)}
    shift = len(news) - len(olds)
    out |= {line: line + shift for line in range(len(olds) - end + 1, len(olds) + 1)}
    left, right = olds[start : len(olds) - end], news[start : len(news) - end]
    if len(left) + len(right) <= COMPARED_LINES:
        for block in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
            out |= {start + block.a + i + 1: start + block.b + i + 1 for i in range(block.size)}
    return out
