"""The last line of a run, and lines of figures, in words."""

from __future__ import annotations

from pool.events import ChangedFile, RunFinished, StopReason, Usage, UsageReported
from pool.facekit.clean import one_line
from pool.tui.transcript.notice import Quiet, Tone
from pool.tui.transcript.reasoning import duration

MOST_FILES = 4
"""Changed files named in the last line; more are counted."""

_LEAST_SECONDS = 0.05
"""Speeds are told of replies that took longer."""


def closing(body: RunFinished) -> Quiet:
    """How a run ended, and what it took."""
    reason = str(getattr(body.reason, "value", body.reason)).replace("_", " ")
    words = [reason if not body.detail else f"{reason}: {body.detail}"]
    words.append(f"{body.turns} turn{'s' if body.turns != 1 else ''}")
    words.append(_tokens(body.usage))
    words.append(duration(body.seconds))
    if body.changes:
        words.append(_files(body.changes))
    tone = Tone.GOOD if body.reason is StopReason.COMPLETED else Tone.WARNING
    return Quiet(" · ".join(words), tone=tone)


def figures(body: UsageReported) -> str:
    """What a reply took."""
    words = [_tokens(body.usage), f"first token after {body.first_token_seconds - body.waited_seconds:.1f} s"]
    writing = body.reply_seconds - body.first_token_seconds
    if writing > _LEAST_SECONDS and body.usage.completion:
        words.append(f"{body.usage.completion / writing:.0f} tokens a second")
    return " · ".join(words)


def _tokens(usage: Usage) -> str:
    mark = "~" if usage.estimated else ""
    return f"{mark}{usage.prompt:,} tokens read ({usage.cached:,} cached), {usage.completion:,} written"


def _files(changes: tuple[ChangedFile, ...]) -> str:
    named = ", ".join(f"{one_line(c.path)} +{c.added} -{c.removed}" for c in changes[:MOST_FILES])
    more = len(changes) - MOST_FILES
    return f"changed {named}{f' and {more} more' if more > 0 else ''}"
