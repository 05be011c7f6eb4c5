"""The widget in a running app: following, moving, folding, resizing, searching, the mouse."""

from __future__ import annotations

from typing import cast

from textual.events import MouseScrollDown, MouseScrollUp, Resize
from textual.geometry import Offset, Region, Size
from textual.reactive import Reactive
from textual.widget import Widget

from pool.config.interface import ReasoningView
from pool.facekit.textualtheme import PREFIX
from pool.tui.transcript.answer import Answer
from pool.tui.transcript.card import CallFacts, CallState, ToolCard
from pool.tui.transcript.prompt import Prompt
from pool.tui.transcript.reasoning import Reasoning
from tests.tui.transcript.harness import TranscriptApp, screen, settled

SIZE = (60, 20)
LINES = "".join(f"line {n}\n\n" for n in range(100))


async def test_the_view_follows_until_a_person_scrolls_up_and_again_from_the_end() -> None:
    """Case TUI-08."""
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        view = app.transcript
        entry = view.add(Answer(), open_=True)
        view.append_text(entry, LINES)
        await settled(pilot)
        assert screen(app)[-1] == "  line 99"
        await pilot.press("pageup", "pageup")
        before = screen(app)
        assert not view.follows
        view.append_text(entry, "more\n\n" * 50)
        await settled(pilot)
        assert screen(app) == before
        assert view.new_below
        assert app.told == [(False, False), (False, True)]
        await pilot.press("end")
        assert screen(app)[-1] == "  more"
        assert view.follows
        assert not view.new_below
        view.append_text(entry, "last")
        await settled(pilot)
        assert screen(app)[-1] == "  last"


async def test_a_layout_that_knows_of_fewer_rows_lets_nothing_go() -> None:
    """Textual moves the view when the widget's size changes, by a height that may be older than the rows."""
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        view = app.transcript
        view.add(Answer(LINES, done=True))
        await settled(pilot)
        view.set_reactive(cast("Reactive[Size]", Widget.virtual_size), Size(60, 5))
        view._size_updated(Size(60, 18), Size(60, 5), Size(60, 18))  # pyright: ignore[reportPrivateUsage] Textual's own call
        assert view.follows
        await pilot.resize_terminal(60, 18)
        await settled(pilot)
        assert view.follows
        assert screen(app)[-1] == "  line 99"


async def test_the_wheel_lets_go_and_takes_hold_again() -> None:
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        view = app.transcript
        view.add(Answer(LINES, done=True))
        await settled(pilot)
        view.post_message(MouseScrollUp(view, 1, 1, 0, 0, 0, False, False, False))
        await settled(pilot)
        assert not view.follows
        assert screen(app)[-1] != "  line 99"
        for _ in range(3):
            view.post_message(MouseScrollDown(view, 1, 1, 0, 0, 0, False, False, False))
        await settled(pilot)
        assert view.follows


async def test_a_long_session_moves_by_keys_without_jumps() -> None:
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        view = app.transcript
        for number in range(1000):
            view.add(Prompt(f"prompt {number}"))
            view.add(Answer("word " * 30 + f"\n\n- answer {number}\n", done=True))
        await settled(pilot)
        assert screen(app)[-1] == "  • answer 999"
        assert sum(entry.rows is not None for entry in view.store.entries) < 20
        for _ in range(12):
            before = screen(app)
            await pilot.press("up")
            assert screen(app)[1:] == before[:-1]
        await pilot.press("home")
        assert screen(app)[0] == "▌ prompt 0"
        for _ in range(8):
            before = screen(app)
            await pilot.press("down")
            assert screen(app)[:-1] == before[1:]
        await pilot.press("right_square_bracket")
        first = screen(app)[0]
        assert first.startswith("▌ prompt")
        await pilot.press("left_square_bracket")
        assert int(screen(app)[0].split()[-1]) == int(first.split()[-1]) - 1


