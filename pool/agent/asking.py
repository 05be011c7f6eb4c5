"""The model asks the user: one question at a time, to whoever is there, with the run's clock standing still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pool.agent.hub import EventHub
from pool.agent.ids import new_id
from pool.agent.questions import Desk, WaitingClock
from pool.events import Notice, QuestionAnswered, QuestionAsked
from pool.ports import Answer, Approver, Question, Questioner
from pool_tools import Effect, Preview, ToolError, ToolResult
from pool_tools.api import OutputSink, ToolSpec

MOST_CHOICES = 8
MOST_CHARS = 2_000
"""Of a question, or of one choice."""

NOBODY = (
    "Nobody is there to answer. Decide it yourself, take what is safer and easier to undo, and say in your last "
    "message what you assumed."
)
UNANSWERED = "The user gave no answer. Decide it yourself, and say in your last message what you assumed."


@dataclass(slots=True)
class UserQuestions:
    """Brings questions to the approver of a session, where that takes any, and to whoever else answers by their id."""

    approver: Approver
    hub: EventHub
    clock: WaitingClock
    _desk: Desk[Question, Answer | None] = field(default_factory=Desk[Question, Answer | None])

    @property
    def can_answer(self) -> bool:
        """Whether anybody is there to ask."""
        return isinstance(self.approver, Questioner)

    def pending(self) -> Sequence[Question]:
        """What waits for an answer, oldest first."""
        return self._desk.waiting

    def answer(self, question_id: str, answer: Answer | None) -> bool:
        """Answer what `pending` lists; None declines. False, and nothing happens, if it is not open any more."""
        return self._desk.answer(question_id, answer)

    async def ask(self, question: Question) -> Answer | None:
        """The first answer; None if nobody can or wants to give one."""
        if not self.can_answer:
            return None
        async with self.clock.turn:
            self.hub.emit(QuestionAsked(question.id, question.text, question.choices, question.free_text))
            with self.clock.running():
                answer = await self._desk.first(question.id, question, lambda: self._asked(question))
            given = (True, answer.text, answer.by) if answer else (False, "", "")
            self.hub.emit(QuestionAnswered(question.id, *given))
        return answer

    async def _asked(self, question: Question) -> Answer | None:
        assert isinstance(self.approver, Questioner)
        try:
            return await self.approver.question(question)
        except Exception as error:  # a face that fails must not cost the run
            self.hub.emit(Notice("warning", f"who was to answer failed: {error!r}"))
            return None


class AskTool:
    """The tool `ask`. It is there in every session, so that the tool list is always the same."""

    spec = ToolSpec(
        name="ask",
        description="Ask the user, only if you cannot go on without it.",
        parameters={
            "type": "object",
            "properties": {
                "question": {"type": "string"},
                "choices": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["question"],
        },
        effect=Effect.READ,
    )

    def __init__(self, questions: UserQuestions | None = None) -> None:
        """questions is None where a request is only shown and nothing ever runs."""
        self._questions = questions

    def preview(self, args: Mapping[str, Any]) -> Preview:
        question = _question(args)
        return Preview("text", "Ask the user", "\n".join((question.text, *(f"- {c}" for c in question.choices))))

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        question = _question(args)
        if self._questions is None or not self._questions.can_answer:
            return ToolResult(True, NOBODY, {"answered": False})
        answer = await self._questions.ask(question)
        if answer is None:
            return ToolResult(True, UNANSWERED, {"answered": False})
        return ToolResult(True, f"The user answered: {answer.text}", {"answered": True})


def _question(args: Mapping[str, Any]) -> Question:
    text = str(args.get("question") or "").strip()
    if not text:
        raise ToolError("`question` is empty.")
    choices = [str(c).strip() for c in cast("list[object]", args.get("choices") or []) if str(c).strip()]
    if len(choices) > MOST_CHOICES or max(map(len, (text, *choices))) > MOST_CHARS:
        raise ToolError(f"A question has at most {MOST_CHOICES} choices, and {MOST_CHARS:,} characters each.")
    return Question(new_id(), text, tuple(dict.fromkeys(choices)))
