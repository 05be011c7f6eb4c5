"""Scripted runs: every bad one ends within its bound and for its reason, no honest one is touched."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.guards.cases import CORPUS, half
from tests.guards.player import play
from tests.guards.script import Case

LEAST_OF_EACH = 30


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case.name)
async def test_a_scripted_run(case: Case, tmp_path: Path) -> None:
    played = await play(case, tmp_path / "work")
    assert played.faults() == [], f"fired: {played.fired}"


def test_the_corpus_is_large_and_its_halves_are_alike() -> None:
    names = Counter(case.name for case in CORPUS)
    assert [name for name, count in names.items() if count > 1] == []
    assert sum(case.honest for case in CORPUS) >= LEAST_OF_EACH
    assert sum(not case.honest for case in CORPUS) >= LEAST_OF_EACH
    for letter in "AB":
        honest = [case.honest for case in half(letter)]
        assert honest.count(True) >= LEAST_OF_EACH / 3
        assert honest.count(False) >= LEAST_OF_EACH / 3
