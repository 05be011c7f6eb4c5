"""Text behind rows: selecting, searching, paths."""

from __future__ import annotations

import pytest

from pool.tui.transcript.answer import Answer
from pool.tui.transcript.block import Block
from pool.tui.transcript.card import CallFacts, CallState, ToolCard
from pool.tui.transcript.finder import Finder, Match
from pool.tui.transcript.prompt import Prompt
from pool.tui.transcript.reasoning import Reasoning
from pool.tui.transcript.selection import Point, Selection, selected_text
from pool.tui.transcript.store import Store
from pool.tui.transcript.textat import Place, column_at, logical, place_at, word_at
from pool.tui.transcript.wrap import wrap
from pool_tools.diff import unified
from tests.tui.transcript.kit import LOOK, at


def store(*blocks: Block, width: int = 30) -> Store:
    out = Store()
    out.set_layout(at(width))
    for block in blocks:
        out.rows(out.add(block, open_=False))
    return out


def everything(of: Store) -> str:
    last = of.entries[-1]
    rows = of.rows(last)
    return selected_text(of, Selection(Point(0, 0, 0), Point(last.index, len(rows) - 1, len(rows[-1].drawn))))


COMMAND = "pytest -q tests/test_cart.py --maxfail=1 --durations=5 && ruff check src tests && echo done"


def test_a_command_wrapped_over_rows_is_copied_as_one_line() -> None:
    """Case TUI-07."""
    assert everything(store(Answer(f"Run `{COMMAND}`.", done=True))) == f"Run {COMMAND}."
    assert everything(store(Prompt(COMMAND))) == COMMAND
    assert everything(store(Answer(f"```sh\n{COMMAND}\n```", done=True))) == COMMAND


def test_a_list_keeps_its_marks_and_code_its_indentation() -> None:
    text = "- one two three four five six seven eight\n- b\n  1. c\n\n```py\ndef f():\n    return 1\n```"
    assert everything(store(Answer(text, done=True))) == text.replace("```py\n", "").replace("\n```", "").replace(
        "\n  1. c", "\n  1. c"
    )


def test_a_table_is_copied_as_markdown() -> None:
    text = "| a | b |\n| --- | ---: |\n| some long text that wraps | 12 |"
    assert everything(store(Answer(text, done=True))) == text


def test_a_diff_is_copied_as_a_diff() -> None:
    diff = unified("a\nb\n", "a\nc " + "long " * 9 + "\n", "x")
    facts = CallFacts("edit", CallState.OK, "Edit x", "diff", diff)
    body = "\n".join(diff.split("\n")[3:])
    assert everything(store(ToolCard(facts))) == f"Edit x\n{body}"
    assert everything(store(ToolCard(facts), width=130)) == f"Edit x\n{body}"


def test_a_part_of_one_row_and_over_blocks() -> None:
    of = store(Prompt("first prompt"), Answer("second *answer* here", done=True))
    assert selected_text(of, Selection(Point(0, 0, 6), Point(0, 0, 9))) == "pro"
    assert selected_text(of, Selection(Point(1, 0, 6), Point(0, 0, 6))) == "prompt\n\nsecond"


def test_blocks_in_between_that_were_never_shown_give_their_source() -> None:
    of = Store()
    of.set_layout(at(30))
    for block in (Prompt("first"), Answer("*middle*", done=True), Prompt("last")):
        of.add(block, open_=False)
    assert selected_text(of, Selection(Point(0, 0, 0), Point(2, 0, 4))) == "first\n\n*middle*\n\nlast"


def test_search_goes_from_match_to_match_and_round() -> None:
    of = store(Prompt("find me"), Answer("not here\n\nbut **fi**nd here", done=True), Reasoning("Find", done=True))
    finder = Finder(of, "find")
    assert finder.go(-1, 2) == Match(2, 1, 0)
    assert not of.entries[2].block.is_folded
    assert finder.go(-1, 2) == Match(1, 2, 4)
    assert finder.go(-1, 2) == Match(0, 0, 0)
    assert finder.go(-1, 2) == Match(2, 1, 0)
    assert finder.go(1, 2) == Match(0, 0, 0)
    assert Finder(of, "absent").go(1, 0) is None
    assert Finder(of, ".*").go(1, 0) is None


def test_a_match_over_a_wrapped_line_is_marked_on_both_rows() -> None:
    of = store(Answer("some words before a needle in the hay", done=True), width=26)
    finder = Finder(of, "needle in the")
    finder.go(1, 0)
    rows = of.rows(of.entries[0])
    assert [[rows[n].drawn[a:b] for a, b, _ in finder.spans(0, rows, n)] for n in range(2)] == [["needle"], ["in the"]]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("see src/app.py:12:3 there", Place("src/app.py", 12, 3)),
        ("(src/app.py)", Place("src/app.py")),
        ('File "/usr/lib/x.py", line 3', Place("/usr/lib/x.py")),
        ("README.md.", Place("README.md")),
        ("at ./a_b/c-d", Place("./a_b/c-d")),
        ("go to https://x.org/a?b=1 now", Place("https://x.org/a", is_url=True)),
        ("plain words here", None),
        ("and / or", None),
        ("1.5 seconds", None),
        ("~/notes.txt:7", Place("~/notes.txt", 7)),
    ],
)
def test_paths_in_text(text: str, place: Place | None) -> None:
    spot = next((i for i, c in enumerate(text) if c in "./"), 2)
    assert place_at(text, spot) == place


def test_the_character_under_a_cell() -> None:
    row = wrap([("a日本b👩‍💻c", LOOK.text)], 20)[0]
    assert [column_at(row, cell) for cell in range(10)] == [0, 1, 1, 2, 2, 3, 4, 4, 7, 8]


def test_words_and_lines() -> None:
    assert word_at("see src/app.py now", 6) == (4, 14)
    rows = wrap([("one two three", LOOK.text)], 8)
    assert [logical(rows, n).text for n in range(len(rows))] == ["one two three"] * 2
