"""Approvals and questions in their panels: several at once, keys typed ahead, words."""

from __future__ import annotations

import asyncio

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widgets import Input, Static

from pool.facekit import approving
from pool.facekit.textualtheme import textual_theme
from pool.ports import Answer, ApprovalRequest, Question, Remember, SuggestedRule
from pool.tui import answerpanel
from pool.tui.approval import ApprovalPanel
from pool.tui.question import QuestionPanel
from pool_themes import load
from tests.tui.waiting import until

SETTLE = 0.05
UNTIL_SECONDS = 20.0


class Panels(App[None]):
    """Both panels, nothing else."""

    def __init__(self, theme: str = "pool-dark") -> None:
        self.theme_shown = theme
        super().__init__()
        self.approval = ApprovalPanel()
        self.questions = QuestionPanel()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return textual_theme(load(self.theme_shown)).variables

    def on_mount(self) -> None:
        shown = textual_theme(load(self.theme_shown))
        self.register_theme(shown)
        self.theme = shown.name

    def compose(self) -> ComposeResult:
        yield self.approval
        yield self.questions


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    assert approving.SETTLE_SECONDS > 0.3, "a person's keys typed ahead come within that"
    monkeypatch.setattr(answerpanel, "SETTLE_SECONDS", SETTLE)


def request(name: str) -> ApprovalRequest:
    rules = (SuggestedRule("shell(git push *)", "`git push`"),)
    return ApprovalRequest(name, name, {}, "exec", "command", f"run {name}", "no rule", rules, can_keep=True)


async def settled(pilot: Pilot[None]) -> None:
    await pilot.pause(SETTLE * 2)


async def test_each_letter_reaches_as_far_as_it_says() -> None:
    app = Panels()
    async with app.run_test() as pilot:
        for key, reach in (
            ("y", Remember.ONCE),
            ("e", Remember.EXACT),
            ("s", Remember.SIMILAR),
            ("a", Remember.ALWAYS),
        ):
            answer = asyncio.create_task(app.approval.ask(request(key)))
            await settled(pilot)
            app.approval.focus()
            await pilot.press(key)
            assert ((await answer).allowed, (await answer).remember) == (True, reach)
        assert not app.approval.has_class("open")


async def test_a_key_typed_ahead_answers_nothing() -> None:
    app = Panels()
    async with app.run_test() as pilot:
        app.approval.focus()
        answer = asyncio.create_task(app.approval.ask(request("one")))
        await asyncio.sleep(0)
        app.approval.post_message(events.Key("y", "y"))
        await asyncio.sleep(0.02)
        assert not answer.done()
        await settled(pilot)
        app.approval.focus()
        await pilot.press("n")
        assert not (await answer).allowed


async def test_keys_that_go_on_coming_answer_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answerpanel, "SETTLE_SECONDS", 0.3)
    app = Panels()
    async with app.run_test():
        app.approval.focus()
        answer = asyncio.create_task(app.approval.ask(request("one")))
        for _ in range(6):
            await asyncio.sleep(0.1)
            app.approval.post_message(events.Key("n", "n"))
        await asyncio.sleep(0.02)
        assert not answer.done()
        await asyncio.sleep(0.4)
        app.approval.post_message(events.Key("n", "n"))
        assert not (await answer).allowed


def edit(preview: str) -> ApprovalRequest:
    return ApprovalRequest("one", "edit", {}, "write", "diff", preview, "mode default asks before it can change files")


async def test_a_diff_names_its_file_in_the_title_and_shows_its_changes() -> None:
    context = "".join(f" line {n}\n" for n in range(30))
    app = Panels()
    async with app.run_test(size=(60, 20)) as pilot:
        answer = asyncio.create_task(
            app.approval.ask(edit(f"--- a/x.py\n+++ b/x.py\n@@ -1,31 +1,31 @@\n{context}-old\n+new"))
        )
        await settled(pilot)
        assert "edit x.py: may it run?" in str(app.approval.query_one("#title", Static).render())
        assert "x.py" not in str(app.approval.query_one("#preview", Static).render())
        scroll = app.approval.query_one("#scroll", VerticalScroll)
        async with asyncio.timeout(UNTIL_SECONDS):
            while not scroll.scroll_y == scroll.max_scroll_y > 0:
                await pilot.pause(0.01)
        answer.cancel()


@pytest.mark.parametrize("theme", ["sixteen-dark", "sixteen-light"])
async def test_a_question_is_drawn_in_the_colours_of_the_terminal(theme: str) -> None:
    app = Panels(theme)
    async with app.run_test() as pilot:
        asking = asyncio.create_task(app.approval.ask(edit("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b")))
        await settled(pilot)
        shown = app.approval.query_one("#preview", Static)
        await until(pilot, lambda: shown.size.height == 3)
        assert [shown.render_line(y).text.rstrip() for y in range(3)] == ["@@ -1 +1 @@", "-a", "+b"]
        asking.cancel()


async def test_a_diff_of_several_files_keeps_their_heads() -> None:
    app = Panels()
    async with app.run_test() as pilot:
        for preview in ("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- a\n+b"):
            answer = asyncio.create_task(app.approval.ask(edit(preview)))
            await settled(pilot)
            assert "--- a/x" in str(app.approval.query_one("#preview", Static).render())
            answer.cancel()
            await pilot.pause()


async def test_words_typed_in_one_go_after_r_are_a_reason_and_no_answer() -> None:
    app = Panels()
    async with app.run_test() as pilot:
        answer = asyncio.create_task(app.approval.ask(request("one")))
        await settled(pilot)
        app.approval.focus()
        await pilot.pause()
        for character in ("r", *"use easy", "enter"):
            app.post_message(events.Key("space" if character == " " else character, character))
        assert ((await answer).allowed, (await answer).reason) == (False, "use easy")


