"""What a session sets out to do: the model's list of steps, the plan that waits for the user, tasks of subagents."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pool.agent.approvals import Approvals
from pool.agent.loop import Agent
from pool.agent.plan import WAITS, PlanState
from pool.agent.subagents.words import orphan_words
from pool.agent.todo import TodoList
from pool.config.settings import Mode
from pool.events import Body, Notice
from pool.sessions.workrows import OpenTask, WorkRows
from pool_tools.frozen import frozen


@frozen
class Work:
    """All of it, of one session. It is in its log, and comes back with it.

    unfinished are tasks that Pool's end has cut, by the ids of their calls. plans: answers in plan mode are plans.
    """

    todo: TodoList
    plan: PlanState
    unfinished: Mapping[str, OpenTask]
    plans: bool

    @classmethod
    def of(cls, tell: Callable[[Body], object], earlier: WorkRows, *, confined: bool, plans: bool) -> Work:
        """As an earlier log has it. confined: commands run in a sandbox that was proven to work."""
        plan = PlanState(tell, earlier.plan, Mode.AUTO if confined else Mode.DEFAULT)
        return cls(TodoList(tell, earlier.todo), plan, earlier.tasks, plans)

    def attach(self, agent: Agent, approvals: Approvals, begin: Callable[[], object]) -> None:
        """Take part in each run of an agent. begin is called when one begins, before its prompt enters the history."""
        agent.history.unfinished |= {call: orphan_words(task) for call, task in self.unfinished.items()}
        approvals.follow_mode(self.plan.follow)
        if self.plan.waiting:
            agent.hub.emit(Notice("info", WAITS))

        def on_prompt() -> str:
            begin()
            return self.plan.begin(approvals.mode) if self.plans else ""

        agent.on_prompt = on_prompt
        if self.plans:
            agent.before_end = lambda finished: self.plan.end(finished, approvals.mode)

    def for_model(self) -> str:
        """What a history that is replaced says word for word."""
        parts = (self.todo.for_model(), self.plan.for_model() if self.plans else "")
        return "\n\n".join(part for part in parts if part)

    def restore(self, rows: WorkRows) -> None:
        """Go back to what a log says."""
        self.todo.restore(rows.todo)
        self.plan.restore(rows.plan)
