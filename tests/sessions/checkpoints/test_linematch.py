"""Matching lines in pieces: the same groups as `difflib`, and always a way from one text to the other."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import pairwise
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from pool.sessions.checkpoints import linematch
from pool.sessions.checkpoints.linematch import Opcode, grouped, opcodes

lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", *(b"%d\n" % n for n in range(12))]), max_size=24)


@given(lines, lines)
def test_groups_are_those_of_difflib(a: list[bytes], b: list[bytes]) -> None:
    if a != b:
        matcher = SequenceMatcher(None, a, b, autojunk=False)
        assert grouped(matcher.get_opcodes(), 3) == list(matcher.get_grouped_opcodes(3))


@given(lines, lines)
def test_pieces_lead_from_one_text_to_the_other(a: list[bytes], b: list[bytes]) -> None:
    with patch.object(linematch, "SMALL_LINES", 0):
        codes = opcodes(a, b)
    assert made(codes, a, b) == b
    assert [code[1] for code in codes] == sorted(code[1] for code in codes)
    for (_, _, high, _, to_high), (_, low, _, to_low, _) in pairwise(codes):
        assert (high, to_high) == (low, to_low)


def made(codes: list[Opcode], a: list[bytes], b: list[bytes]) -> list[bytes]:
    out: list[bytes] = []
    for tag, low, high, to_low, to_high in codes:
        assert (tag == "equal") <= (a[low:high] == b[to_low:to_high])
        out += a[low:high] if tag == "equal" else b[to_low:to_high]
    return out
