"""Blocks of changed lines: round trips, merges that lose nothing, and what cannot be told apart."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.agent.gitwork.blocks import applied, blocks_of, merged

TEXTS = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"d"]), max_size=12).map(b"".join)


@given(TEXTS, TEXTS)
def test_all_blocks_together_make_the_new_text(old: bytes, new: bytes) -> None:
    assert applied(old, blocks_of(old, new)) == new


@given(TEXTS, TEXTS)
def test_no_block_touches_another(old: bytes, new: bytes) -> None:
    blocks = blocks_of(old, new)
    assert not any(a.touches(b) for a, b in itertools.pairwise(blocks))


@given(TEXTS, TEXTS)
def test_a_merge_with_one_side_unchanged_is_the_other_side(base: bytes, other: bytes) -> None:
    assert merged(base, base, other) == merged(base, other, base) == merged(base, other, other) == other


@given(TEXTS, TEXTS, TEXTS)
def test_a_merge_does_not_depend_on_who_is_who(base: bytes, ours: bytes, theirs: bytes) -> None:
    assert merged(base, ours, theirs) == merged(base, theirs, ours)


def test_changes_in_other_lines_are_joined_and_in_the_same_lines_refused() -> None:
    base = b"1\n2\n3\n4\n5\n"
    assert merged(base, b"one\n2\n3\n4\n5\n", b"1\n2\n3\n4\nfive\n") == b"one\n2\n3\n4\nfive\n"
    assert merged(base, b"1\n2\nx\n4\n5\n", b"1\n2\ny\n4\n5\n") is None
    assert merged(base, b"1\n2\n3\n4\n5\nx\n", b"1\n2\n3\n4\n5\ny\n") is None
    assert merged(b"a\0", b"b\0", b"c\0") is None


def test_blocks_of_another_text_are_refused() -> None:
    with pytest.raises(ValueError, match="not the one"):
        applied(b"x\ny\n", blocks_of(b"a\ny\n", b"b\ny\n"))
