"""Markdown that is read while it is written."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pool.facekit.clean import clean
from pool.tui.transcript.answer import Answer
from pool.tui.transcript.mdparse import parser
from tests.tui.transcript.kit import at, drawn, exact

PIECES = [
    "# Head\n", "## ", "text ", "word\n", "\n", "\n\n", "- item\n", "- ", "* ", "+ x\n", "1. one\n", "2) two\n", "> ",
    ">quote\n", "```\n", "```py\nx = 1\n", "~~~\n", "    code\n", "  ", "\t", "**bold**", "*em", "`code`", "`", "[foo]",
    "[foo]: /url 'title'\n", "[foo]: /other\n", '"title\n', 'more"\n', "[foo][bar] ", "[bar]: <http://x>\n",
    "| a | b |\n", "|---|:-:|\n", "| 1 |\n", "|", "---\n", "===\n", "***\n", "<!-- \n", "-->\n", "<div>\n", "</div>\n",
    "#tag\n", "\\\n", "  \n", "\r", "\r\n", "&amp;", "![i](/p.png)", "日本語", "👩‍💻", "\x1b[31m", "[red]x[/]",
    "1", "1.", "-",
]  # fmt: skip

DOCUMENTS = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)

WHOLE = """# Title *x*

Some *text* with `code` and **bold** [foo] words in [a](http://x/b).
日本語のテキストはここで折り返される必要があります👩‍💻。

- a
  - nested **b**
    1. deep
- c

  loose

> quote
> - in list

| a | b |
|---|--:|
| some long cell text here | 12 |
| `x` | 日本語 |

```python
def f(x):
    return "x"  # hi
```

para
#notheading
***
***bold*** text

[foo]: /url "title"

3. x
4. y
"""


def streamed(text: str, sizes: list[int], width: int) -> Answer:
    """An answer that got text in pieces of so many characters, laid out after each."""
    block = Answer()
    place = turn = 0
    while place < len(text):
        size = sizes[turn % len(sizes)]
        block.append(text[place : place + size])
        if turn % 3 != 2:
            block.layout(at(width))
        place += size
        turn += 1
    block.finish()
    return block


@given(DOCUMENTS, st.lists(st.integers(1, 9), min_size=1, max_size=6), st.sampled_from([8, 20, 70]))
@example("para\n#tag\n", [1], 20)
@example("[foo] a\n\nb\n\n[foo]: /url\n'title\nmore'\n", [3], 70)
@example("a\r\n\r\n- b\r", [1], 20)
@example(WHOLE, [1], 40)
def test_any_split_of_a_text_ends_in_the_same_rows(text: str, sizes: list[int], width: int) -> None:
    at_once = Answer(text, done=True).layout(at(width))
    assert exact(streamed(text, sizes, width).layout(at(width))) == exact(at_once)


@given(DOCUMENTS)
def test_rows_fit_and_no_word_is_lost(text: str) -> None:
    block = Answer(text, done=True)
    rows = block.layout(at(30))
    assert all(sum(s.cell_length for s in row.segments) <= 30 for row in rows)
    everything = "".join(row.text for row in rows).replace("▎", "").replace(" ", "")
    tokens = parser().parse(clean(text))
    for child in (child for t in tokens if "|" not in text for child in t.children or [] if child.type == "text"):
        assert all(word in everything for word in child.content.split())


def test_a_whole_document() -> None:
    assert drawn(Answer(WHOLE, done=True), 40) == [
        "Title x",
        "",
        "Some text with code and bold foo (/url)",
        "words in a (http://x/b). 日本語のテキス",
        "トはここで折り返される必要があります👩‍💻。",
        "",
        "• a",
        "",
        "  ◦ nested b",
        "    1. deep",
        "",
        "• c",
        "",
        "  loose",
        "",
        "▎ quote",
        "▎",
        "▎ • in list",
        "",
        "a                        │      b",
        "─────────────────────────┼───────",
        "some long cell text here │     12",
        "x                        │ 日本語",
        "",
        " python  copy",
        " def f(x):",
        '     return "x"  # hi',
        "",
        "para #notheading",
        "",
        "─" * 40,
        "",
        "bold text",
        "",
        "3. x",
        "4. y",
    ]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("**bo", ["**bo"]),
        ("a\n\n- ", ["a", "", "•"]),
        ("```py\nx", [" py  copy", " x"]),
        ("a\n#", ["a"]),
        ("| a | b |\n|---|", ["| a | b | |---|"]),
        ("[link](http://x", ["[link](http://x"]),
    ],
)
def test_unfinished_markdown_is_shown_as_commonmark_has_it(text: str, rows: list[str]) -> None:
    block = Answer()
    block.append(text)
    assert [row for row in drawn(block) if row] == [row for row in rows if row]


def test_a_definition_at_the_end_counts_above() -> None:
    block = Answer()
    block.append("See [foo].\n\nMore.\n\n")
    assert drawn(block)[0] == "See [foo]."
    block.append("[foo]: /url\n")
    assert drawn(block)[0] == "See foo (/url)."


def test_long_code_folds_and_opens_and_is_copied_whole() -> None:
    code = "\n".join(f"line {n}" for n in range(60))
    block = Answer(f"Before\n\n```\n{code}\n```\n\nAfter", done=True)
    assert len(drawn(block)) == 65
    assert block.fold(1, True)
    assert drawn(block)[2:4] == [" ▸ text · 60 lines  copy", " line 0"]
    assert drawn(block)[-3:] == [" … 52 more lines", "", "After"]
    assert block.source(1) == code
    assert block.fold(1, None)
    assert len(drawn(block)) == 65
    assert not block.fold(2, True)


def test_folds_last_when_rows_are_forgotten() -> None:
    block = Answer("```\n" + "x\n" * 50 + "```", done=True)
    block.layout(at())
    block.fold(1, True)
    block.release()
    assert len(drawn(block)) == 10


@pytest.mark.parametrize(
    "text",
    [
        "[/bold] tail", "[step=load, n=3", "[job=17,phase=RUN,x]", "[12] and [ok]", "[red]hi", "[@click=app.quit]x[/]",
    ],
)  # fmt: skip
def test_square_brackets_are_text(text: str) -> None:
    assert drawn(Answer(text, done=True)) == [text]


def test_escapes_are_shown_and_not_sent() -> None:
    row = "".join(drawn(Answer("a\x1b]52;c;aGk=\x07b\u202ec\ud800d\u200be", done=True)))
    assert row == "a\\x1b]52;c;aGk=\\x07b\\u202ec\ufffdde"


def test_a_megabyte_on_one_line_is_cut_in_view() -> None:
    start = time.process_time()
    block = Answer()
    for _ in range(20):
        block.append("word " * 10_000)
        block.layout(at(80))
    block.finish()
    rows = drawn(block, 80)
    assert len(rows) < 150
    assert rows[-1].endswith("more characters)")
    assert len(block.source()) == 1_000_000
    assert time.process_time() - start < 10


def test_markup_that_is_slow_to_parse_is_shown_as_text() -> None:
    start = time.process_time()
    assert len(drawn(Answer("[[[[[[[[\n" * 5_000, done=True), 80)) > 400
    assert time.process_time() - start < 5


def test_code_that_is_being_written_is_coloured_now_and_then() -> None:
    block = Answer()
    block.append("```python\ndef f():\n")
    styles = {s.style for row in block.layout(at()) for s in row.segments}
    for number in range(50):
        block.append(f"    x{number} = 'text'\n")
        block.layout(at())
    block.append("```\n\nend")
    block.finish()
    assert exact(block.layout(at())) == exact(Answer(block.source(), done=True).layout(at()))
    assert len(styles) > 2
