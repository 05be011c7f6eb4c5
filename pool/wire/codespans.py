"""Where a Markdown text is code: fenced blocks and inline code, in which tags and call markup are only text.

Follows CommonMark 0.31 (fenced code blocks, code spans) as far as it decides whether a tag is code. Fences may be
indented and may stand in quotes and lists, as models write them; indented code blocks do not count as code, because
replies that indent a tool call are not quoting it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
_FENCE_OPEN = re.compile(r"(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)]))*[ \t]*(?P<mark>`{3,}|~{3,})(?P<info>.*)")
_FENCE_CLOSE = re.compile(r"[ \t>]*(?P<mark>`{3,}|~{3,})[ \t\r]*")
_BLOCK_BOUNDARY = re.compile(
    r"\n[ \t\r]*(?=\n)"  # blank line
    r"|\n(?= {0,3}(?:\#{1,6}[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]))"  # heading, list item
)
_BACKTICKS = re.compile(r"`+")


def code_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each piece of code, in order, without overlap, its backticks or fence lines included.

    A fence that is never closed reaches to the end of the text; an unmatched backtick run begins nothing.
    """
    fences = fenced_spans(text)
    spans = list(fences)
    edges = [0, *(edge for span in fences for edge in span), len(text)]
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        for block_start, block_end in _blocks(text, start, end):
            spans.extend(_inline_spans(text, block_start, block_end))
    return sorted(spans)


def fenced_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each fenced code block, from the start of its opening line to the end of its closing one."""
    spans: list[tuple[int, int]] = []
    fence, fence_start = "", 0
    for line in _LINE.finditer(text):
        body = line[0].rstrip("\n")
        if fence:
            closing = _FENCE_CLOSE.fullmatch(body)
            if closing and closing["mark"].startswith(fence):
                spans.append((fence_start, line.start() + len(body)))
                fence = ""
            continue
        opening = _FENCE_OPEN.fullmatch(body)
        # CommonMark: the info string of a backtick fence holds no backtick, else the line is inline code.
        if opening and not (opening["mark"][0] == "`" and "`" in opening["info"]):
            fence, fence_start = opening["mark"], line.start()
    if fence:
        spans.append((fence_start, len(text)))
    return spans


def covering(spans: list[tuple[int, int]], position: int) -> tuple[int, int] | None:
    """The span of a sorted list that holds the character at position, if any."""
    at = bisect_right(spans, position, key=lambda span: span[0]) - 1
    return spans[at] if at >= 0 and position < spans[at][1] else None


def _blocks(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Paragraphs and the like: inline code never reaches from one into the next."""
    cuts = [start, *(found.start() for found in _BLOCK_BOUNDARY.finditer(text, start, end)), end]
    yield from pairwise(cuts)


def _inline_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A run of backticks is closed by the next run of the same length; a backslash takes one from an opening run."""
    runs = [run.span() for run in _BACKTICKS.finditer(text, start, end)]
    closers: dict[int, list[int]] = {}
    for run_start, run_end in runs:
        closers.setdefault(run_end - run_start, []).append(run_start)
    done = start
    for run_start, run_end in runs:
        if run_start < done:
            continue
        opening = run_start + _backslashes(text, start, run_start) % 2
        width = run_end - opening
        candidates = closers.get(width, [])
        at = bisect_right(candidates, run_start)
        if width and at < len(candidates):
            done = candidates[at] + width
            yield opening, done


def _backslashes(text: str, start: int, end: int) -> int:
    """How many backslashes stand right before end."""
    at = end
    while at > start and text[at - 1] == "\\":
        at -= 1
    return end - at
