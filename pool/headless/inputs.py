"""What a program may send to `pool run -i stream-json`: one JSON object a line, each with its `type`.

docs/events.schema.json is made from these classes.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Any, ClassVar, cast

from pool.ports import Remember
from pool_tools.frozen import frozen

LINE_LIMIT_BYTES = 8 * 1024 * 1024


class InputProblem(Exception):
    """A line that cannot be understood. The message says what is wrong with it."""


@frozen
class Input:
    """Base of all that may be sent."""

    type: ClassVar[str] = ""


@frozen
class Prompt(Input):
    """Work this prompt; while a run works, after it."""

    type: ClassVar[str] = "prompt"
    text: str


@frozen
class SteerInput(Input):
    """Say this to the run that works, at its next safe point."""

    type: ClassVar[str] = "steer"
    text: str


@frozen
class Approve(Input):
    """Answer `approval.asked` by its id. remember is once, exact, similar or always; reason is told to the model."""

    type: ClassVar[str] = "approve"
    id: str
    allow: bool
    remember: str = "once"
    reason: str = ""


@frozen
class AnswerInput(Input):
    """Answer `question.asked` by its id; "" declines to answer."""

    type: ClassVar[str] = "answer"
    id: str
    text: str = ""


@frozen
class StopInput(Input):
    """End the run that works, with the stop reason interrupted. Queued prompts stay queued until the next prompt."""

    type: ClassVar[str] = "stop"


@frozen
class ModeInput(Input):
    """Change the approval mode, from the next call on: default, accept-edits, auto, allow-all or plan."""

    type: ClassVar[str] = "mode"
    mode: str


@frozen
class PlanInput(Input):
    """Decide on the plan that waits (`plan.proposed`), between two runs: approve, edit or drop it.

    approve carries it out in mode, "" for the one that plan.proposed names; text, if any, takes the plan's place.
    """

    type: ClassVar[str] = "plan"
    decision: str
    text: str = ""
    mode: str = ""


@frozen
class ThinkingInput(Input):
    """Set how much the model may think: on, off, low, normal, high, or tokens a turn as text."""

    type: ClassVar[str] = "thinking"
    level: str


@frozen
class BudgetInput(Input):
    """Set a budget by its name (turns, seconds, tokens, reasoning, session-turns, ...); 0 is no limit."""

    type: ClassVar[str] = "budget"
    name: str
    limit: float


@frozen
class CompactInput(Input):
    """Compact the history between two runs; guidance is what to keep above all."""

    type: ClassVar[str] = "compact"
    guidance: str = ""


@frozen
class EndInput(Input):
    """Nothing more will be sent: end after what is queued. The same as closing the pipe."""

    type: ClassVar[str] = "end"


INPUTS: dict[str, type[Input]] = {
    kind.type: kind
    for kind in (
        *(Prompt, SteerInput, Approve, AnswerInput, StopInput, ModeInput, PlanInput, ThinkingInput),
        *(BudgetInput, CompactInput, EndInput),
    )
}


def read_input(line: bytes) -> Input:
    """One line as what it asks for. Raises `InputProblem`."""
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputProblem(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InputProblem("not a JSON object")
    row = cast(dict[str, Any], value)
    kind = INPUTS.get(str(row.get("type")))
    if kind is None:
        raise InputProblem(f"`type` is {row.get('type')!r}; it can be {', '.join(INPUTS)}")
    given = _fields(kind, row)
    if isinstance(remember := given.get("remember"), str) and remember not in [r.value for r in Remember]:
        raise InputProblem(f"`remember` is {remember!r}; it can be {', '.join(r.value for r in Remember)}")
    return kind(**given)


def _fields(kind: type[Input], row: dict[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for each in fields(kind):
        if each.name not in row:
            if each.default is MISSING:
                raise InputProblem(f"{kind.type}: `{each.name}` is missing")
            continue
        value = row[each.name]
        if not _fits(value, str(each.type)):
            raise InputProblem(f"{kind.type}: `{each.name}` has to be {_WORDS[str(each.type)]}")
        given[each.name] = value
    return given


_WORDS = {"str": "text", "bool": "true or false", "float": "a number"}


def _fits(value: Any, type_name: str) -> bool:
    match type_name:
        case "str":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case _:
            return isinstance(value, (int, float)) and not isinstance(value, bool)
