"""The model asks the user: who answers, what reaches the model, and the clock."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from pool.agent.asking import NOBODY, UNANSWERED, AskTool
from pool.config.settings import Budgets
from pool.events import QuestionAnswered, QuestionAsked, StopReason
from pool.ports import Answer, Question
from pool.wire.tokens import count_offline
from tests.agent.test_call_approval import Desk, calls, desk
from tests.cases.driver import answer, call, last_result, play

ASK = '{"question":"Which port?","choices":["8000","8080","8000"," "]}'
DECLARED_TOKENS = 60
UNTIL_SECONDS = 10.0


async def asked(here: Desk) -> Question:
    async with asyncio.timeout(UNTIL_SECONDS):
        while not here.questions.waiting_questions:
            await asyncio.sleep(0.005)
    return here.questions.waiting_questions[0]


async def test_the_answer_reaches_the_model(tmp_path: Path) -> None:
    async with desk(tmp_path, calls(("ask", ASK)), answer("Done.")) as here:
        running = here.start()
        question = await asked(here)
        assert (question.text, question.choices, question.free_text) == ("Which port?", ("8000", "8080"), True)
        assert here.session.questions.pending() == (question,)
        assert here.questions.answer_question(question.id, Answer("9000, please"))
        assert not here.questions.answer_question(question.id, Answer("late"))
        assert (await running).reason is StopReason.COMPLETED
        assert last_result(here.server.bodies[-1]) == "The user answered: 9000, please"
        (before,), (after,) = here.seen(QuestionAsked), here.seen(QuestionAnswered)
        assert before == QuestionAsked(question.id, "Which port?", ("8000", "8080"), True)
        assert after == QuestionAnswered(question.id, True, "9000, please", "person")


async def test_another_program_answers_by_the_id_of_the_event(tmp_path: Path) -> None:
    async with desk(tmp_path, calls(("ask", ASK)), answer("Done.")) as here:
        running = here.start()
        question = await asked(here)
        assert here.session.questions.answer(question.id, Answer("8080", "program"))
        assert not here.session.questions.answer(question.id, Answer("8000"))
        await running
        assert here.seen(QuestionAnswered)[0].by == "program"
        assert not here.questions.waiting_questions


async def test_no_answer_is_an_answer(tmp_path: Path) -> None:
    async with desk(tmp_path, calls(("ask", ASK)), answer("Done.")) as here:
        running = here.start()
        assert here.questions.answer_question((await asked(here)).id, None)
        await running
        assert last_result(here.server.bodies[-1]) == UNANSWERED
        assert not here.seen(QuestionAnswered)[0].answered


async def test_the_clock_stands_still_while_a_person_thinks(tmp_path: Path) -> None:
    limit = 0.6
    async with desk(tmp_path, calls(("ask", ASK)), answer("Done."), budgets=replace(Budgets(), seconds=limit)) as here:
        running = here.start()
        question = await asked(here)
        await asyncio.sleep(1.5 * limit)
        here.questions.answer_question(question.id, Answer("8000"))
        finished = await running
        assert (finished.reason, finished.seconds < limit) == (StopReason.COMPLETED, True)


async def test_where_nobody_is_there_the_model_is_told_so(tmp_path: Path) -> None:
    run, bodies = await play(tmp_path / "work", call("ask", question="Which port?"), answer("8000, I assumed."))
    assert run.reason is StopReason.COMPLETED
    assert last_result(bodies[-1]) == NOBODY
    assert not run.of(QuestionAsked)


async def test_an_empty_question_is_none(tmp_path: Path) -> None:
    async with desk(tmp_path, calls(("ask", '{"question":" "}')), answer("Done.")) as here:
        await here.start()
        assert "`question` is empty" in last_result(here.server.bodies[-1])


def test_the_tool_is_cheap() -> None:
    spec = AskTool().spec
    assert count_offline(f"{spec.name} {spec.description} {dict(spec.parameters)}") <= DECLARED_TOKENS
