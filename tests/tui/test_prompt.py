"""The prompt box in a real Textual app: keys, pastes, history."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.app import App, ComposeResult

from pool.facekit.recall import Recall
from pool.facekit.textualtheme import textual_theme
from pool.tui import prompt
from pool.tui.prompt import PromptBox
from pool_themes import load
from tests.tui.waiting import until


class BoxApp(App[None]):
    """The box alone; keeps what it sends."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.box = PromptBox(Recall(folder, folder))
        self.sent: list[str] = []
        self.queued: list[str] = []
        self.asked: list[str] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return textual_theme(load("pool-dark")).variables

    def compose(self) -> ComposeResult:
        yield self.box

    def on_prompt_box_sent(self, message: PromptBox.Sent) -> None:
        self.sent.append(message.text)

    def on_prompt_box_queued(self, message: PromptBox.Queued) -> None:
        self.queued.append(message.text)

    def on_prompt_box_asked(self, message: PromptBox.Asked) -> None:
        self.asked.append(message.what)


@pytest.fixture
def app(tmp_path: Path) -> BoxApp:
    return BoxApp(tmp_path)


async def test_enter_sends_and_empties(app: BoxApp) -> None:
    async with app.run_test() as pilot:
        await pilot.press(*"hi", "enter")
        await pilot.pause(0.05)
        await pilot.press("enter")
        await until(pilot, lambda: app.sent == ["hi"])
        await until(pilot, lambda: app.box.text == "")


async def test_what_is_typed_right_after_enter_stays(app: BoxApp) -> None:
    async with app.run_test() as pilot:
        await pilot.press(*"hi")
        await pilot.pause(0.05)
        for key in ("enter", "x", "y"):
            app.box.post_message(events.Key(key, key if len(key) == 1 else "\r"))
        await pilot.pause(0.1)
        await until(pilot, lambda: (app.sent, app.box.text) == (["hi"], "xy"))


async def test_a_new_line_by_key_and_by_backslash(app: BoxApp) -> None:
    async with app.run_test() as pilot:
        await pilot.press("a", "ctrl+j", "b", "backslash")
        await pilot.pause(0.05)
        await pilot.press("enter", "c")
        await pilot.pause(0.05)
        await pilot.press("enter")
        await until(pilot, lambda: app.sent == ["a\nb\nc"])


async def test_a_marked_paste_and_enter_in_one_go_send_once(app: BoxApp) -> None:
    text = "\r".join(f"line {n}" for n in range(200))
    async with app.run_test() as pilot:
        app.box.post_message(events.Paste(text))
        await pilot.press("enter", "x")
        await until(pilot, lambda: app.sent == [text.replace("\r", "\n")])
        await until(pilot, lambda: app.box.text == "x")


async def test_a_paste_without_marks_is_not_sent_line_by_line(app: BoxApp, monkeypatch: pytest.MonkeyPatch) -> None:
    # However busy the machine is, these keys come faster than hands.
    monkeypatch.setattr(prompt, "BURST_SECONDS", 60.0)
    monkeypatch.setattr(prompt, "SETTLE_SECONDS", 60.0)
    async with app.run_test() as pilot:
        for line in ("one", "two", "three"):
            for key in (*(() if line == "one" else ("enter",)), *line):
                app.post_message(events.Key(key, key if len(key) == 1 else "\r"))
        await pilot.pause(0.2)
        assert app.sent == []
        await until(pilot, lambda: app.box.text == "one\ntwo\nthree")
        monkeypatch.setattr(prompt, "BURST_SECONDS", 0.0)
        await pilot.press("enter")
        await until(pilot, lambda: app.sent == ["one\ntwo\nthree"])


async def test_a_line_written_by_a_program_is_sent_by_its_enter(app: BoxApp) -> None:
    async with app.run_test() as pilot:
        for key in (*"hello", "enter"):
            app.post_message(events.Key(key, key if len(key) == 1 else "\r"))
        await until(pilot, lambda: app.sent == ["hello"])


