"""Vi's modes over plain text: motions, operators, and that no keys can break the text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.events import Paste

from pool.facekit.recall import Recall
from pool.facekit.textualtheme import textual_theme
from pool.tui.prompt import PromptBox
from pool.tui.vi import Mode, Vi
from pool.tui.vibox import ViPromptBox
from pool.tui.vimotions import Place, motion
from pool_themes import load

SIX = "one two.three\n\n  four five"


class Lines:
    """A text with a cursor, undo, and a record of steps in the history."""

    def __init__(self, text: str, at: Place = (0, 0)) -> None:
        self.text, self.at = text, at
        self.before: list[str] = []
        self.after: list[str] = []
        self.steps: list[int] = []

    def lines(self) -> Sequence[str]:
        return self.text.split("\n")

    def place(self) -> Place:
        return self.at

    def go(self, to: Place) -> None:
        assert 0 <= to[0] < len(self.lines())
        assert 0 <= to[1] <= len(self.lines()[to[0]])
        self.at = to

    def _offset(self, place: Place) -> int:
        return sum(len(line) + 1 for line in self.lines()[: place[0]]) + place[1]

    def put(self, text: str, start: Place, end: Place) -> None:
        assert start <= end
        self.before.append(self.text)
        self.text = self.text[: self._offset(start)] + text + self.text[self._offset(end) :]
        self.at = (0, 0)

    def undo(self) -> None:
        if self.before:
            self.after.append(self.text)
            self.text, self.at = self.before.pop(), (0, 0)

    def redo(self) -> None:
        if self.after:
            self.before.append(self.text)
            self.text, self.at = self.after.pop(), (0, 0)

    def history(self, step: int) -> None:
        self.steps.append(step)


def typed(keys: str, text: str, at: Place = (0, 0)) -> tuple[Lines, Vi]:
    """What keys make of a text; `^R` is written ®, and in insert mode keys go into the text as the box would do it."""
    lines = Lines(text, at)
    vi = Vi(lines)
    vi.escape()
    lines.at = at
    for key in keys:
        if key == "␛":
            vi.escape()
        elif vi.mode is Mode.INSERT:
            row, column = lines.at
            lines.put(key, lines.at, lines.at)
            lines.at = (row, column + 1)
        else:
            vi.key("ctrl+r" if key == "®" else key)
    return lines, vi


@pytest.mark.parametrize(
    ("key", "at", "to"),
    [
        ("w", (0, 0), (0, 4)),
        ("w", (0, 4), (0, 7)),
        ("w", (0, 7), (0, 8)),
        ("w", (0, 8), (1, 0)),
        ("w", (1, 0), (2, 2)),
        ("w", (2, 7), (2, 11)),
        ("b", (2, 7), (2, 2)),
        ("b", (2, 2), (1, 0)),
        ("b", (1, 0), (0, 8)),
        ("b", (0, 5), (0, 4)),
        ("b", (0, 0), (0, 0)),
        ("e", (0, 0), (0, 2)),
        ("e", (0, 2), (0, 6)),
        ("e", (0, 12), (2, 5)),
        ("e", (2, 10), (2, 10)),
        ("0", (2, 5), (2, 0)),
        ("^", (2, 5), (2, 2)),
        ("$", (0, 0), (0, 12)),
        ("$", (1, 0), (1, 0)),
        ("gg", (2, 5), (0, 0)),
        ("G", (0, 0), (2, 0)),
        ("h", (0, 0), (0, 0)),
        ("j", (2, 5), (2, 5)),
    ],
)
def test_motions(key: str, at: Place, to: Place) -> None:
    found = motion(key, SIX.split("\n"), at)
    assert found is not None
    assert found.to == to


@pytest.mark.parametrize(
    ("keys", "text", "at", "result"),
    [
        ("x", "abc", (0, 1), "ac"),
        ("2x", "abcd", (0, 1), "ad"),
        ("dw", "one two", (0, 0), "two"),
        ("d2w", "one two three", (0, 0), "three"),
        ("2dw", "one two three", (0, 0), "three"),
        ("dw", "one\ntwo", (0, 0), "\ntwo"),
        ("cwnew␛", "one two", (0, 0), "new two"),
        ("ccnew␛", "one\ntwo\nthree", (1, 1), "one\nnew\nthree"),
        ("dd", "one\ntwo\nthree", (1, 0), "one\nthree"),
        ("dd", "one\ntwo", (1, 0), "one"),
        ("dd", "one", (0, 0), ""),
        ("2dd", "one\ntwo\nthree", (0, 0), "three"),
        ("dj", "one\ntwo\nthree", (0, 2), "three"),
        ("dgg", "one\ntwo\nthree", (1, 0), "three"),
        ("dG", "one\ntwo\nthree", (1, 0), "one"),
        ("D", "one two", (0, 3), "one"),
        ("Cx␛", "one two", (0, 3), "onex"),
        ("d$", "one two", (0, 3), "one"),
        ("de", "one two", (0, 0), " two"),
        ("db", "one two", (0, 4), "two"),
        ("yyp", "one\ntwo", (0, 0), "one\none\ntwo"),
        ("yyP", "one\ntwo", (1, 0), "one\ntwo\ntwo"),
        ("yw$p", "one two", (0, 0), "one twoone "),
        ("xp", "ab", (0, 0), "ba"),
        ("ddp", "one\ntwo", (0, 0), "two\none"),
        ("xu", "abc", (0, 1), "abc"),
        ("xu®", "abc", (0, 1), "ac"),
        ("Ax␛", "ab", (0, 0), "abx"),
        ("Ix␛", "  ab", (0, 3), "  xab"),
        ("ox␛", "a\nb", (0, 0), "a\nx\nb"),
        ("Ox␛", "a\nb", (1, 0), "a\nx\nb"),
        ("ax␛", "ab", (0, 0), "axb"),
        ("d␛x", "ab", (0, 0), "b"),
        ("dz", "ab", (0, 0), "ab"),
        ("p", "ab", (0, 0), "ab"),
        ("cw設␛", "読む 二", (0, 0), "設 二"),
    ],
)
def test_commands(keys: str, text: str, at: Place, result: str) -> None:
    assert typed(keys, text, at)[0].text == result


def test_lines_at_the_edge_lead_into_the_history() -> None:
    lines, _ = typed("jjk", "one\ntwo", (0, 0))
    assert lines.steps == [1]
    assert typed("k", "one", (0, 0))[0].steps == [-1]


def test_what_is_shown_of_a_command() -> None:
    _, vi = typed("2d", "one")
    assert vi.shown == "normal 2d"
    vi.escape()
    assert vi.shown == "normal"
    assert not vi.key("z")
    vi.key("i")
    assert vi.shown == ""


@given(st.text("hjklwbe0$^gGxdcyDCpPu®iaIAoO␛12", max_size=30), st.text("ab. 設\n", max_size=20))
def test_no_keys_lead_out_of_the_text(keys: str, text: str) -> None:
    lines, vi = typed(keys + "␛", text)
    row, column = lines.at
    assert 0 <= column <= len(lines.lines()[row])
    assert vi.mode is Mode.NORMAL


class BoxApp(App[None]):
    """The box alone."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.box = ViPromptBox(Recall(folder, folder))
        self.sent: list[str] = []
        self.asked: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.box

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return textual_theme(load("pool-dark")).variables

    def on_mount(self) -> None:
        self.box.focus()

    def on_prompt_box_sent(self, message: PromptBox.Sent) -> None:
        self.sent.append(message.text)

    def on_prompt_box_asked(self, message: PromptBox.Asked) -> None:
        self.asked.append(message.what)


