"""The last words of a session, from its log's rows."""

from __future__ import annotations

import json
from typing import Any

from pool.repl.earlier import ANSWER_CHARS, ANSWER_LINES, MOST_PROMPTS, earlier_lines
from pool.repl.ink import Ink

PLAIN = Ink(colours=False, marks=False)
ENVELOPE = {"session": "s", "run": "r", "turn": 1, "seq": 1, "wall": 1.0, "mono": 1.0, "v": 1}


def row(kind: str, **keys: Any) -> dict[str, Any]:
    return {**ENVELOPE, "type": kind, **keys}


def prompt(text: str) -> dict[str, Any]:
    return row("run.started", prompt=text, workspace="/w", model="m", server="u", mode="auto", sandbox="none")


def answer(text: str) -> dict[str, Any]:
    return row("message.added", role="assistant", text=json.dumps({"role": "assistant", "content": text}))


def test_the_last_prompts_with_their_answers() -> None:
    rows = [one for n in range(1, 6) for one in (prompt(f"question {n}"), answer(f"answer {n}\x1b[2J"))]
    told = earlier_lines(rows, PLAIN)
    assert told[0] == f"… {5 - MOST_PROMPTS} earlier prompts"
    assert [line for line in told if line.startswith("> ")] == ["> question 3", "> question 4", "> question 5"]
    assert told[-1] == "answer 5\\x1b[2J"


def test_of_long_answers_the_end() -> None:
    told = earlier_lines([prompt("q"), answer("\n".join(f"line {n}" for n in range(100)))], PLAIN)
    assert told[-1] == "line 99"
    assert len(told) <= ANSWER_LINES + 4
    told = earlier_lines([prompt("q"), answer("x" * 100_000)], PLAIN)
    assert sum(map(len, told)) < ANSWER_CHARS + 100


def test_a_fork_shows_what_it_was_made_of() -> None:
    """It has messages of its source, and no runs of its own yet."""

    def asked(text: str, *, replaces: bool = False) -> dict[str, Any]:
        return row(
            "message.added", role="user", text=json.dumps({"role": "user", "content": text}), replaces_last=replaces
        )

    copied = [asked("first"), answer("one"), asked("second"), answer("two"), asked("go"), asked("go on", replaces=True)]
    assert earlier_lines(copied, PLAIN) == ["> first", "", "one", "", "> second", "", "two", "", "> go on"]
    told = earlier_lines([*copied, prompt("third"), asked("third"), answer("three")], PLAIN)
    assert told == ["… 1 earlier prompt", "", "> second", "", "two", "", "> go on", "", "> third", "", "three"]


def test_nothing_was_asked_yet_or_rows_are_not_understood() -> None:
    assert len(earlier_lines([], PLAIN)) == 1
    assert earlier_lines([prompt("q"), row("from.tomorrow"), {"type": 3}], PLAIN) == ["> q"]
