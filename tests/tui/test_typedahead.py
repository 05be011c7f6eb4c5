"""One letter answers a question, a word typed ahead is text for the box. The clock of the held letter is the test's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from textual import events
from textual.pilot import Pilot

from pool.facekit.heldkey import HOLD_SECONDS, HeldKey
from pool.ports import Answer, ApprovalAnswer, ApprovalRequest, Question
from pool.tui import answerpanel
from pool.tui.startpage import StartPage, Way
from pool.tui.typedahead import QuestionKeys
from tests.tui.views import StillApp
from tests.tui.waiting import until

SETTLE = 0.05


@dataclass(slots=True)
class Clock:
    """A timer that runs off when the test says so."""

    then: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    stopped: int = 0

    def later(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        assert seconds == HOLD_SECONDS
        self.then = [call]
        return self.stop

    def stop(self) -> None:
        self.then.clear()
        self.stopped += 1

    def passes(self) -> None:
        for call in [*self.then]:
            call()


def test_a_key_does_what_it_means_once_no_other_followed() -> None:
    clock, done = Clock(), list[str]()
    held = HeldKey[str](clock.later)
    held.hold("y", lambda: done.append("y"))
    assert held.holding
    assert not done
    held.again("y")
    clock.passes()
    clock.passes()
    assert done == ["y"]
    assert not held.holding


def test_a_key_that_is_taken_means_nothing() -> None:
    clock, done = Clock(), list[str]()
    held = HeldKey[str](clock.later)
    held.hold("y", lambda: done.append("y"))
    held.again("y")
    assert held.take() == ["y", "y"]
    clock.passes()
    held.release()
    assert (done, held.take(), clock.stopped) == ([], [], 1)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answerpanel, "SETTLE_SECONDS", SETTLE)


@asynccontextmanager
async def shown() -> AsyncGenerator[tuple[StillApp, Pilot[int], Clock]]:
    app, clock = StillApp("pool-dark"), Clock()
    app.question_keys = QuestionKeys(app, clock.later)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, app.whole.is_set)
        yield app, pilot, clock


def request() -> ApprovalRequest:
    return ApprovalRequest("c", "shell", {}, "execute", "command", "make", "no rule")


async def asked(app: StillApp, pilot: Pilot[int]) -> asyncio.Task[ApprovalAnswer]:
    answer = asyncio.create_task(app.approval.ask(request()))
    await until(pilot, lambda: app.approval.ready and app.focused is app.approval)
    return answer


def typed(app: StillApp, *keys: str) -> None:
    """Keys as the terminal brings them, one directly after the other."""
    for key in keys:
        app.post_message(events.Key(key, {"enter": "\r", "space": " "}.get(key, key if len(key) == 1 else None)))


async def test_a_letter_answers_and_a_word_goes_to_the_box() -> None:
    async with shown() as (app, pilot, clock):
        answer = await asked(app, pilot)
        typed(app, *"yes", "space", *"and", "space", *"no")
        await until(pilot, lambda: app.box.text == "yes and no")
        clock.passes()
        assert not answer.done()
        assert app.focused is app.box
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app.focused is app.approval)
        await until(pilot, lambda: app.approval.ready)
        typed(app, "y")
        await until(pilot, lambda: bool(clock.then))
        assert not answer.done()
        clock.passes()
        assert (await answer).allowed


async def test_impatience_confirms_and_escape_takes_back() -> None:
    async with shown() as (app, pilot, clock):
        answer = await asked(app, pilot)
        typed(app, "n", "n", "enter")
        assert not (await answer).allowed
        assert app.box.text == ""
        answer = await asked(app, pilot)
        typed(app, "y", "escape")
        await until(pilot, lambda: app.focused is app.box)
        clock.passes()
        assert not answer.done()
        answer.cancel()


async def test_letters_that_come_too_soon_and_pastes_are_kept_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown() as (app, pilot, clock):
        answer = await asked(app, pilot)
        monkeypatch.setattr(answerpanel, "SETTLE_SECONDS", 3600.0)
        typed(app, "y")
        await until(pilot, lambda: bool(clock.then))
        clock.passes()
        await pilot.pause()
        assert not answer.done()
        assert app.approval.border_subtitle == answerpanel.KEY_NOT_TAKEN
        app.post_message(events.Paste("so many words"))
        await until(pilot, lambda: app.box.text == "so many words")
        assert not answer.done()
        answer.cancel()


async def test_what_opens_the_line_for_words_opens_it_at_once() -> None:
    async with shown() as (app, pilot, _clock):
        answer = await asked(app, pilot)
        typed(app, *"ruse", "space", *"make", "enter")
        assert (await answer).reason == "use make"
        question = asyncio.create_task(app.questions.ask(Question("q", "Which?", ("red", "blue"))))
        await until(pilot, lambda: app.questions.ready and app.focused is app.questions)
        typed(app, "0", *"12", "enter")
        assert await question == Answer("12")


async def test_choices_of_a_question_are_held_too() -> None:
    async with shown() as (app, pilot, clock):
        question = asyncio.create_task(app.questions.ask(Question("q", "Which?", ("red", "blue"))))
        await until(pilot, lambda: app.questions.ready and app.focused is app.questions)
        typed(app, *"do")
        await until(pilot, lambda: app.box.text == "do")
        assert not question.done()
        app.box.take()
        app.questions.focus()
        await until(pilot, lambda: app.focused is app.questions)
        typed(app, "2")
        await until(pilot, lambda: bool(clock.then))
        clock.passes()
        assert await question == Answer("blue")


async def test_a_prompt_that_is_being_typed_when_the_page_comes_is_no_choice() -> None:
    async with shown() as (app, pilot, clock):
        chosen = list[str | None]()
        page = StartPage("No model server yet", "nothing answers", [Way("q", "leave", "leave")])
        app.push_screen(page, chosen.append)
        await until(pilot, lambda: app.screen is page)
        typed(app, *"quick", "space", *"fix", "enter")
        await until(pilot, lambda: bool(app.queue.rows))
        assert (app.queue.rows[0].text, chosen) == ("quick fix", [])
        await until(pilot, lambda: page.ready)
        typed(app, "q")
        await until(pilot, lambda: bool(clock.then))
        clock.passes()
        await until(pilot, lambda: chosen == ["leave"])


async def test_a_key_that_is_no_answer_is_said_to_be_none() -> None:
    async with shown() as (app, pilot, clock):
        answer = await asked(app, pilot)
        typed(app, "k")
        await until(pilot, lambda: bool(clock.then))
        clock.passes()
        await until(pilot, lambda: app.approval.border_subtitle == answerpanel.NO_ANSWER)
        assert app.box.text == ""
        answer.cancel()
