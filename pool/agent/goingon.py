"""Asking a person, where one is there, whether a run that a budget would end may go on."""

from __future__ import annotations

from pool.agent.asking import UserQuestions
from pool.agent.ids import new_id
from pool.agent.state import Stop
from pool.events import StopReason
from pool.ports import Question

ASKED_BEFORE_STOP = frozenset(
    {StopReason.MAX_TURNS, StopReason.MAX_TOKENS, StopReason.MAX_REASONING, StopReason.NO_PROGRESS}
)
"""Stops that a person may lift. Time that is over is no question, and neither is a loop."""

GO_ON, END_HERE = "go on", "end the run"

LET_GO_ON = "[Pool] The user lets you go on."
"""What the model is told then; it may have been told before to come to an end."""


class GoingOn:
    """Asks before a stop. Where nobody can answer, the stop stands."""

    def __init__(self, questions: UserQuestions) -> None:
        self._questions = questions

    async def allowed(self, stop: Stop) -> bool:
        """Whether the run goes on."""
        if stop.reason not in ASKED_BEFORE_STOP:
            return False
        text = f"The run is to end here: {stop.detail}. Should it go on?"
        answer = await self._questions.ask(Question(new_id(), text, (GO_ON, END_HERE), free_text=False))
        return answer is not None and answer.text == GO_ON
