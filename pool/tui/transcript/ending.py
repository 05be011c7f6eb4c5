"""The last line of a run."""

from __future__ import annotations

from pool.events import RunFinished, StopReason
from pool.facekit.words import closing_words
from pool.tui.transcript.notice import Quiet, Tone


def closing(body: RunFinished) -> Quiet:
    """How a run ended, and what it took."""
    tone = Tone.GOOD if body.reason is StopReason.COMPLETED else Tone.WARNING
    return Quiet(closing_words(body), tone=tone)
