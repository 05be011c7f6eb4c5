"""Questions that wait for people or programs: several may answer, the first answer counts, later ones are harmless."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, Generic, TypeVar

from pool.ports import Answer, ApprovalAnswer, ApprovalRequest, Question

A = TypeVar("A")
Q = TypeVar("Q")


class Desk(Generic[Q, A]):
    """Open questions by their ids. Used on the event loop alone."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[Q, asyncio.Future[A]]] = {}

    @property
    def waiting(self) -> Sequence[Q]:
        """What waits for an answer, oldest first; for a face that joins late."""
        return tuple(question for question, future in self._open.values() if not future.done())

    async def first(self, key: str, question: Q, also: Callable[[], Awaitable[A]] | None = None) -> A:
        """Wait for the first answer, given by `answer` or by also. Cancelled, the question is gone, and also too."""
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._open[key] = (question, future)
        asking = asyncio.ensure_future(also()) if also else None
        try:
            if asking is not None:
                await asyncio.wait({future, asking}, return_when=asyncio.FIRST_COMPLETED)
                if not future.done():
                    return asking.result()
            return await future
        finally:
            del self._open[key]
            if asking is not None and not asking.done():
                # Not awaited: a face that does not let go must not hold the run.
                asking.add_done_callback(_looked_at)
                asking.cancel()

    def answer(self, key: str, answer: A) -> bool:
        """Answer a question; False if it is not open, or no longer."""
        entry = self._open.get(key)
        if entry is None or entry[1].done():
            return False
        entry[1].set_result(answer)
        return True


def _looked_at(task: asyncio.Future[Any]) -> None:
    """Take the error of a task that lost the race, which would be reported otherwise."""
    if not task.cancelled():
        task.exception()


class Questions:
    """An approver for faces: what is asked waits here until one of them answers."""

    def __init__(self) -> None:
        self._approvals = Desk[ApprovalRequest, ApprovalAnswer]()
        self._questions = Desk[Question, Answer | None]()

    @property
    def waiting(self) -> Sequence[ApprovalRequest]:
        """Approvals that wait for an answer, oldest first."""
        return self._approvals.waiting

    @property
    def waiting_questions(self) -> Sequence[Question]:
        """Questions of the model that wait for an answer, oldest first."""
        return self._questions.waiting

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Wait for the first answer."""
        return await self._approvals.first(request.call_id, request)

    async def question(self, question: Question) -> Answer | None:
        """Wait for the first answer; None is one too: nobody wants to say."""
        return await self._questions.first(question.id, question)

    def answer(self, call_id: str, answer: ApprovalAnswer) -> bool:
        """Answer an approval; False if it is no longer open."""
        return self._approvals.answer(call_id, answer)

    def answer_question(self, question_id: str, answer: Answer | None) -> bool:
        """Answer a question of the model; False if it is no longer open."""
        return self._questions.answer(question_id, answer)


class WaitingClock:
    """How long people have been waited for: the seconds that budgets leave out. Waits do not overlap."""

    def __init__(self) -> None:
        self._waited = 0.0
        self._since: float | None = None
        self._turn = asyncio.Lock()

    @property
    def seconds(self) -> float:
        """All waits so far, one that goes on included."""
        return self._waited + (time.monotonic() - self._since if self._since is not None else 0.0)

    @property
    def turn(self) -> asyncio.Lock:
        """Held while somebody is asked, so that one question is open at a time."""
        return self._turn

    @contextlib.contextmanager
    def running(self) -> Generator[None]:
        """Count the time that the block takes."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._waited, self._since = self.seconds, None