async def test_resizing_keeps_the_place_and_wraps_anew() -> None:
    """Case TUI-10."""
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        view = app.transcript
        entry = view.add(Answer(), open_=True)
        for number in range(200):
            view.append_text(entry, f"paragraph {number} " + "word " * 30 + "\n\n")
            view.add(Prompt(f"prompt {number} 設定を読む👩‍💻"))
        await settled(pilot)
        await pilot.press("home", "right_square_bracket", "right_square_bracket", "right_square_bracket")
        assert screen(app)[0] == "▌ prompt 2 設定を読む👩‍💻"
        for size in ((30, 10), (7, 4), (3, 2), (1, 1), (60, 20)):
            await pilot.resize_terminal(*size)
            view.append_text(entry, "x ")
            await settled(pilot)
            assert all(len(row) <= size[0] for row in screen(app))
        assert "prompt 2" in "".join(screen(app)[:3])


async def test_resizing_at_the_end_stays_there() -> None:
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.add(Answer(LINES + "word " * 100 + "end", done=True))
        await settled(pilot)
        for size in ((20, 30), (100, 5), (60, 20)):
            await pilot.resize_terminal(*size)
            await settled(pilot)
            assert screen(app)[-1].endswith("end")


async def test_what_changes_just_before_the_view_hears_of_its_size_is_painted() -> None:
    """As when the answer to a question closes its panel below: the larger view is painted before it is told."""
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        view = app.transcript
        card = ToolCard(CallFacts("shell", CallState.WAITING, "", "command", "make", why="asks"))
        entry = view.add(card)
        await settled(pilot)
        view.render_lines(Region(0, 0, *SIZE))
        view.replace(entry, card.with_facts(state=CallState.DENIED, result="was denied"))
        view.post_message(Resize(view.size, view.virtual_size))
        await settled(pilot)
        painted = [strip.text for strip in view.render_lines(Region(0, 0, SIZE[0], 2))]
        assert "$ make · denied" in painted[0]
        assert "was denied" in painted[1]


async def test_a_block_that_changes_above_does_not_move_the_view() -> None:
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        view = app.transcript
        card = ToolCard(CallFacts("shell", CallState.OK, "", "command", "make", result="x\n" * 30))
        entry = view.add(card)
        view.add(Answer(LINES, done=True))
        await settled(pilot)
        await pilot.press("home", "pagedown", "pagedown")
        before = screen(app)
        view.fold(entry, False)
        await settled(pilot)
        assert screen(app) == before
        view.replace(entry, card.with_facts(state=CallState.FAILED, result="gone"))
        await settled(pilot)
        assert screen(app) == before


async def test_another_theme_draws_everything_in_its_colours() -> None:
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.add(Answer("text `code`", done=True))
        await settled(pilot)
        dark = app.transcript.render_line(0)
        app.theme = PREFIX + "pool-light"
        await settled(pilot)
        light = app.transcript.render_line(0)
        assert dark.text == light.text
        assert [s.style for s in dark] != [s.style for s in light]


async def test_folding_by_click_and_by_keys() -> None:
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        view = app.transcript
        result = "\n".join(f"out {n}" for n in range(12))
        facts = CallFacts("shell", CallState.OK, "", "command", "make", result=result)
        view.add(ToolCard(facts))
        view.add(Reasoning("a thought", done=True))
        await settled(pilot)
        assert len([row for row in screen(app) if row]) == 10
        await pilot.click(view, offset=Offset(6, 0))
        await settled(pilot)
        assert len([row for row in screen(app) if row]) == 14
        await pilot.press("j", "enter")
        await settled(pilot)
        assert screen(app)[13:15] == ["▐ ▾ Thought · ~2 tokens", "▐ │ a thought"]
        view.fold_all(True)
        assert len([row for row in screen(app) if row]) == 10
        view.show_reasoning(ReasoningView.HIDDEN)
        assert len([row for row in screen(app) if row]) == 9


async def test_dragging_selects_and_copies_without_wraps() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.transcript
        text = "the quick brown fox jumps over the lazy dog and runs away"
        view.add(Prompt(text))
        await settled(pilot)
        await pilot.mouse_down(view, offset=Offset(6, 0))
        await pilot.hover(view, offset=Offset(5, 1))
        await pilot.mouse_up(view, offset=Offset(5, 1))
        assert app.told == [text[4:38]]
        assert view.selected_text == text[4:38]
        await pilot.click(view, offset=Offset(6, 0), times=2)
        assert app.told[-1] == "quick"
        await pilot.click(view, offset=Offset(6, 0), times=3)
        assert app.told[-1] == text
        await pilot.click(view, offset=Offset(30, 8))
        assert view.selected_text == ""


