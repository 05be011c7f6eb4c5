"""The agent for Python programs: `from pool import Agent`. docs/python.md describes it; a test holds its signatures.

A program has the same loop, guards, sandbox and session log as every face, and gets the same events.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pool.agent.answerform import AnswerForm, FormGuard
from pool.agent.approvals import NobodyThere
from pool.agent.configured import settings_for
from pool.agent.digest import result_of
from pool.agent.factory import Extras, Session, open_session
from pool.agent.guards import Guard
from pool.agent.ids import new_id
from pool.agent.result import RunResult
from pool.agent.state import Stop
from pool.config.load import flag_values
from pool.events import Event, RunFinished, StopReason, to_dict
from pool.jsonable import plain
from pool.ports import ApprovalAnswer, ApprovalRequest, Approver
from pool_tools import Tool
from pool_tools.home import expanded

Approve = Callable[[ApprovalRequest], bool | ApprovalAnswer | Awaitable[bool | ApprovalAnswer]]
"""Says whether a call may run: a function or coroutine function, of what `ApprovalRequest` holds."""

_STOPPED = Stop(StopReason.INTERRUPTED, "the program stopped it")


class Agent:
    """One conversation with the model in one workspace. One run at a time; all of it on one event loop.

        async with Agent("repo", server="http://127.0.0.1:8000") as agent:
            async for event in agent.run("make the failing test pass"):
                print(event.body)
            print(agent.result.answer)

    Without `async with` each run opens the session and closes it.
    """

    def __init__(
        self,
        workspace: str | Path = ".",
        *,
        server: str = "",
        model: str = "",
        mode: str = "",
        tools: Sequence[Tool] = (),
        guards: Sequence[Callable[[], Guard]] = (),
        approve: Approve | None = None,
        output_schema: Mapping[str, Any] | None = None,
        settings: Mapping[str, object] | None = None,
        resume: str = "",
        keep: bool = True,
    ) -> None:
        """server, model and mode as `--base-url`, `--model` and `--mode`; "" takes them from the configuration.

        tools join Pool's own (`tool` makes one of a function). guards are called once a run each, and give a `Guard`.
        approve answers what nothing else has allowed or denied; without it that is denied. output_schema is a JSON
        Schema that each run's answer has to fit. settings are keys of the configuration, as `{"budgets.turns": 10}`.
        resume goes on with a session by its id; keep says whether sessions are kept on disk.
        """
        self._workspace = Path(workspace)
        self._settings = {
            "server.base_url": server,
            "server.model": model,
            "approvals.mode": mode or None,
            **(settings or {}),
        }
        self._tools = tuple(tools)
        self._guards = tuple(guards)
        self._approve = approve
        self._schema = output_schema
        self._resume = resume
        self._keep = keep
        self._form: AnswerForm | None = None
        self._stack: AsyncExitStack | None = None
        self._session: Session | None = None
        self._seen = -1
        self._result: RunResult | None = None

    async def __aenter__(self) -> Self:
        """Open the session. Raises `SettingsError` for what cannot be set and `ServerProblem` if no server is found."""
        if self._stack is not None:
            raise RuntimeError("this Agent is open already")
        self._form = AnswerForm(self._schema) if self._schema is not None else None
        workspace = expanded(self._workspace).resolve()
        loaded = await asyncio.to_thread(settings_for, workspace, os.environ, flag_values(self._settings))
        settings = replace(loaded.settings, resume=self._resume, ephemeral=not self._keep)
        approver: Approver = _Asking(self._approve) if self._approve is not None else NobodyThere()
        stack = AsyncExitStack()
        self._session = await stack.enter_async_context(
            open_session(settings, approver, Extras(self._tools, self._guards_of_a_run))
        )
        self._stack = stack
        self._seen = -1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stack, self._stack, self._session = self._stack, None, None
        if stack is not None:
            await stack.aclose()

    @property
    def session(self) -> str:
        """The id of the open session, "" if none is open."""
        return self._session.hub.session if self._session is not None else ""

    @property
    def result(self) -> RunResult:
        """What the last run did. Raises RuntimeError while there is none that has ended."""
        if self._result is None:
            raise RuntimeError("no run has ended yet")
        return self._result

    async def run(self, prompt: str) -> AsyncGenerator[Event]:
        """Work a prompt to its end: its events as they happen, `RunFinished` last. `result` then holds what it did.

        Never raises for what a server, a model or a tool does. To leave the iteration early ends the run.
        """
        if self._session is None:
            async with self:
                async for event in self.run(prompt):
                    yield event
            return
        agent = self._session.agent
        if agent.busy:
            raise RuntimeError("a run is working in this Agent; steer it, or wait for its end")
        self._result = None
        events = self._session.hub.subscribe(self._seen)
        rows: list[dict[str, Any]] = []
        working = asyncio.create_task(agent.run(self._form.asked(prompt) if self._form else prompt, new_id()))
        try:
            while self._result is None:
                yield await self._next(events, rows)
        finally:
            agent.stop(_STOPPED)
            await working
            # Of a run that was left early the rest is read too: the next run's events begin with its own.
            while self._result is None:
                await self._next(events, rows)
            if isinstance(events, AsyncGenerator):
                await events.aclose()

    async def _next(self, events: AsyncIterator[Event], rows: list[dict[str, Any]]) -> Event:
        """The run's next event; with its last one the result is there."""
        event = await anext(events)
        self._seen = event.envelope.seq
        if not event.body.transient:
            rows.append(plain(to_dict(event)))
        if isinstance(event.body, RunFinished):
            self._result = result_of(rows, form=self._form)
        return event

    def steer(self, text: str) -> bool:
        """Say something to the run that works, at its next safe point; False, and nothing happens, if none works."""
        if self._session is None or not self._session.agent.busy or not text.strip():
            return False
        self._session.agent.steering.add(text)
        return True

    def stop(self) -> None:
        """End the run that works, with the stop reason interrupted; its last events still come."""
        if self._session is not None:
            self._session.agent.stop(_STOPPED)

    def _guards_of_a_run(self) -> Sequence[Guard]:
        own = [make() for make in self._guards]
        return [*own, FormGuard(self._form)] if self._form is not None else own


class _Asking:
    """Brings what is to be approved to the program's own function."""

    def __init__(self, approve: Approve) -> None:
        self._approve = approve

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        said = self._approve(request)
        answer = await said if inspect.isawaitable(said) else said
        return answer if isinstance(answer, ApprovalAnswer) else ApprovalAnswer(answer, "program")
