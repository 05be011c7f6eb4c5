from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool_tools.match import Found, Match, Step, find, line_number
from pool_tools.textfile import lines_of


def applied(text: str, old: str, new: str, every: bool = False) -> tuple[str, Step] | None:
    found = find(text, old, new, every)
    if found is None:
        return None
    for match in reversed(found.matches):
        text = text[: match.start] + match.new + text[match.end :]
    return text, found.step


@pytest.mark.parametrize(
    ("text", "old", "new", "result", "step"),
    [
        ("a = 1\nb = 2\n", "a = 1", "a = 3", "a = 3\nb = 2\n", Step.EXACT),
        ("a\r\nb\r\n", "a", "a\nc", "a\r\nc\r\nb\r\n", Step.EXACT),
        ("a\r\nb\r\n", "\nb", "\nx\nb", "a\r\nx\r\nb\r\n", Step.EXACT),
        ("a\nb\n", "a\nb", "a\r\nx\r\nb", "a\nx\nb\n", Step.EXACT),
        ("a\r\nb\r\n", "a\r\nb", "a\nb", "a\nb\r\n", Step.EXACT),
        ("a\r\nb\nc\r\nd\n", "b\nc\nd", "b\nC\nd", "a\r\nb\nC\r\nd\n", Step.LINE_ENDS),
        ("a\rb\rc\r", "a\nb", "a\nB\nD", "a\rB\rD\rc\r", Step.EXACT),
        ("x = 1", "x = 1\n", "x = 2\n", "x = 2", Step.LINE_ENDS),
        ("a  \nb\t\nc\n", "a\nb\nc", "a\nb\nC", "a  \nb\t\nC\n", Step.TRAILING_BLANKS),
        ("a\nb\n", "a  \nb  \n", "a\nB\n", "a\nB\n", Step.TRAILING_BLANKS),
        ("end\n", "end   ", "END", "END\n", Step.TRAILING_BLANKS),
        ("  if x:\n    y()\n", "if x:\n  y()\n", "if x:\n  z()\n", "  if x:\n    z()\n", Step.INDENTATION),
        ("if x:\n    y()\n", "  if x:\n      y()", "  if x:\n      z()", "if x:\n    z()\n", Step.INDENTATION),
        ("\tif x:\n\t\ty()\n", "  if x:\n    y()\n", "  if x:\n    z()\n", "\tif x:\n\t\tz()\n", Step.INDENTATION),
        ("    if x:\n        y()\n", "\tif x:\n\t\ty()\n", "\tz()\n", "    z()\n", Step.INDENTATION),
        ("\tx = 1\r\n", "    x = 1\n", "    x = 2\n    y = 3\n", "\tx = 2\r\n\ty = 3\r\n", Step.INDENTATION),
        ("say “a”\n", 'say "a"', 'say "b"', "say “b”\n", Step.TYPOGRAPHY),
        ("a\u00a0= 1 – 2\n", "a = 1 - 2", "a = 1 - 3", "a\u00a0= 1 – 3\n", Step.TYPOGRAPHY),
        ('say "a"\n', "say “a”", "say “b”", 'say "b"\n', Step.TYPOGRAPHY),
    ],
)  # fmt: skip
def test_each_step(text: str, old: str, new: str, result: str, step: Step) -> None:
    assert applied(text, old, new) == (result, step)


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("a\nb\n", "a\nc"),
        ("a\n\nb\n", "a\nb"),
        ("if x:\n    y()\n    z()\n", "  if x:\n        y()\n      z()"),
        ("\tif x:\n\t\ty()\n", "    if x:\n      y()\n"),
        ("foo(a, b)\n", "foo(a,b)"),
        ("value\n", "Value"),
        ("a\n", "  \n"),
        ("x\ny\n", "wholly other"),
    ],
)
def test_what_is_too_loose(text: str, old: str) -> None:
    assert find(text, old, "new", every=False) is None


def test_a_shift_that_does_not_reach_a_new_line_is_no_match() -> None:
    assert find("if x:\n    y()\n", "    if x:\n        y()\n", "  z()\n", every=False) is None


def test_without_loose_steps_only_the_exact_one_is_tried() -> None:
    assert find("a\r\nb\r\n", "a\nb", "x", every=False, loose=False) is None


def test_overlapping_places_are_several() -> None:
    found = find("aaa", "aa", "b", every=False)
    assert found is not None
    assert [m.start for m in found.matches] == [0, 1]
    assert find("aaa", "aa", "b", every=True) == Found(Step.EXACT, (Match(0, 2, "b"),))


