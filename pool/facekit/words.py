"""The last line of a run, lines of figures, and times, in words."""

from __future__ import annotations

from pool.events import ChangedFile, RunFinished, TaskProgress, Usage, UsageReported
from pool.facekit.clean import one_line

MOST_FILES = 4
"""Changed files named in the last line; more are counted."""

NOTE_MARK = "[Pool] "
"""What Pool says to the model in a user message begins so."""

TASK_PHASES = frozenset({"reads", "thinks", "writes"})
"""Steps of a subagent that are no call."""

_LEAST_SECONDS = 0.05
"""Speeds are told of replies that took longer."""


def without_note(text: str) -> tuple[str, str]:
    """A user message in two parts: the user's words, and the note of Pool below them; "" for what is not there."""
    at = 0 if text.startswith(NOTE_MARK) else text.rfind(f"\n\n{NOTE_MARK}")
    return (text, "") if at < 0 else (text[:at], text[at:].strip().removeprefix(NOTE_MARK))


def closing_words(body: RunFinished) -> str:
    """How a run ended, and what it took."""
    reason = str(getattr(body.reason, "value", body.reason)).replace("_", " ")
    words = [reason if not body.detail else f"{reason}: {body.detail}"]
    words.append(f"{body.turns} turn{'s' if body.turns != 1 else ''}")
    words.append(_tokens(body.usage))
    words.append(duration(body.seconds))
    if body.changes:
        words.append(_files(body.changes))
    return " · ".join(words)


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


def task_words(body: TaskProgress) -> str:
    """How far a subagent is: "writes, 3 turns, 12k tokens". Its calls are lines of their own."""
    doing = f"{body.step}, " if body.step in TASK_PHASES else ""
    tokens = f"{body.tokens / 1000:.0f}k" if body.tokens >= 1000 else f"{body.tokens:,}"
    return f"{doing}{body.turns} turn{'s' if body.turns != 1 else ''}, {tokens} tokens"


def plan_words(decision: str, mode: str) -> str:
    """What became of a plan, for people."""
    return f"plan {one_line(decision)}{f', mode {one_line(mode)}' if decision == 'approved' else ''}"


def duration(seconds: float) -> str:
    """Seconds in words: "12 s", "3 min 05 s"."""
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"
