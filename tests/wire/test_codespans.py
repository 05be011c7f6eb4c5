"""Which parts of a Markdown text are code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.wire.codespans import code_spans, covering, fenced_spans


def code(text: str) -> list[str]:
    return [text[start:end] for start, end in code_spans(text)]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("plain", []),
        ("a `b` c", ["`b`"]),
        ("a ``b ` c`` d", ["``b ` c``"]),
        ("`a` `b`", ["`a`", "`b`"]),
        ("a ` b", []),
        ("a `` b ` c", []),
        ("a `b``c` d", ["`b``c`"]),
        ("\\`a` b", []),
        ("\\\\`a` b", ["`a`"]),
        ("\\``a` b", ["`a`"]),
        ("`a\\` b", ["`a\\`"]),
        ("`over\na line`", ["`over\na line`"]),
        ("`never over\n\na paragraph`", []),
        ("`never over\n  \t\na paragraph`", []),
        ("- `a\n- b`", []),
        ("`a\n# b`", []),
        ("`a\n2. b`", []),
        ("`a\n-b`", ["`a\n-b`"]),
    ],
)
def test_inline(text: str, spans: list[str]) -> None:
    assert code(text) == spans


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("x\n```\na\n```\ny", ["```\na\n```"]),
        ("x\n```py\na\n```   \ny", ["```py\na\n```   "]),
        ("x\r\n```\r\na\r\n```\r\ny", ["```\r\na\r\n```\r"]),
        ("~~~\n```\n~~~\n`b`", ["~~~\n```\n~~~", "`b`"]),
        ("````\n```\n````", ["````\n```\n````"]),
        ("```\na\n`````\nb", ["```\na\n`````"]),
        ("````\na\n```\nb", ["````\na\n```\nb"]),
        ("```\nnever closed `x`\n", ["```\nnever closed `x`\n"]),
        ("``` a`b ```", ["``` a`b ```"]),
        ("```not closed by ``` this\n```\n", ["```not closed by ```", "```\n"]),
        ("1. step\n    ```\n    a\n    ```\nb", ["    ```\n    a\n    ```"]),
        ("- ```\n  a\n  ```", ["- ```\n  a\n  ```"]),
        ("> ```\n> a\n> ```\nb", ["> ```\n> a\n> ```"]),
        ("```\na\n``` b\nc\n```", ["```\na\n``` b\nc\n```"]),
        ("a ` b\n```\nc\n```\nd ` e", ["```\nc\n```"]),
    ],
)
def test_fences(text: str, spans: list[str]) -> None:
    assert code(text) == spans


def test_covering() -> None:
    spans = [(2, 4), (6, 9)]
    found = [covering(spans, at) for at in range(10)]
    assert found == [None, None, (2, 4), (2, 4), None, None, (6, 9), (6, 9), (6, 9), None]
    assert covering([], 0) is None


def test_many_backtick_runs() -> None:
    runs = ["`" * width + "x" for width in range(1, 301)]
    assert code_spans("".join(runs)) == []
    assert code_spans("".join(runs * 2)) == [(0, sum(map(len, runs)) + 1)]


markdown = st.text(alphabet="`~\\ \nab>-1.#", max_size=60)


@given(markdown)
def test_spans_are_in_order_within_the_text_and_do_not_overlap(text: str) -> None:
    spans = code_spans(text)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert set(fenced_spans(text)) <= set(spans)


@given(markdown, markdown)
def test_a_new_paragraph_changes_nothing_before_it(text: str, more: str) -> None:
    longer = text + "\n\n" + more
    last = fenced_spans(text)[-1:]
    if last and last[0][1] == len(text):
        # An open fence takes the new paragraph in.
        assert code_spans(longer)[: len(code_spans(text)) - 1] == code_spans(text)[:-1]
    else:
        assert code_spans(longer)[: len(code_spans(text))] == code_spans(text)


@given(markdown)
def test_text_without_backticks_and_tildes_has_no_code(text: str) -> None:
    assert code_spans(text.replace("`", "").replace("~", "")) == []
