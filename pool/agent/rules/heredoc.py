"""Checking that a here-document ends where the parser thinks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pool.agent.rules.words import Unclear

if TYPE_CHECKING:
    from tree_sitter import Node

_DELIMITER = re.compile(r"'(\w+)'|\"(\w+)\"|(\w+)", re.ASCII)
_EXPANDS = re.compile(rb"[`\\]|\$[({\[]")
"""In a text whose end is not quoted, whatever may run commands or join lines."""


def check_heredoc(source: bytes, node: Node) -> None:
    """Raises `Unclear` unless bash would read the same text, and would run nothing in it."""
    kinds = {child.type: child for child in node.children}
    try:
        start, end = kinds["heredoc_start"], kinds["heredoc_end"]
    except KeyError:
        raise Unclear("the end of a here-document") from None
    found = _DELIMITER.fullmatch(source[start.start_byte : start.end_byte].decode("utf-8", "replace"))
    line_end = source.find(b"\n", start.end_byte)
    if found is None or line_end < 0:
        raise Unclear("the end of a here-document")
    rest_of_line = [c for c in node.children if c.start_byte >= start.end_byte and c.type not in _TEXT]
    if b"<<" in source[start.end_byte : line_end] or any(c.end_byte > line_end for c in rest_of_line):
        raise Unclear("two here-documents in one line")
    if any(c.start_byte < line_end for c in node.children if c.type in _TEXT):
        raise Unclear("the text of a here-document")
    tabs = "<<-" in kinds
    delimiter = next(group for group in found.groups() if group).encode()
    lines = source[line_end + 1 :].split(b"\n")
    at = line_end + 1
    for line in lines:
        if (line.lstrip(b"\t") if tabs else line) == delimiter:
            break
        at += len(line) + 1
    else:
        raise Unclear("the end of a here-document")
    if end.end_byte != at + len(lines[source[line_end + 1 : at].count(b"\n")]):
        raise Unclear("the end of a here-document")
    quoted = found[3] is None
    if not quoted and _EXPANDS.search(source[line_end + 1 : at]):
        raise Unclear("a here-document that may run commands")


_TEXT = frozenset({"heredoc_body", "heredoc_end"})
