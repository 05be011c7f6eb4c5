"""An answer in pieces becomes the same lines however it was cut, and nothing in it is obeyed by a terminal."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from pool.repl.ink import Ink
from pool.repl.prose import MOST_HELD_LINES, Prose

COLOURED, PLAIN = Ink(), Ink(colours=False)
SGR = re.compile(r"\x1b\[[0-9;]*m")

MARKUP = ["```python\n", "```", "\n", "~~~\n", "# x\n", "`a`", "def f():\n", "\r\n", "\x1b[2J", "\ud83d", "\ude00"]
PIECES = st.lists(st.one_of(st.sampled_from(MARKUP), st.text(max_size=8)), max_size=30)


def lines(pieces: list[str], ink: Ink) -> list[str]:
    said: list[str] = []
    prose = Prose(ink, said.append)
    for piece in pieces:
        prose.feed(piece)
    prose.end()
    return said


@given(PIECES)
def test_pieces_make_no_difference(pieces: list[str]) -> None:
    assert lines(pieces, COLOURED) == lines(["".join(pieces)], COLOURED)


@example(["0\r"])
@given(PIECES)
def test_colours_change_no_text_and_nothing_else_is_an_escape(pieces: list[str]) -> None:
    coloured = [SGR.sub("", line) for line in lines(pieces, COLOURED)]
    assert coloured == lines(pieces, PLAIN)
    assert all(c.isprintable() or ord(c) > 0x9F for line in coloured for c in line)
    assert not any("\x1b" in line or "\n" in line for line in coloured)


def test_a_block_of_code_waits_for_its_end() -> None:
    said: list[str] = []
    prose = Prose(COLOURED, said.append)
    prose.feed("text\n```py\nx = 'a")
    assert said == ["text", "\x1b[2m```py\x1b[0m"]
    assert prose.rest == ["x = 'a"]
    prose.feed("'\n```\n")
    quote, letter = "\x1b[32m'\x1b[0m", "\x1b[32ma\x1b[0m"
    assert said[2:] == [f"x = {quote}{letter}{quote}", "\x1b[2m```\x1b[0m"]


def test_an_endless_block_goes_out_in_parts() -> None:
    said: list[str] = []
    prose = Prose(COLOURED, said.append)
    prose.feed("```\n" + "x\n" * (MOST_HELD_LINES + 1))
    assert len(said) == MOST_HELD_LINES + 1
    assert prose.rest == ["x"]
