"""What a log says of what a session set out to do: its list of steps, a plan that waits, tasks that never ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from pool.events import TodoItem
from pool_tools.frozen import frozen

PLAN_MODE = "plan"
"""The mode of the runs that make a plan; see `pool.config.settings.Mode`."""


@frozen
class OpenTask:
    """A task of a subagent whose end the log does not tell."""

    kind: str
    session: str
    branch: str = ""
    folder: str = ""


@dataclass(slots=True)
class WorkRows:
    """Follows the rows that count. plan is the plan that waits for the user, "" for none; tasks are by call."""

    todo: tuple[TodoItem, ...] = ()
    plan: str = ""
    tasks: dict[str, OpenTask] = field(default_factory=dict[str, OpenTask])

    def take(self, row: dict[str, Any]) -> None:
        """Take the next row; other kinds say nothing here."""
        match row.get("type"):
            case "todo.changed":
                self.todo = items_of(row.get("items"))
            case "plan.proposed":
                self.plan = _text(row, "text")
            case "plan.decided":
                self.plan = _text(row, "text") if row.get("decision") == "edited" else ""
            case "run.started" if row.get("mode") != PLAN_MODE:
                self.plan = ""
            case "task.started":
                names = ("kind", "task_session", "branch", "folder")
                self.tasks[_text(row, "call")] = OpenTask(*(_text(row, name) for name in names))
            case "task.finished" | "call.finished":
                self.tasks.pop(_text(row, "call"), None)
            case _:
                pass


def items_of(value: object) -> tuple[TodoItem, ...]:
    """The steps that a row holds, whatever it holds."""
    rows = cast("list[object]", value) if isinstance(value, (list, tuple)) else []
    found = [cast(dict[str, Any], row) for row in rows if isinstance(row, dict)]
    return tuple(TodoItem(_text(row, "text"), _text(row, "state") or "open") for row in found if _text(row, "text"))


def _text(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""
