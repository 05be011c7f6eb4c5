"""Live output for people: colours survive, and nothing else that a terminal would act on."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool_tools.colours import PeopleText, last_frames, people_text, plain_text

from .conftest import Desk

SGR = re.compile(r"\x1b\[[0-9;:]*m")
ACTS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

PIECES = (
    "\x1b[31m", "\x1b[0m", "\x1b[1;38;5;8m", "\x1b[38;2;8;8;8m", "\x1b[8m", "\x1b[2J", "\x1b[H", "\x1b[?1049h",
    "\x1b]0;title\x07", "\x1b]52;c;aGk=\x1b\\", "\x1b]8;;http://x\x1b\\", "\x1bP q\x1b\\", "\x1b(0", "\x1bc", "\x9b31m",
    "\x9b2J", "\x9d0;t\x9c", "\x1b", "\x1b[", "\x1b]", "\x90", "\x07", "\b", "\r", "\r\n", "\n", "\t", "m", "[31m",
    "\u202e", "é", "word", "\udcff", "\x18", "\x1b[31", "\x1b\x1b[0m", "\x1b[31\x1b[0m",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)


@given(TEXTS)
def test_no_escape_but_colours_survives(text: str) -> None:
    shown = people_text(text)
    assert not ACTS.search(SGR.sub("", shown))
    assert people_text(shown) == shown
    assert plain_text(shown) == SGR.sub("", shown)


@given(
    st.lists(
        st.binary(max_size=6) | TEXTS.map(lambda t: t.encode("utf-8", "surrogateescape" if t.isascii() else "replace")),
        max_size=8,
    )
)
def test_no_escape_but_colours_survives_in_pieces(chunks: list[bytes]) -> None:
    live = PeopleText()
    for chunk in chunks:
        assert not ACTS.search(SGR.sub("", live.feed(chunk)))


@given(
    st.lists(st.sampled_from(["\x1b[31m", "\x1b[0m", "\x1b[2K", "text", "\n", "é", "\x1b]0;t\x07"]), max_size=8),
    st.data(),
)
def test_pieces_come_to_the_same(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts) + "."
    raw, live, shown = text.encode(), PeopleText(), ""
    at = 0
    while at < len(raw):
        step = data.draw(st.integers(1, len(raw)))
        shown += live.feed(raw[at : at + step])
        at += step
    assert shown == people_text(text)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m plain", "\x1b[1;31mred\x1b[0m plain"),
        ("\x9b32mgreen", "\x1b[32mgreen"),
        ("\x1b[38;5;8mgrey", "\x1b[38;5;8mgrey"),
        ("\x1b[38;2;8;8;8mgrey", "\x1b[38;2;8;8;8mgrey"),
        ("\x1b[8mhidden", "hidden"),
        ("\x1b[0;08mhidden", "hidden"),
        ("\x1b[38;5;1;8mhidden", "hidden"),
        ("\x1b[>4;2m\x1b[?25l", ""),
        ("a\x1b]52;c;aGk=\x07b\x1b[2J\x1b[Hc", "abc"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("one\r\ntwo\rthree", "one\ntwo\rthree"),
        ("abc\u202ecba", "abc\\u202ecba"),
    ],
)
def test_what_is_kept(raw: str, shown: str) -> None:
    assert people_text(raw) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\nlines", "plain\nlines"),
        ("\r1 %\r2 %\r3 %\ndone", "\r3 %\ndone"),
        ("begun\r1 %", "\r1 %"),
        ("a\n1 %\r2 %\nb", "a\n2 %\nb"),
        ("\x1b[32m1 %\r2 %\x1b[0m\r3 %", "\r3 %"),
        ("\x1b[32m1 %\r\x1b[1m2 %\r3 %", "\r\x1b[32m\x1b[1m3 %"),
        ("1 %\r", "1 %\r"),
    ],
)
def test_only_the_last_frame_of_a_line_is_shown(text: str, shown: str) -> None:
    assert last_frames(text) == shown


async def test_people_see_colours_and_the_model_does_not(desk: Desk) -> None:
    command = r"printf '\033[31mred\033[0m\033]0;title\007\033[2J done\n'; sleep 0.3; printf 'plain\n'"
    result = await desk.call("shell", command=command)
    assert "red done\nplain" in result.text
    assert "\x1b" not in result.text
    live = "".join(desk.live)
    assert "\x1b[31mred\x1b[0m done\n" in live
    assert live.endswith("plain\n")
    assert "title" not in live
    assert live.count("\x1b") == 2
