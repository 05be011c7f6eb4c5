"""Colours of code: what does not follow the code style, and that no text is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.tui.transcript.highlight import coloured
from tests.tui.transcript.kit import LOOK


@pytest.mark.parametrize("code_style", ["", "github-dark", "bw"])
def test_changes_in_code_look_as_they_do_elsewhere_to_the_last_line(code_style: str) -> None:
    removed, added = coloured("-old\n+new", "diff", replace(LOOK, code_style=code_style))
    assert removed == [("-old", LOOK.removed)]
    assert added == [("+new", LOOK.added)]


def test_what_a_lexer_does_not_understand_is_no_mistake() -> None:
    (line,) = coloured("x = ?", "python", replace(LOOK, code_style="github-dark"))
    assert line[-1] == ("?", LOOK.block)


@given(
    st.text(alphabet=st.sampled_from("a+-\"'#\n\t {}\\`日"), max_size=60), st.sampled_from(["python", "diff", "json"])
)
def test_all_of_a_code_is_there_line_by_line(code: str, language: str) -> None:
    assert ["".join(text for text, _ in line) for line in coloured(code, language, LOOK)] == code.split("\n")
