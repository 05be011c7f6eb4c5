"""Text from a model, a tool or a file is data: no escape of it reaches a terminal."""

from __future__ import annotations

import io
import re

from hypothesis import given
from hypothesis import strategies as st

from pool.agent.hub import EventHub
from pool.events import CallFinished, CallOutput, CallProposed, ContentDelta, Notice, ReasoningDelta
from pool.headless.output import Progress
from pool.headless.plain import safe

DANGEROUS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@given(st.text())
def test_nothing_dangerous_is_left(text: str) -> None:
    assert not DANGEROUS.search(safe(text, terminal=True))


def test_text_is_kept_and_escapes_are_visible() -> None:
    assert safe("a\tb\nc é 日本 🚀", terminal=True) == "a\tb\nc é 日本 🚀"
    assert safe("\x1b]52;c;aGk=\x07", terminal=True) == "\\x1b]52;c;aGk=\\x07"
    assert safe("a\u2028b\x85c", terminal=False) == "a\u2028b\x85c"


@given(st.text())
def test_progress_shows_no_escape_of_anybody(text: str) -> None:
    err = io.StringIO()
    progress = Progress(err, 2)
    hub = EventHub("s")
    for body in (
        ReasoningDelta(text),
        ContentDelta(text),
        CallProposed(text, {}, "read", text, "command", text),
        CallOutput(text),
        CallFinished(text, "ok", text, 0.1),
        Notice("error", text, text),
    ):
        progress.show(hub.emit(body, "c"))
    assert not DANGEROUS.search(err.getvalue())