async def test_the_box_in_both_modes(tmp_path: Path) -> None:
    app = BoxApp(tmp_path)
    app.box.recall.add("earlier")
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.press(*"jk dw")
        assert app.box.text == "jk dw"
        assert app.box.escaped()
        assert app.box.border_subtitle == "normal"
        await pilot.press("backspace", "0", "d", "w")
        assert app.box.text == "dw"
        await pilot.press("u")
        assert app.box.text == "jk dw"
        await pilot.press("ctrl+r")
        assert app.box.text == "dw"
        await pilot.press("z", "Q", "left", "enter")
        assert app.sent == ["dw"]
        assert (app.box.text, app.box.border_subtitle) == ("", None)
        await pilot.press("i", "backspace")
        app.box.escaped()
        await pilot.press("question_mark")
        assert app.asked == ["help"]
        await pilot.press("k")
        assert app.box.text == "earlier"


async def test_a_paste_in_normal_mode_is_no_command(tmp_path: Path) -> None:
    app = BoxApp(tmp_path)
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.press(*"one")
        app.box.escaped()
        app.box.post_message(Paste("dd\ndG:q!"))
        await pilot.pause()
        assert app.box.text == "ondd\ndG:q!e"
        assert app.box.border_subtitle == "normal"
        app.box.take()
        app.box.escaped()
        await pilot.press("slash", "h")
        assert app.box.text == "/h"
