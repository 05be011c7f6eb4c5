"""Which answers in plan mode are asked about."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from pool.events import PlanProposed, RunFinished, StopReason, Usage
from pool.facekit.planasking import NO_STEPS, PlanAsking, has_steps
from pool.ports import Answer, Question

PLANS = (
    "1. Write a.txt\n2. Read it",
    "The goal is speed.\n\n   2) mend `a.py`",
    "## Step 1: look\nat it",
    "**Step 2:** mend it",
    "step 3: test",
    "- [ ] look\n- [ ] mend",
    "- 1. look",
)
ANSWERS = (
    "It reads the file and adds the numbers up.",
    "- `a.py` parses\n- `b.py` prints",
    "2024 was a long year.",
    "3.11 is the oldest Python that works.",
    "Python 3. It is new.",
    "```\n1. in code\n```\nThat is what it prints.",
    "",
)


@pytest.mark.parametrize("text", PLANS)
def test_steps_make_a_plan(text: str) -> None:
    assert has_steps(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_to_a_question_has_none(text: str) -> None:
    assert not has_steps(text)


@pytest.mark.parametrize(("text", "asked"), [(PLANS[0], True), (ANSWERS[0], False)])
async def test_only_a_plan_is_asked_about(text: str, asked: bool) -> None:
    questions: list[Question] = []
    said: list[object] = []

    async def ask(question: Question) -> Answer | None:
        questions.append(question)
        return None

    tasks: list[asyncio.Task[None]] = []

    def spawn(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        tasks.append(asyncio.create_task(work))
        return tasks[-1]

    asking = PlanAsking(ask, said.append, said.append, spawn)
    asking.take(PlanProposed(text, "auto"))
    asking.take(RunFinished(StopReason.COMPLETED, 0, "", text, 1, 1.0, Usage()))
    await asyncio.gather(*tasks)
    assert bool(questions) is asked
    assert (NO_STEPS in said) is not asked
