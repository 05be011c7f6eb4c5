"""The person in front of the interface, as the agent sees one: somebody who answers."""

from __future__ import annotations

import asyncio

from pool.ports import Answer, ApprovalAnswer, ApprovalRequest, Question
from pool.tui.approval import ApprovalPanel
from pool.tui.question import QuestionPanel


class Person:
    """Brings approvals and questions to their panels."""

    def __init__(self, approval: ApprovalPanel, questions: QuestionPanel) -> None:
        self._approval = approval
        self._questions = questions
        self._left = False

    def leave(self) -> None:
        """Nobody is there any more: what is asked waits for somebody else to answer."""
        self._left = True

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """The answer to a call that wants to run."""
        if self._left:
            await _for_ever()
        return await self._approval.ask(request)

    async def question(self, question: Question) -> Answer | None:
        """The answer to a question of the model's or of Pool's; None if there is none."""
        if self._left:
            await _for_ever()
        return await self._questions.ask(question)


async def _for_ever() -> None:
    """Until it is cancelled, which is done when another face has answered."""
    await asyncio.Event().wait()
