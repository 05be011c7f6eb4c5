"""In lines, too, one letter answers a question and a word typed ahead is text. The clock is the test's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prompt_toolkit.buffer import Buffer

from pool.ports import Answer, ApprovalRequest, Question
from pool.repl import asking as asking_module
from pool.repl.asking import Asking, Query
from pool.repl.ink import Ink
from pool.repl.typedahead import QuestionKeys


class Keys:
    """Questions that wait, an empty line, and keys on the way to them."""

    def __init__(self) -> None:
        self.raised = list[Query]()
        self.asking = Asking(Ink(colours=False), self.raised.append, lambda: None)
        self.box = Buffer()
        self.then = list[Callable[[], None]]()
        screen = SimpleNamespace(chat=SimpleNamespace(asking=self.asking), box=self.box)
        self.keys = QuestionKeys(cast(Any, screen), self._later)

    def _later(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        self.then = [call]
        return self.then.clear

    def time_passes(self) -> None:
        for call in [*self.then]:
            call()

    def type(self, letters: str) -> None:
        for letter in letters:
            self.keys.typed(letter)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking_module, "SETTLE_SECONDS", 0.0)


def approval() -> ApprovalRequest:
    return ApprovalRequest("c", "shell", {}, "execute", "command", "make", "no rule")


async def test_a_letter_answers_once_no_word_follows() -> None:
    there = Keys()
    answer = asyncio.create_task(there.asking.ask(approval()))
    await asyncio.sleep(0)
    there.type("yes and no")
    there.time_passes()
    await asyncio.sleep(0)
    assert (there.box.text[:2], answer.done()) == ("ye", False)
    there.box.reset()
    there.type("nn")
    assert there.keys.confirm()
    assert not (await answer).allowed
    assert not there.keys.confirm()


async def test_a_letter_is_taken_back_and_another_begins_words_at_once() -> None:
    there = Keys()
    answer = asyncio.create_task(there.asking.question(Question("q", "Which?", ("red", "blue"))))
    await asyncio.sleep(0)
    there.type("2")
    there.keys.forget()
    there.time_passes()
    there.type("0")
    assert there.raised[0].writing == "0"
    there.asking.write("teal")
    assert await answer == Answer("teal")
    assert there.box.text == ""


async def test_a_letter_that_comes_too_soon_answers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking_module, "SETTLE_SECONDS", 3600.0)
    there = Keys()
    answer = asyncio.create_task(there.asking.ask(approval()))
    await asyncio.sleep(0)
    there.type("y")
    there.time_passes()
    there.type("no")
    await asyncio.sleep(0)
    assert (there.box.text, answer.done()) == ("no", False)
    answer.cancel()
