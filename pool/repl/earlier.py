"""The last words of a session that is gone on with: prompts, answers and endings, without the work between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pool.config.interface import ReasoningView
from pool.events import CallFinished, MessageAdded, RunFinished, RunStarted, UserCommand
from pool.facekit.decode import events_of
from pool.facekit.words import closing_words, without_note
from pool.repl.feed import Feed, content_of
from pool.repl.ink import Ink, Role
from pool.repl.prose import Prose
from pool.repl.results import output_line

MOST_PROMPTS = 3
"""Of so many prompts, the last ones, something is shown."""

ANSWER_LINES = 20
ANSWER_CHARS = 4_000
"""Of a longer answer the end is shown."""


def earlier_lines(rows: Sequence[dict[str, Any]], ink: Ink, columns: int = 0) -> list[str]:
    """What a log's rows tell, in few lines; columns as in `Feed`."""
    starts = _starts(rows)
    if not starts:
        return [ink.paint("an earlier session; nothing was asked in it yet", Role.MUTED)]
    out: list[str] = []
    feed = Feed(ink, out.append, ReasoningView.HIDDEN, lambda: columns)
    hidden = len(starts) - MOST_PROMPTS
    if hidden > 0:
        feed.remark(f"… {hidden} earlier prompt{'s' if hidden != 1 else ''}")
    for number, start in enumerate(starts[-MOST_PROMPTS:], len(starts[:-MOST_PROMPTS]) + 1):
        end = starts[number] if number < len(starts) else len(rows)
        _one(rows[start:end], feed, out, ink, columns)
    return out


def _starts(rows: Sequence[dict[str, Any]]) -> list[int]:
    """Where prompts begin. A fork has those of its source as messages alone, before the first run of its own."""
    runs = [n for n, row in enumerate(rows) if row.get("type") == RunStarted.type]
    copied: list[int] = []
    for number, row in enumerate(rows[: runs[0] if runs else len(rows)]):
        if row.get("type") == MessageAdded.type and row.get("role") == "user":
            copied[len(copied) - bool(row.get("replaces_last")) :] = [number]
    return copied + runs


def _one(rows: Sequence[dict[str, Any]], feed: Feed, out: list[str], ink: Ink, columns: int) -> None:
    """One prompt, its answer, and how it ended."""
    answer, closing, calls = "", "", 0
    own: list[UserCommand] = []
    if rows[0].get("type") == MessageAdded.type:
        said, note = without_note(content_of(str(rows[0].get("text"))))
        if said:
            feed.prompt(said)
        if note:
            feed.remark(note)
    for event in events_of(rows):
        match event.body:
            case RunStarted(prompt=prompt):
                feed.prompt(prompt)
            case CallFinished():
                calls += 1
            case MessageAdded(role="assistant", text=text):
                answer = content_of(text) or answer
            case UserCommand() as body:
                own.append(body)
            case RunFinished() as body:
                closing, answer = closing_words(body), body.answer or answer
            case _:
                pass
    if calls:
        feed.remark(f"{calls} call{'s' if calls != 1 else ''}")
    out += _end_of_answer(answer, ink, columns)
    if closing:
        out.append("")
        feed.note(closing)
    for command in own:
        _own_command(command, feed, out, ink)


def _end_of_answer(answer: str, ink: Ink, columns: int) -> list[str]:
    lines: list[str] = []
    prose = Prose(ink, lines.append, lambda: columns)
    if len(answer) > ANSWER_CHARS:
        answer = f"… {answer[-ANSWER_CHARS:]}"
    prose.feed(answer)
    prose.end()
    out = [""] if lines else []
    if len(lines) > ANSWER_LINES:
        out.append(ink.paint(f"… {len(lines) - ANSWER_LINES:,} lines before these", Role.MUTED))
    return out + lines[-ANSWER_LINES:]


def _own_command(body: UserCommand, feed: Feed, out: list[str], ink: Ink) -> None:
    """What the user ran in a shell of their own: the end of its output."""
    feed.title(f"! {body.command}")
    lines = body.output.strip("\n").split("\n")
    if len(lines) > ANSWER_LINES:
        out.append(ink.paint(f"  … {len(lines) - ANSWER_LINES:,} lines before these", Role.MUTED))
    out += [f"  {output_line(line, ink)}" for line in lines[-ANSWER_LINES:]]
    feed.remark(body.ended)
