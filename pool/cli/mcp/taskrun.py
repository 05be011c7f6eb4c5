"""A whole task for another agent: Pool's own model works a prompt to its end, and the answer is short."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any

from pool.agent.program import Agent
from pool.agent.result import RunResult
from pool.agent.server import ServerProblem
from pool.config.keytable import MODES
from pool.config.settings import Mode, Settings, SettingsError, mode_of
from pool.events import CallStarted, Event, TurnStarted
from pool.stops import StopReason
from pool.wire.coerce import coerce
from pool_tools import ToolResult
from pool_tools.text import clip, plural, printable

RUN_TASK = "run_task"
ABOUT = (
    "Give a coding task to Pool, an agent with a model of its own that works in this workspace until the task is done; "
    "takes minutes. Answers with what it did and the id of its session."
)
ANSWER_CHARS = 8_000
NAMED_FILES = 20

PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "prompt": {"type": "string", "description": "The task, with all that is needed to do it"},
        "mode": {"type": "string", "enum": [mode.value for mode in MODES], "description": "What runs unasked"},
        "max_turns": {"type": "integer", "minimum": 1},
        "max_seconds": {"type": "number", "minimum": 1},
    },
    "required": ["prompt"],
}

Progress = Callable[[float, str], Awaitable[None]]
"""Tells how far a task is: how many steps were begun, and what the last one is."""


async def run_task(
    settings: Settings, flags: Mapping[str, object], arguments: Mapping[str, Any], progress: Progress
) -> ToolResult:
    """Work a task. Cancelled, it ends the run first. flags are keys of the configuration that `pool mcp serve` got.

    No mode is wider than that of settings, and no limit higher.
    """
    fit = coerce(arguments, PARAMETERS)
    if fit.problems:
        return ToolResult(False, f"{RUN_TASK} was not run: {' '.join(fit.problems)}")
    given = fit.arguments
    try:
        limits = {
            "budgets.turns": _lower(given.get("max_turns"), settings.budgets.turns),
            "budgets.seconds": _lower(given.get("max_seconds"), settings.budgets.seconds),
        }
        agent = Agent(settings.workspace, mode=_mode(settings.mode, given.get("mode")), settings={**flags, **limits})
        begun = 0
        async with agent, aclosing(agent.run(str(given["prompt"]))) as events:
            async for event in events:
                if step := _step(event):
                    begun += 1
                    await progress(begun, step)
            return _shown(agent.result)
    except (SettingsError, ServerProblem) as error:
        return ToolResult(False, f"The task could not be begun: {error}")


def _mode(widest: Mode | None, wanted: object) -> str:
    """The mode of a task. Raises `SettingsError` for one that is wider than the user allows."""
    if not wanted:
        return widest.value if widest else ""
    mode, most = mode_of(str(wanted)), widest or Mode.AUTO
    if MODES.index(mode) > MODES.index(most):
        raise SettingsError(f"mode {mode.value} is wider than {most.value}; only pool mcp serve --mode can allow it")
    return mode.value


def _lower(wanted: object, most: float) -> object:
    """The lower of two limits; 0 is none."""
    if not isinstance(wanted, int | float):
        return None
    return min(wanted, most) if most else wanted


def _step(event: Event) -> str:
    match event.body:
        case TurnStarted():
            return f"turn {event.envelope.turn}"
        case CallStarted(name=name):
            return name
        case _:
            return ""


def _shown(result: RunResult) -> ToolResult:
    names = [f"{change.path} (+{change.added} -{change.removed})" for change in result.changes]
    more = [f"and {len(names) - NAMED_FILES} more"] if len(names) > NAMED_FILES else []
    lines = [
        clip(result.answer.strip() or "(no answer)", ANSWER_CHARS),
        "",
        f"stopped: {result.reason}{f' ({result.detail})' if result.detail else ''}",
        f"changed: {', '.join([*names[:NAMED_FILES], *more]) or 'nothing'}",
        f"{plural(result.turns, 'turn')}, {result.seconds:.0f} s; session {result.session}",
    ]
    data = {"reason": result.reason, "session": result.session, "exit_code": result.exit_code}
    return ToolResult(result.reason == StopReason.COMPLETED.value, printable("\n".join(lines)), data)