@pytest.mark.parametrize("turns", [0, 1, 3, 8])
async def test_no_word_is_lost_wherever_the_line_gets_the_focus(turns: int) -> None:
    app = Panels()
    async with app.run_test() as pilot:
        answer = asyncio.create_task(app.approval.ask(request("one")))
        await settled(pilot)
        app.approval.focus()
        await pilot.pause()
        for key in (
            *(events.Key(character, character) for character in "ruse the other file"),
            events.Key("enter", "\r"),
        ):
            app.post_message(key)
            for _ in range(turns):
                await asyncio.sleep(0)
        assert (await answer).reason == "use the other file"


async def test_the_focus_does_not_select_the_words_that_came_before_it() -> None:
    app = Panels()
    async with app.run_test() as pilot:
        answer = asyncio.create_task(app.approval.ask(request("one")))
        await settled(pilot)
        for character in "ruse the ":
            app.approval.post_message(events.Key(character, character))
        await pilot.pause()
        await pilot.press(*"other", "enter")
        assert (await answer).reason == "use the other"


async def test_a_second_question_does_not_disturb_words_for_the_first() -> None:
    app = Panels()
    async with app.run_test() as pilot:
        first = asyncio.create_task(app.approval.ask(request("one")))
        await settled(pilot)
        app.approval.focus()
        await pilot.press("r", *"yes")
        second = asyncio.create_task(app.approval.ask(request("two")))
        await pilot.pause()
        await pilot.press(*"se", "enter")
        assert (await first).reason == "yesse"
        assert not second.done()
        await pilot.press("y")
        assert not second.done(), "it has only just come up"
        await settled(pilot)
        app.approval.focus()
        await pilot.press("y")
        assert (await second).allowed


async def test_a_question_that_is_cancelled_goes_and_the_next_shows() -> None:
    app = Panels()
    async with app.run_test() as pilot:
        first = asyncio.create_task(app.approval.ask(request("one")))
        second = asyncio.create_task(app.approval.ask(request("two")))
        await pilot.pause()
        first.cancel()
        await pilot.pause()
        assert (app.approval.waiting, app.approval.shown.name) == (1, "two")
        second.cancel()
        await pilot.pause()
        assert not app.approval.has_class("open")


async def test_a_question_that_is_answered_elsewhere_after_the_app_is_gone_ends_in_peace() -> None:
    app = Panels()
    async with app.run_test() as pilot:
        asking = asyncio.create_task(app.approval.ask(request("one")))
        await settled(pilot)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert app.approval.waiting == 0


async def test_what_else_waits_is_listed() -> None:
    app = Panels()
    async with app.run_test(size=(60, 40)) as pilot:
        asking = [asyncio.create_task(app.approval.ask(request(f"n{n}"))) for n in range(6)]
        asking.append(asyncio.create_task(app.approval.ask(edit("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b"))))
        await settled(pilot)
        others = app.approval.query_one("#others", Static)
        await until(pilot, lambda: others.size.height == 4)
        shown = [others.render_line(y).text.rstrip() for y in range(4)]
        assert shown == ["then n1: run n1", "then n2: run n2", "then n3: run n3", "and 3 more"]
        app.approval.press("left")
        app.approval.press("left")
        await until(pilot, lambda: others.render_line(0).text.rstrip() == "then edit: x.py")
        for task in asking[1:]:
            task.cancel()
        await until(pilot, lambda: not others.display)
        asking[0].cancel()


async def test_questions_by_digit_in_own_words_and_declined() -> None:
    app = Panels()
    question = Question("q", "Which one?", ("red", "blue"))
    async with app.run_test() as pilot:
        for keys, expected in ((["2"], Answer("blue")), (["0", *"2 teal", "enter"], Answer("2 teal")), (["d"], None)):
            answer = asyncio.create_task(app.questions.ask(question))
            await settled(pilot)
            app.questions.focus()
            await pilot.pause()
            for key in keys:
                app.post_message(events.Key("space" if key == " " else key, key))
            assert await answer == expected
            assert app.questions.query_one("#words", Input).value == ""


async def test_without_free_words_there_is_no_zero() -> None:
    app = Panels()
    async with app.run_test() as pilot:
        answer = asyncio.create_task(app.questions.ask(Question("q", "Go on?", ("go on", "end"), free_text=False)))
        await settled(pilot)
        app.questions.focus()
        await pilot.press("0", "3", "1")
        assert await answer == Answer("go on")


async def test_no_answer_is_broken_in_a_low_and_narrow_window() -> None:
    app = Panels()
    async with app.run_test(size=(40, 12)) as pilot:
        asking = asyncio.create_task(app.approval.ask(request("push")))
        await pilot.pause()
        answers = app.approval.query_one("#choices", Static)
        await until(pilot, lambda: answers.size.height == 2)
        shown = [answers.render_line(y).text.rstrip() for y in range(2)]
        assert shown == ["y yes  e exactly this  s such", "a always  n no  r no, because"]
        asking.cancel()


async def test_an_answer_in_a_low_window_is_taken_by_a_click() -> None:
    app = Panels()
    async with app.run_test(size=(60, 12)) as pilot:
        asking = asyncio.create_task(
            app.approval.ask(ApprovalRequest("c", "shell", {}, "execute", "command", "make", ""))
        )
        await pilot.pause()
        await pilot.pause(SETTLE)
        answers = app.approval.query_one("#choices", Static)
        at = answers.render_line(0).text.index("n no")
        await pilot.click(answers, offset=(at + 2, 0))
        assert not (await asking).allowed
