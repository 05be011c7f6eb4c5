"""What a program or a face sends to a conversation, done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from pool.agent.control import Busy, Conversation, NothingToDo
from pool.config.settings import SettingsError, mode_of
from pool.events import Notice, RunFinished
from pool.headless.inputs import (
    AnswerInput,
    Approve,
    BudgetInput,
    CompactInput,
    Input,
    ModeInput,
    PlanInput,
    Prompt,
    SteerInput,
    StopInput,
    ThinkingInput,
)
from pool.ports import Answer, ApprovalAnswer, Remember
from pool.wire.errors import ServerProblem

BY_PROGRAM = "program"
GONE = "it does not wait for an answer any more"


class Obedience:
    """Does what is asked of one conversation; prompts that are worked on the way are tasks, ended by `settled`.

    by is who answers approvals and questions: person or program. asked gives a prompt the form in which it is sent.
    finished is how the last of the prompts ended.
    """

    def __init__(
        self, conversation: Conversation, by: str = BY_PROGRAM, asked: Callable[[str], str] = lambda text: text
    ) -> None:
        self.finished: RunFinished | None = None
        self._conversation = conversation
        self._by = by
        self._asked = asked
        self._tasks: set[asyncio.Task[Any]] = set()
        self._failure: BaseException | None = None

    @property
    def working(self) -> bool:
        """Whether anything that was asked for is not done yet."""
        return bool(self._tasks)

    async def settled(self) -> None:
        """Wait until all that was asked for is done. Raises what it failed with inside."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        if self._failure is not None:
            raise self._failure

    def take(self, wish: Input) -> str:
        """Do it, or begin to; why it was refused, "" if it was not."""
        conversation = self._conversation
        try:
            match wish:
                case Prompt(text=text) if not text.strip():
                    return "the prompt is empty"
                case Prompt(text=text) if conversation.busy:
                    conversation.queue(self._asked(text))
                case Prompt(text=text):
                    self.start(self._submitted(self._asked(text)))
                case SteerInput(text=text):
                    return "" if conversation.steer(text) else "no run works that could be told; send it as a prompt"
                case StopInput():
                    return "" if conversation.stop() else "no run works"
                case ModeInput(mode=mode):
                    conversation.set_mode(mode_of(mode))
                case PlanInput():
                    return self._decided(wish)
                case ThinkingInput(level=level):
                    change = conversation.set_thinking(level)
                    return "" if change.applied else change.text
                case BudgetInput(name=name, limit=limit):
                    conversation.set_budget(name, limit)
                case CompactInput() if conversation.busy:
                    return "a run is working; it makes room by itself when it needs to"
                case CompactInput(guidance=guidance):
                    self.start(self._compacted(guidance))
                case Approve() | AnswerInput():
                    return self._answered(wish)
                case _:
                    return f"{wish.type} is not taken here"
        except (SettingsError, Busy) as error:
            return str(error)
        return ""

    def _decided(self, wish: PlanInput) -> str:
        plan = self._conversation.session.work.plan
        match wish.decision:
            case "approve":
                mode = mode_of(wish.mode) if wish.mode else None
                self.start(self._submitted(self._conversation.approve_plan(mode, wish.text)))
            case "edit":
                plan.edit(wish.text)
            case "drop":
                plan.drop()
            case other:
                return f"`decision` is {other!r}; it can be approve, edit or drop"
        return ""

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Let something work until `settled`."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self._failure = self._failure or task.exception()

    async def _submitted(self, prompt: str) -> None:
        self.finished = await self._conversation.submit(prompt)

    async def _compacted(self, guidance: str) -> None:
        try:
            await self._conversation.compact(guidance)
        except (Busy, NothingToDo, ServerProblem) as error:
            self._conversation.hub.emit(Notice("warning", str(error)))

    def _answered(self, wish: Approve | AnswerInput) -> str:
        session = self._conversation.session
        match wish:
            case Approve(id=id_, allow=allow, remember=remember, reason=reason):
                answer = ApprovalAnswer(allow, self._by, reason, Remember(remember))
                return "" if session.approvals.answer(id_, answer) else GONE
            case AnswerInput(id=id_, text=text):
                words = Answer(text, self._by) if text.strip() else None
                return "" if session.questions.answer(id_, words) else GONE
