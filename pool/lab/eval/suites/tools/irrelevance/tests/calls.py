"""Judge a run by the calls that its trajectory shows (ATIF), and by its last answer.

`python3 -I calls.py` with TESTS_DIR (this file's folder, with `expected.json`) and LOGS_DIR, whose `agent/` holds
`trajectory.json` and `answer.txt`.

`calls`: the calls that must be made, no more and no fewer; each has a name and, by argument, a list of values that
are right (null: may be left out). `together`: all of them in one reply. `uses`, instead of calls: names of which each
must be called at least once. `answer`: groups of texts; of each group one must be in the answer. `forbidden`: none of
these may be.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

MOST_ANSWER_CHARACTERS = 100_000
NUMBER_TOLERANCE = 1e-9
# Pieces of call markup and of thoughts that belong to no answer (laguna's template, and the common one).
LEAKS = ("<tool_call>", "</tool_call>", "<arg_key>", "</arg_value>", "<think>", "</think>")
_PREFIX = re.compile(r"^.*(?:__|\.|_mcp_)(?=\w)")
_ARITHMETIC = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub)


@dataclass(frozen=True)
class Call:
    """A call as the trajectory shows it; step counts replies."""

    step: int
    name: str
    arguments: Any

    @property
    def is_object(self) -> bool:
        """Whether the arguments are a JSON object."""
        return isinstance(self.arguments, dict)


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
    verdict = judged(expected, logs / "agent")
    target = logs / "verifier"
    target.mkdir(parents=True, exist_ok=True)
    details = json.dumps({"why": verdict.why}, ensure_ascii=False, indent=1)
    (target / "details.json").write_text(details, encoding="utf-8")
    (target / "reward.json").write_text(json.dumps(verdict.figures), encoding="utf-8")
    print(json.dumps(verdict.figures), *verdict.why, sep="\n")
    return 0


def judged(expected: Mapping[str, Any], agent: Path) -> Verdict:
    """Compare what was done with what was expected."""
    verdict = Verdict()
    unread: list[str] = []
    try:
        trajectory = json.loads((agent / "trajectory.json").read_text(encoding="utf-8"))
        calls, said = read_trajectory(trajectory)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        # Without it nobody knows what was called: no call is not the same as none recorded.
        unread.append(f"there is no trajectory that can be read: {error}")
        calls, said = [], ""
    try:
        answer = (agent / "answer.txt").read_text(encoding="utf-8", errors="replace")[:MOST_ANSWER_CHARACTERS].strip()
    except OSError:
        answer = ""
    wrong = unread or _wrong_calls(expected, calls)
    missing = _wrong_answer(expected, answer)
    leaks = [f"{leak!r} is in what the model said" for leak in LEAKS if leak in said or leak in answer]
    verdict.why += [*wrong, *missing, *leaks]
    verdict.figures = {
        "pass": float(not wrong and not leaks),
        "held_out": float(not missing),
        "structured": float(not leaks and all(call.is_object for call in calls)),
        "reward": float(not wrong and not missing and not leaks),
    }
    return verdict


def read_trajectory(trajectory: Mapping[str, Any]) -> tuple[list[Call], str]:
    """All calls of the agent, and everything that it said."""
    calls: list[Call] = []
    said: list[str] = []
    agent = [step for step in trajectory["steps"] if step.get("source") == "agent"]
    for number, step in enumerate(agent):
        message = step.get("message")
        said.append(message if isinstance(message, str) else json.dumps(message, ensure_ascii=False))
        for call in cast("list[dict[str, Any]]", step.get("tool_calls") or []):
            calls.append(Call(number, _PREFIX.sub("", str(call["function_name"])), call["arguments"]))
    return calls, "\n".join(said)


def _wrong_calls(expected: Mapping[str, Any], calls: Sequence[Call]) -> list[str]:
    """What is wrong with the calls, in words; nothing if they are right."""
    if "uses" in expected:
        used = {call.name for call in calls}
        return [f"{name} was not called" for name in expected["uses"] if name not in used]
    wanted: list[Mapping[str, Any]] = list(expected["calls"])
    wrong: list[str] = []
    for call in calls:
        found = next((one for one in wanted if one["name"] == call.name and _fits(one["arguments"], call)), None)
        if found is None:
            wrong.append(f"{call.name}({json.dumps(call.arguments, ensure_ascii=False)}) was not asked for")
        else:
            wanted.remove(found)
    wrong += [f"{one['name']} was not called with {json.dumps(one['arguments'], ensure_ascii=False)}" for one in wanted]
    if expected.get("together") and len({call.step for call in calls}) > 1:
        wrong.append("the calls were made in several replies, not in one")
    return wrong


def _fits(wanted: Mapping[str, Sequence[Any]], call: Call) -> bool:
    """Whether a call has all wanted arguments with a right value, and no other."""
    if not call.is_object:
        return False
    given = cast("dict[str, Any]", call.arguments)
    optional = {name for name, values in wanted.items() if None in values}
    if not set(wanted) - optional <= set(given) <= set(wanted):
        return False
    return all(any(_same(value, right) for right in wanted[name]) for name, value in given.items())


def _same(value: Any, right: Any) -> bool:
    """Texts without regard to case and outer blanks, numbers by value, lists in any order."""
    if isinstance(right, dict):
        return isinstance(value, str) and _worth(value) == cast("dict[str, float]", right)["worth"]
    if isinstance(right, bool) or isinstance(value, bool):
        return value is right
    if isinstance(value, str) and isinstance(right, str):
        return " ".join(value.casefold().split()) == " ".join(right.casefold().split())
    if isinstance(value, int | float) and isinstance(right, int | float):
        return abs(value - right) <= NUMBER_TOLERANCE * max(1.0, abs(right))
    if isinstance(value, list) and isinstance(right, list):
        one, two = (
            sorted(map(str.casefold, map(str, items))) for items in cast("tuple[list[Any], ...]", (value, right))
        )
        return one == two
    return False


def _worth(expression: str) -> float | None:
    """The value of a sum, to nine digits; None if it is not one. Nothing else is ever run."""
    try:
        tree = ast.parse(expression.replace("×", "*").replace("^", "**").strip(), mode="eval")
        if not all(isinstance(node, _ARITHMETIC) for node in ast.walk(tree)):
            return None
        return round(float(_value(tree.body)), 9)
    except (SyntaxError, ValueError, TypeError, ZeroDivisionError, OverflowError, RecursionError):
        return None


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left, ast.Add(), right):
            return _value(left) + _value(right)
        case ast.BinOp(left, ast.Sub(), right):
            return _value(left) - _value(right)
        case ast.BinOp(left, ast.Mult(), right):
            return _value(left) * _value(right)
        case ast.BinOp(left, ast.Div(), right):
            return _value(left) / _value(right)
        case _:
            raise ValueError("not arithmetic")


def _wrong_answer(expected: Mapping[str, Any], answer: str) -> list[str]:
    """What the answer lacks, in words."""
    if not answer:
        return ["there is no answer"]
    plain = _plain(answer)
    wrong = [
        f"the answer does not say {' or '.join(group)}"
        for group in expected["answer"]
        if not any(_stands(_plain(text), plain) for text in group)
    ]
    return wrong + [f"the answer says {text!r}" for text in expected.get("forbidden", []) if _plain(text) in plain]


def _stands(text: str, answer: str) -> bool:
    """Whether a text is in the answer, and not a part of a longer word or number."""
    return re.search(rf"(?<![\w.]){re.escape(text)}(?!\w|\.\d)", answer) is not None


def _plain(text: str) -> str:
    """Without case, and without commas between digits."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", text).casefold()


if __name__ == "__main__":
    sys.exit(main())
