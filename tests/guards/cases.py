"""All scripted runs. A new one is appended to the module that it belongs to; its half follows from its name."""

from __future__ import annotations

from itertools import chain

from tests.guards.corpus import (
    answers,
    bad_calls,
    bad_replies,
    bad_thoughts,
    honest_answers,
    honest_thoughts,
    honest_work,
    later,
)
from tests.guards.script import Case

MODULES = (bad_thoughts, bad_calls, bad_replies, honest_thoughts, honest_work, honest_answers, later, answers)
CORPUS: tuple[Case, ...] = tuple(chain.from_iterable(module.CASES for module in MODULES))


def half(letter: str) -> tuple[Case, ...]:
    """The cases of half A or B."""
    return tuple(case for case in CORPUS if case.half == letter)
