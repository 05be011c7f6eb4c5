"""The person in front of the interface, as the agent sees one: somebody who answers."""

from __future__ import annotations

from pool.ports import Answer, ApprovalAnswer, ApprovalRequest, Question
from pool.tui.approval import ApprovalPanel
from pool.tui.question import QuestionPanel


class Person:
    """Brings approvals and questions to their panels."""

    def __init__(self, approval: ApprovalPanel, questions: QuestionPanel) -> None:
        self._approval = approval
        self._questions = questions

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """The answer to a call that wants to run."""
        return await self._approval.ask(request)

    async def question(self, question: Question) -> Answer | None:
        """The answer to a question of the model's or of Pool's; None if there is none."""
        return await self._questions.ask(question)
