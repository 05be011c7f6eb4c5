"""Working one task of a subagent: its place, its settings, its end as people, programs and the model are told of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pool.agent.gitwork.errors import GitWorkError
from pool.agent.loop import Agent
from pool.agent.state import RunState
from pool.agent.subagents.child import Steps, work
from pool.agent.subagents.host import Host, Running
from pool.agent.subagents.inherited import budgets_for
from pool.agent.subagents.kinds import settings_for_task
from pool.agent.subagents.result import Ended, result_of
from pool.agent.subagents.serverroom import Room
from pool.agent.subagents.trees import Left, Tree
from pool.agent.subagents.words import stopped_words
from pool.config.agents import AgentSettings
from pool.config.settings import Mode, Settings, SettingsError
from pool.events import RunFinished, StopReason, TaskFinished, TaskStarted
from pool.sessions.checkpoints.repository import repository_of
from pool.sessions.workrows import OpenTask
from pool.wire.errors import ServerProblem
from pool_tools import ToolError, ToolResult
from pool_tools.api import OutputSink
from pool_tools.frozen import frozen

if TYPE_CHECKING:
    from pool.agent.factory import Session

DIRTY = "what is not committed here is not in the worktree, which begins at HEAD"
"""Told where the session's files differ from HEAD."""


@frozen
class Asked:
    """A task as it was asked for. call is the id of the call, only_reads says that it can change nothing."""

    call: str
    kind: AgentSettings
    title: str
    prompt: str
    only_reads: bool


@frozen
class _Task:
    """A task that has its place to work. tree is None where it works where the session does."""

    asked: Asked
    settings: Settings
    agent: Agent
    tree: Tree | None


async def work_task(host: Host, asked: Asked, output: OutputSink) -> ToolResult:
    """Wait for a place, work the task, and give its result. Raises `ToolError` where it cannot begin."""
    agent = host.agent
    if agent is None:
        raise ToolError("There is no session to work in.")

    def waits(room: Room) -> None:
        output(f"waits for a place: {room.why}\n")

    async with host.places(asked.kind).place(waits) as room:
        if room.evicts and not asked.kind.base_url:
            output(f"{room.why}, so the conversation leaves its cache for this task: {host.price()}\n")
        tree = None if asked.only_reads else await _tree(host, asked)
        return await _worked(host, _Task(asked, _settings(host, agent, asked, tree), agent, tree), output)


async def _tree(host: Host, asked: Asked) -> Tree | None:
    if repository_of(host.given.workspace) is None:
        return None
    try:
        return await host.trees.make(host.given, asked.title)
    except GitWorkError as error:
        raise ToolError(f"The subagent would work in a git worktree, and there can be none: {error}") from None


def _settings(host: Host, agent: Agent, asked: Asked, tree: Tree | None) -> Settings:
    budgets = budgets_for(host.given, asked.kind, agent.state, agent.limits)
    mode = Mode.PLAN if asked.only_reads else host.mode
    made = settings_for_task(host.settings, asked.kind, host.hub.session, mode, budgets, host.key_for(asked.kind))
    return replace(made, workspace=tree.folder) if tree is not None else made


async def _worked(host: Host, task: _Task, output: OutputSink) -> ToolResult:
    asked, tree, agent = task.asked, task.tree, task.agent
    begun: list[Session] = []

    def begin(session: Session) -> None:
        begun.append(session)
        host.running[asked.call] = Running(session.hub.session, session.approvals, asked.kind)
        where = (tree.branch, str(tree.path)) if tree else ("", "")
        host.hub.emit(TaskStarted(asked.kind.name, asked.title, session.hub.session, *where), asked.call)
        if tree is not None and tree.dirty:
            output(f"{DIRTY}\n")

    def steps(state: Callable[[], RunState]) -> Steps:
        return Steps(output, lambda body: host.hub.emit(body, asked.call), state)

    try:
        finished = await work(task.settings, asked.prompt, (agent.state, agent.limits), steps, begin)
        left = await _left(host, task)
    except (SettingsError, ServerProblem) as error:
        raise ToolError(f"The subagent could not begin: {error}") from None
    except asyncio.CancelledError:
        where = (tree.branch, str(tree.path)) if tree else ("", "")
        open_task = OpenTask(asked.kind.name, begun[0].hub.session if begun else "", *where)
        agent.history.unfinished[asked.call] = stopped_words(open_task)
        if begun:
            _tell_end(host, task, begun[0], None, Left())
        raise
    finally:
        host.running.pop(asked.call, None)
    _tell_end(host, task, begun[0], finished, left)
    ended = Ended(asked.kind.name, begun[0].hub.session, finished, tree, left)
    return result_of(ended, begun[0].agent.state, host.given.subagents.answer_tokens)


async def _left(host: Host, task: _Task) -> Left:
    if task.tree is None:
        return Left()
    try:
        return await host.trees.finish(host.given, task.tree, f"{task.asked.kind.name}: {task.asked.title}")
    except GitWorkError as error:
        return Left(f"not committed: {error}")


def _tell_end(host: Host, task: _Task, session: Session, finished: RunFinished | None, left: Left) -> None:
    state = session.agent.state
    body = TaskFinished(
        task.asked.kind.name,
        task.asked.title,
        session.hub.session,
        reason=(finished.reason if finished else StopReason.INTERRUPTED).value,
        detail=finished.detail if finished else "the run that gave the task was stopped",
        turns=state.turns,
        seconds=finished.seconds if finished else state.seconds,
        usage=state.all_usage,
        reasoning_tokens=state.reasoning_tokens,
        branch=task.tree.branch if task.tree and (left.stat or not finished) else "",
        stat=left.stat,
    )
    host.hub.emit(body, task.asked.call)
