"""Garbage of a run is taken out after it; that of a session once another one is open. Nothing is kept for ever."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from pool.tui.garbage import Garbage


class Ring:
    """Refers to itself: only looking for garbage takes it out."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def made() -> weakref.ref[Ring]:
    return weakref.ref(Ring())


def test_what_a_run_left_goes_after_it() -> None:
    garbage = Garbage()
    garbage.opened_session()
    left = made()
    garbage.ran()
    assert left() is None


def test_what_a_session_left_goes_when_the_next_is_open() -> None:
    garbage = Garbage()
    garbage.opened_session()
    kept = Ring()
    left = weakref.ref(kept)
    garbage.ran()
    del kept
    garbage.left_session()
    garbage.opened_session()
    assert left() is None
