"""Events of what a run sets out to do: its list of steps, a plan that the user decides on, tasks of subagents."""

from __future__ import annotations

from typing import ClassVar

from pool.eventbase import Body, Usage
from pool_tools.frozen import frozen


@frozen
class TodoItem:
    """A step of the model's list. state is open, now or done."""

    text: str
    state: str = "open"


@frozen
class TodoChanged(Body):
    """The model's list of steps is this now, all of it; empty: there is none any more."""

    type: ClassVar[str] = "todo.changed"
    items: tuple[TodoItem, ...]


@frozen
class PlanProposed(Body):
    """A run in plan mode ends with a plan, which waits for the user: text is the plan, in Markdown.

    mode is the one that it is carried out in if nobody names another.
    """

    type: ClassVar[str] = "plan.proposed"
    text: str
    mode: str = ""


@frozen
class PlanDecided(Body):
    """What became of the plan: approved (carried out next, in mode), edited (it still waits, as text) or dropped.

    text is the plan as it stands then, with what the user changed. Of an edited one mode is as in `plan.proposed`.
    """

    type: ClassVar[str] = "plan.decided"
    decision: str
    text: str
    mode: str = ""


@frozen
class PromptCopied(Body):
    """In a fork's log: a prompt that it has from its source; the messages of its run follow.

    source_run is the run's id there, at when it began, in Unix seconds.
    """

    type: ClassVar[str] = "prompt.copied"
    text: str
    source_run: str
    at: float


@frozen
class TaskStarted(Body):
    """A subagent begins; it belongs to the call that gave it the task. Its own events are in its own session's log.

    kind is general, explore or the name of one from the configuration; task_session the id of its session. branch and
    folder are its worktree's, "" if it works in none.
    """

    type: ClassVar[str] = "task.started"
    kind: str
    title: str
    task_session: str
    branch: str = ""
    folder: str = ""


@frozen
class TaskProgress(Body):
    """What a subagent does now, and what it has used: turns, tokens read and written, seconds of work."""

    type: ClassVar[str] = "task.progress"
    transient: ClassVar[bool] = True
    step: str
    turns: int
    tokens: int
    seconds: float


@frozen
class TaskFinished(Body):
    """A subagent has ended. reason is its stop reason; usage and reasoning_tokens count in those of the run.

    stat says in one line what its branch changes, "" if nothing or if it has none.
    """

    type: ClassVar[str] = "task.finished"
    kind: str
    title: str
    task_session: str
    reason: str
    detail: str
    turns: int
    seconds: float
    usage: Usage
    reasoning_tokens: int = 0
    branch: str = ""
    stat: str = ""