def test_line_numbers_count_from_one() -> None:
    text = "a\r\nb\nc"
    assert [line_number(text, text.index(c)) for c in "abc"] == [1, 2, 3]


WORDS = st.sampled_from(["alpha", "beta()", "x = 1", "}", "", "say “hi”", "naïve – yes", "if a:", "“", "'"])


def texts(*indents: str) -> st.SearchStrategy[str]:
    ends = st.sampled_from(["", "", " ", "\t"]), st.sampled_from(["\n", "\n", "\r\n"])
    line = st.tuples(st.sampled_from(indents), WORDS, *ends).map("".join)
    return st.lists(line, min_size=1, max_size=25).map("".join)


TEXTS = texts("", "    ", "        ", "  ") | texts("", "\t", "\t\t")
PLAIN = str.maketrans({"“": '"', "”": '"', "’": "'", "–": "-"})


def blurred(draw: st.DrawFn, text: str) -> str:
    """text as a model may send it back: other line ends, blanks, indentation or quotes."""
    how = draw(st.sampled_from(["as it is", "lf", "crlf", "strip", "shift", "tabs", "plain quotes"]))
    lf = text.replace("\r\n", "\n")
    match how:
        case "lf":
            return lf
        case "crlf":
            return lf.replace("\n", "\r\n")
        case "strip":
            return re.sub(r"[ \t]+(?=\n)", "", lf)
        case "shift":
            return "".join("  " + line for line in lines_of(lf))
        case "tabs":
            return lf.replace("\t", "    ")
        case "plain quotes":
            return lf.translate(PLAIN)
        case _:
            return text


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, int, int, str, str]:
    """A text, the lines first to last (exclusive) that are meant, how the model writes them, and what it wants."""
    text = draw(TEXTS)
    lines = lines_of(text)
    first = draw(st.integers(0, len(lines) - 1))
    last = draw(st.integers(first + 1, len(lines)))
    old = blurred(draw, "".join(lines[first:last]))
    if draw(st.booleans()):
        old = old.rstrip("\r\n")
    return text, first, last, old, draw(TEXTS)


@given(edits())
def test_nothing_outside_the_matched_lines_moves(edit: tuple[str, int, int, str, str]) -> None:
    text, _, _, old, new = edit
    found = find(text, old, new, every=False)
    if found is None or len(found.matches) != 1:
        return
    (match,) = found.matches
    starts = {0, *(m.end() for m in re.finditer("\n", text))}
    matched = text[match.start : match.end]
    assert matched.strip().translate(PLAIN).split() == old.strip().translate(PLAIN).split()
    if found.step is not Step.EXACT:
        assert match.start in starts or found.step is not Step.INDENTATION
        assert matched.count("\n") == old.replace("\r\n", "\n").count("\n")


@given(edits())
def test_replacing_by_the_same_words_changes_nothing(edit: tuple[str, int, int, str, str]) -> None:
    """Whatever the step, a new text equal to the old one leaves the file's own bytes."""
    text, _, _, old, _ = edit
    found = find(text, old, old, every=False)
    if found is not None and found.step is not Step.EXACT:
        assert all(text[m.start : m.end] == m.new for m in found.matches)


@given(edits())
def test_what_the_model_copied_is_found(edit: tuple[str, int, int, str, str]) -> None:
    text, first, last, old, _ = edit
    if old.strip() and "".join(lines_of(text)[first:last]).strip():
        assert find(text, old, old, every=False) is not None


def test_a_blank_line_with_blanks_at_the_end_of_what_was_copied() -> None:
    """The file's last line is empty, the copy's holds blanks: one line end, not two, is outside the match."""
    old = "  alpha\n  beta\n  "
    found = find("alpha\nbeta\n\n", old, old, every=False)
    assert found is not None
    assert [(m.start, m.end) for m in found.matches] == [(0, 11)]


@given(TEXTS, st.integers(0, 30), st.sampled_from(["new", "n\nm", "n\r\nm", ""]))
def test_a_unique_exact_line_keeps_every_other_line(text: str, at: int, new: str) -> None:
    lines = lines_of(text)
    marker = "unique marker"
    at = min(at, len(lines))
    end = "\r\n" if text.count("\r\n") > text.count("\n") / 2 else "\n"
    whole = "".join([*lines[:at], marker + end, *lines[at:]])
    result = applied(whole, marker, new)
    assert result is not None
    changed = lines_of(result[0])
    count = len(lines_of(new.replace("\r\n", "\n") + "\n"))
    assert changed[:at] == lines[:at]
    assert changed[at + count :] == lines[at:]
    assert all(line.endswith(end) and line.count("\r") == end.count("\r") for line in changed[at : at + count])
