"""Cutting a diff into parts: nothing is lost, nothing is too large, and numbers stay what they are."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.agent.review.parts import LEAST_PART_TOKENS, PART_TOKENS, part_tokens, parts_of, reviewable, tokens_of
from pool.agent.review.patch import Change, FilePatch, numbered

HUNKS = st.lists(
    st.tuples(
        st.integers(1, 500), st.lists(st.tuples(st.sampled_from(" +-"), st.text("xyz ", max_size=30)), min_size=1)
    ),
    min_size=1,
    max_size=4,
)


def rows(text: str) -> list[str]:
    return [line for line in text.split("\n") if line[:1] == " " and not line.startswith(("  at line", "  removed"))]


@settings(max_examples=25)
@given(st.lists(HUNKS, min_size=1, max_size=4), st.integers(60, 400))
def test_every_line_is_in_one_part_with_its_number(
    files: list[list[tuple[int, list[tuple[str, str]]]]], most: int
) -> None:
    patches = [
        FilePatch(f"f{n}", Change.MODIFIED, tuple(numbered(signed, start) for start, signed in hunks))
        for n, hunks in enumerate(files)
    ]
    (whole,) = parts_of(patches, 10**9)
    parts = parts_of(patches, most)
    assert [row for part in parts for row in rows(part.text)] == rows(whole.text)
    assert all(tokens_of(part.text) <= most + 1 for part in parts)
    assert list(dict.fromkeys(name for part in parts for name in part.files)) == [patch.path for patch in patches]


def test_parts_fit_the_window() -> None:
    assert part_tokens(0) == part_tokens(262_144) == PART_TOKENS
    assert part_tokens(8_192) == 2_457
    assert part_tokens(1_000) == LEAST_PART_TOKENS


def test_what_no_run_gets_is_told() -> None:
    hunk = (numbered([("+", "x")], 1),)
    files = [
        FilePatch("a/uv.lock", Change.MODIFIED, hunk),
        FilePatch("logo.png", Change.ADDED, note="binary"),
        FilePatch("empty", Change.ADDED),
        FilePatch("a.py", Change.MODIFIED, hunk),
    ]
    kept, left = reviewable(files)
    assert [file.path for file in kept] == ["a.py"]
    assert [(one.path, one.why) for one in left] == [
        ("a/uv.lock", "a lock file"),
        ("logo.png", "binary"),
        ("empty", "no lines changed"),
    ]