async def test_a_large_paste_is_shown_as_a_mark_and_can_be_undone(app: BoxApp) -> None:
    async with app.run_test() as pilot:
        await pilot.press(*"see ")
        app.box.post_message(events.Paste("x\n" * 10_000))
        await pilot.pause()
        await until(pilot, lambda: app.box.text == "see [paste #1: 10,000 lines]")
        await until(pilot, lambda: app.box.full_text == "see " + "x\n" * 10_000)
        await pilot.press("ctrl+underscore")
        await until(pilot, lambda: app.box.text == "see ")


async def test_backspace_takes_out_the_mark_of_a_paste_whole(app: BoxApp) -> None:
    async with app.run_test() as pilot:
        await pilot.press(*"see ")
        app.box.post_message(events.Paste("x\n" * 20))
        await pilot.pause()
        await pilot.press("backspace")
        await until(pilot, lambda: app.box.text == "see ")
        await pilot.press("backspace")
        await until(pilot, lambda: app.box.text == "see")


async def test_up_in_the_empty_box_takes_back_what_waits(app: BoxApp) -> None:
    app.box.recall.add("older")
    async with app.run_test() as pilot:
        app.box.has_waiting = True
        await pilot.press("up")
        await until(pilot, lambda: (app.box.text, app.asked) == ("", ["take_back"]))
        app.box.has_waiting = False
        await pilot.press("up")
        await until(pilot, lambda: app.box.text == "older")


async def test_tab_queues_only_while_it_works(app: BoxApp) -> None:
    async with app.run_test() as pilot:
        await pilot.press("a", "tab")
        assert app.queued == []
        await until(pilot, lambda: app.asked == ["complete"])
        app.box.busy = True
        await pilot.press("tab")
        await until(pilot, lambda: app.queued == ["a"])


async def test_up_and_down_walk_the_past_only_at_the_edges(app: BoxApp) -> None:
    app.box.recall.add("older")
    app.box.recall.add("newer\ntwo lines")
    async with app.run_test() as pilot:
        await pilot.press("z", "up")
        await until(pilot, lambda: app.box.text == "newer\ntwo lines")
        await pilot.press("up")
        await until(pilot, lambda: app.box.cursor_location[0] == 0)
        await pilot.press("up")
        await until(pilot, lambda: app.box.text == "older")
        await pilot.press("down", "down", "down")
        await until(pilot, lambda: app.box.text == "z")


async def test_a_question_mark_asks_for_help_only_in_an_empty_box(app: BoxApp) -> None:
    async with app.run_test() as pilot:
        await pilot.press("question_mark")
        await until(pilot, lambda: (app.asked, app.box.text) == (["help"], ""))
        await pilot.press("a", "question_mark")
        await until(pilot, lambda: app.box.text == "a?")


async def test_an_exclamation_mark_marks_the_box(app: BoxApp) -> None:
    async with app.run_test() as pilot:
        await pilot.press("exclamation_mark", "l", "s")
        await until(pilot, lambda: app.box.has_class("shell"))


async def test_wide_characters_keep_the_cursor_at_the_caret(app: BoxApp) -> None:
    async with app.run_test() as pilot:
        await pilot.press(*"設定を")
        start = app.box.content_region.x
        await until(pilot, lambda: app.cursor_position.x == start + 6)
        await pilot.press("left")
        await until(pilot, lambda: app.cursor_position.x == start + 4)


async def test_joined_emoji_stay_joined(app: BoxApp) -> None:
    async with app.run_test() as pilot:
        for character in "👩‍💻":
            app.box.post_message(events.Key(character, character))
        await pilot.pause()
        await until(pilot, lambda: app.box.text == "👩‍💻")


@pytest.mark.parametrize("size", [(7, 4), (3, 2), (1, 1)])
async def test_tiny_windows_do_no_harm(app: BoxApp, size: tuple[int, int]) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"設定を読む👩")
        await pilot.resize_terminal(*size)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: app.box.text == "設定を読む👩")


async def test_a_picture_is_a_path_and_said_to_be_one(app: BoxApp, tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(b"x")
    async with app.run_test() as pilot:
        app.box.post_message(events.Paste(str(tmp_path / "logo.png")))
        await pilot.pause()
        await until(pilot, lambda: app.box.text == str(tmp_path / "logo.png"))
        app.box.post_message(events.Paste(""))
        await pilot.pause()
        await until(pilot, lambda: app.asked == ["picture", "nothing_pasted"])
