"""What the interface imports after its first paint, beside the keys that are typed meanwhile."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Generator
from contextlib import contextmanager

REST = (
    "pool.facekit.activity",
    "pool.facekit.driver",
    "pool.tui.actions",
    "pool.tui.approval",
    "pool.tui.completing",
    "pool.tui.firststart",
    "pool.tui.hearing",
    "pool.tui.leaving",
    "pool.tui.person",
    "pool.tui.question",
    "pool.tui.queue",
    "pool.tui.stopping",
    "pool.tui.todoline",
    "pool.tui.transcript.feed",
    "pool.tui.typedahead",
)
"""The modules of the app's parts; what these import comes with them."""

SWITCH_SECONDS = 0.0005
"""How long the importing thread may keep the interpreter while the app waits for it. A key passes through three threads
until it is on the screen; with Python's own 5 ms it would be seen late."""


def load_rest() -> None:
    """Import the parts (blocking: for a thread)."""
    with _quick_switches():
        for name in REST:
            importlib.import_module(name)


def load_for_answers() -> None:
    """Make what the first answer needs, if nothing did yet (blocking: for a thread).

    It would take 50 ms in the midst of the answer, where it keeps keys waiting.
    """
    from pool.tui.transcript import highlight, mdparse

    with _quick_switches():
        mdparse.parser()
        highlight.get_ready()


@contextmanager
def _quick_switches() -> Generator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