async def test_a_selection_stays_on_its_text_while_more_comes() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.transcript
        view.add(Prompt("keep this"))
        entry = view.add(Answer(), open_=True)
        await settled(pilot)
        await pilot.mouse_down(view, offset=Offset(2, 0))
        await pilot.hover(view, offset=Offset(6, 0))
        view.append_text(entry, "more\n\n" * 20)
        await settled(pilot)
        await pilot.mouse_up(view, offset=Offset(6, 0))
        view.append_text(entry, "more\n\n" * 20)
        await settled(pilot)
        assert view.selected_text.startswith("keep")


async def test_clicks_on_paths_and_addresses() -> None:
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.add(Answer("See src/app.py:12 and [docs](https://x.org/d).", done=True))
        await settled(pilot)
        await pilot.click(app.transcript, offset=Offset(8, 0))
        await pilot.click(app.transcript, offset=Offset(40, 0))
        assert app.told == [("src/app.py", 12, 0), "https://x.org/d"]


async def test_searching_moves_to_matches_that_were_never_drawn() -> None:
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        view = app.transcript
        for number in range(500):
            view.add(Answer(f"text {number}\n\n" + ("a **nee**dle here" if number % 200 == 7 else "hay"), done=True))
        await settled(pilot)
        assert view.search("needle")
        assert "  a needle here" in screen(app)
        assert any("407" in row for row in screen(app))
        await pilot.press("N")
        assert any("207" in row for row in screen(app))
        await pilot.press("n")
        assert any("407" in row for row in screen(app))
        assert not view.follows
        assert not view.search("nothing of the kind")


async def test_copying_the_chosen_block_gives_its_source() -> None:
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.add(Answer("some **bold**\n\n```py\nx\n```\n", done=True))
        await settled(pilot)
        await pilot.press("k", "y")
        assert app.told == ["some **bold**\n\n```py\nx\n```\n"]


async def test_code_is_copied_by_click_and_by_key() -> None:
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.add(Answer("```py\nx = 1\n```\n\n```sh\nmake\n```\n", done=True))
        await settled(pilot)
        assert screen(app)[0] == "   py  copy"
        await pilot.click(app.transcript, offset=Offset(8, 0))
        await pilot.press("escape", "Y")
        assert app.told == ["x = 1", "make"]


async def test_long_code_folds_where_its_head_is_clicked() -> None:
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        view = app.transcript
        view.add(Answer("```py\n" + "x\n" * 50 + "```\n\nend", done=True))
        await settled(pilot)
        await pilot.press("home")
        await pilot.click(view, offset=Offset(5, 0))
        await settled(pilot)
        assert screen(app)[0] == "▐  ▸ py · 50 lines  copy"
        assert screen(app)[9:12] == ["▐  … 42 more lines", "▐", "▐ end"]
        assert view.toggle_at(9)
        await settled(pilot)
        assert screen(app)[0] == "▐  ▾ py · 50 lines  copy"


async def test_the_view_stands_still_while_the_mouse_selects() -> None:
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        view = app.transcript
        entry = view.add(Answer(LINES), open_=True)
        await settled(pilot)
        before = screen(app)
        await pilot.mouse_down(view, offset=Offset(4, 3))
        view.append_text(entry, "more\n\n" * 9)
        await settled(pilot)
        assert screen(app) == before
        await pilot.mouse_up(view, offset=Offset(4, 3))
        await settled(pilot)
        assert screen(app)[-1] == "  more"


async def test_clearing() -> None:
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        view = app.transcript
        view.add(Answer(LINES, done=True))
        await settled(pilot)
        view.clear()
        await settled(pilot)
        assert not any(screen(app))
        view.add(Prompt("anew"))
        await settled(pilot)
        assert screen(app)[0] == "▌ anew"


async def test_waiting_draws_one_row_a_second() -> None:
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        view = app.transcript
        view.add(Answer(LINES, done=True))
        entry = view.add(Reasoning(), open_=True)
        await settled(pilot)
        await pilot.pause(1.3)
        assert "Thinking 1 s" in screen(app)[-1]
        view.finish(entry)
        await pilot.pause(1.2)
        assert "Thought for" in screen(app)[-1]
        assert not view._live  # pyright: ignore[reportPrivateUsage]  # nothing is left that ticks
