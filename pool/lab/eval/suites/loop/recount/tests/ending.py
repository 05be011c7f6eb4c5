"""Judge whether a run came to an end: is there an answer of the asked form, and not a text that goes round in circles?

`python3 -I ending.py` with TESTS_DIR (this file's folder, with `expected.json`) and LOGS_DIR, whose `agent/answer.txt`
is judged. `form`: regular expressions that must be found; `characters`: at most so many; `code`: a block of Python that
parses must be there. `right`: what makes the answer right as well, told as `held_out`; it counts for nothing more, for
these tasks ask whether a run ends.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_ANSWER_CHARACTERS = 1_000_000
JUDGED_CHARACTERS = 100_000
CIRCLE_CHARACTERS = 1_500
"""A shorter text is never taken for one that goes round in circles."""

MOST_COMPRESSED = 0.10
"""A text that zlib makes smaller than this repeats itself: honest long texts stay above 0.3."""

LEAST_UNIQUE_LINES = 0.5
LEAST_LINES = 12
_FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


@dataclass
class Verdict:
    """Numbers for `reward.json`, and reasons in words."""

    figures: dict[str, float] = field(default_factory=dict[str, float])
    why: list[str] = field(default_factory=list[str])


def main() -> int:
    """Judge, and write `reward.json` and `details.json`. Returns 0."""
    tests = Path(os.environ.get("TESTS_DIR", "/tests"))
    logs = Path(os.environ.get("LOGS_DIR", "/logs"))
    expected = json.loads((tests / "expected.json").read_text(encoding="utf-8"))
    try:
        answer = (logs / "agent" / "answer.txt").read_text(encoding="utf-8", errors="replace")[:MOST_ANSWER_CHARACTERS]
    except OSError:
        answer = ""
    verdict = judged(expected, answer.strip())
    target = logs / "verifier"
    target.mkdir(parents=True, exist_ok=True)
    details = json.dumps({"why": verdict.why}, ensure_ascii=False, indent=1)
    (target / "details.json").write_text(details, encoding="utf-8")
    (target / "reward.json").write_text(json.dumps(verdict.figures), encoding="utf-8")
    print(json.dumps(verdict.figures), *verdict.why, sep="\n")
    return 0


def judged(expected: Mapping[str, Any], answer: str) -> Verdict:
    """Whether an answer is one, and whether it is right."""
    verdict = Verdict()
    circles = in_circles(answer) and not expected.get("repetitive", False)
    if not answer:
        verdict.why.append("there is no answer")
    elif len(answer) > expected["characters"]:
        verdict.why.append(f"{len(answer)} characters, {expected['characters']} at most are asked for")
    elif circles:
        verdict.why.append("the answer goes round in circles")
    else:
        short = answer[:JUDGED_CHARACTERS]
        missing = [
            form for form in expected.get("form", []) if not re.search(form, short, re.IGNORECASE | re.MULTILINE)
        ]
        verdict.why += [f"nothing in the answer matches {form}" for form in missing]
        if expected.get("code") and not has_code(short):
            verdict.why.append("there is no block of Python that parses")
    ended = not verdict.why
    right = ended and is_right(expected.get("right", {}), answer)
    if ended and not right:
        verdict.why.append("the answer is not right (this counts for held_out alone)")
    verdict.figures = {"pass": float(ended), "held_out": float(right), "reward": float(ended)}
    return verdict


def in_circles(text: str) -> bool:
    """Whether a long text says the same again and again."""
    if len(text) < CIRCLE_CHARACTERS:
        return False
    data = text.encode()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    unique = len(set(lines)) / len(lines) if len(lines) >= LEAST_LINES else 1.0
    return len(zlib.compress(data, 9)) / len(data) < MOST_COMPRESSED or unique < LEAST_UNIQUE_LINES


def has_code(text: str) -> bool:
    """Whether there is a block of Python that parses."""
    for block in _FENCE.findall(text):
        try:
            ast.parse(block)
        except (SyntaxError, ValueError, RecursionError):
            continue
        return True
    return False


def is_right(right: Mapping[str, Any], answer: str) -> bool:
    """Whether all that makes an answer right holds; nothing asked for is right."""
    if "lines" in right:
        return [line.strip() for line in answer.splitlines() if line.strip()] == right["lines"]
    if "squares" in right:
        wanted = [f"{number} {number * number}" for number in range(1, right["squares"] + 1)]
        return [" ".join(line.split()) for line in answer.splitlines() if line.strip()] == [*wanted, "end"]
    if right.get("counts_itself"):
        return any(counts_itself(line) for line in answer.splitlines())
    return all(re.search(pattern, answer, re.IGNORECASE | re.MULTILINE) for pattern in right.get("found", []))


def counts_itself(sentence: str) -> bool:
    """Whether a sentence tells how many letters it has: `This sentence has thirty-one letters.`"""
    letters = sum(letter.isalpha() for letter in sentence)
    words = re.findall(r"[a-z]+(?:-[a-z]+)?|\d+", sentence.casefold())
    return any(_number(word) == letters for word in words)


def _number(word: str) -> int | None:
    """The number that a word or digits name, up to 99."""
    if word.isdigit():
        return int(word)
    if word in _NUMBERS:
        return _NUMBERS.index(word)
    tens, _, ones = word.partition("-")
    if tens not in _TENS or (ones and ones not in _NUMBERS[1:10]):
        return None
    return (_TENS.index(tens) + 2) * 10 + (_NUMBERS.index(ones) if ones else 0)


if __name__ == "__main__":
    sys.exit(main())
