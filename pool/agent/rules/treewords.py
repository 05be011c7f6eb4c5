"""Reading the words of a syntax tree again from their source."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from pool.agent.rules.words import Unclear, Word, bare, double_quoted_text, joined, single_quoted

if TYPE_CHECKING:
    from tree_sitter import Node

NOT_UNDERSTOOD = "its syntax is not understood"

_SIMPLE_EXPANSION = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!_-])", re.ASCII)
_EXPANSION = re.compile(r"\$\{(?:#?[A-Za-z_]\w*|[0-9]+|[@*#?])(?:(?::-|-|:\+|\+|##?|%%?)[\w./:@%+,*-]*)?\}", re.ASCII)
_ARITHMETIC = re.compile(r"\$\(\([0-9 +\-*/%()<>=&|^!~?:,]*\)\)")
_BRACES = re.compile(r"\{[0-9]+\.\.[0-9]+(?:\.\.[0-9]+)?\}")
_ANSI_QUOTED = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_BACKTICKS = re.compile(r"`[^`\\#'\"$\n<]*`")


class WordReader:
    """Words of one source. Whoever inherits walks the commands inside them."""

    def __init__(self) -> None:
        self.source = b""

    def substitution(self, node: Node) -> None:
        """Walk the commands of `$(...)`, backticks, `<(...)` or `>(...)`."""
        raise NotImplementedError

    def raw(self, node: Node) -> bytes:
        """The source of a node."""
        return self.source[node.start_byte : node.end_byte]

    def text(self, node: Node) -> str:
        """The source of a node as text."""
        return self.raw(node).decode("utf-8", "replace")

    def word(self, node: Node) -> Word:
        raw = self.text(node)
        match node.type:
            case "word" | "number" | "test_operator" | "variable_name" | "special_variable_name":
                return bare(raw)
            case "raw_string":
                return single_quoted(raw)
            case "string":
                return self._string(node)
            case "concatenation":
                return self._concatenation(node)
            case "simple_expansion" if _SIMPLE_EXPANSION.fullmatch(raw):
                return Word(raw, literal=False, splits=True)
            case "expansion" if _EXPANSION.fullmatch(raw):
                return Word(raw, literal=False, splits=True)
            case "expansion":
                raise Unclear(f"the expansion {raw} can run commands, or is not understood")
            case "arithmetic_expansion" if _ARITHMETIC.fullmatch(raw):
                return Word(raw, literal=False)
            case "arithmetic_expansion":
                raise Unclear("arithmetic, which can run commands")
            case "ansi_c_string" if _ANSI_QUOTED.fullmatch(raw):
                return Word(raw, literal=False)
            case "brace_expression" if _BRACES.fullmatch(raw):
                return Word(raw, literal=False, splits=True)
            case "command_substitution" | "process_substitution":
                self._substituted(node)
                return Word(raw.strip(), literal=False, splits=node.type == "command_substitution")
            case kind:
                raise Unclear(f"{kind.replace('_', ' ')} is not understood")

    def _concatenation(self, node: Node) -> Word:
        parts: list[Word] = []
        if any(a.end_byte != b.start_byte for a, b in pairwise(node.children)):
            raise Unclear(NOT_UNDERSTOOD)
        for i, child in enumerate(node.children):
            is_dollar = child.type == "$" and i + 1 == len(node.children)
            parts.append(Word("$") if is_dollar else self.word(child))
        return joined(parts)

    def _string(self, node: Node) -> Word:
        raw = self.raw(node)
        if len(raw) < 2 or raw[:1] != b'"' or raw[-1:] != b'"':
            raise Unclear("quotes are not understood")
        texts: list[bytes] = []
        at, splits = node.start_byte + 1, False
        for child in node.children:
            if child.type in ('"', "string_content", "$"):
                continue
            # The parser counts blanks in front of an expansion to it.
            piece = self.raw(child)
            start = child.start_byte + len(piece) - len(piece.lstrip(b" \t\n"))
            texts.append(self.source[at:start])
            self._expansion_in_string(child)
            splits = splits or piece.strip() in (b"$@", b"${@}")
            at = child.end_byte
        texts.append(self.source[at : node.end_byte - 1])
        values = [double_quoted_text(t.decode("utf-8", "replace")) for t in texts]
        if len(values) == 1:
            return Word(values[0])
        return Word(raw.decode("utf-8", "replace"), literal=False, splits=splits)

    def _expansion_in_string(self, node: Node) -> None:
        raw = self.text(node).strip(" \t\n")
        match node.type:
            case "simple_expansion" if _SIMPLE_EXPANSION.fullmatch(raw):
                pass
            case "expansion" if _EXPANSION.fullmatch(raw):
                pass
            case "arithmetic_expansion" if _ARITHMETIC.fullmatch(raw):
                pass
            case "command_substitution":
                self._substituted(node)
            case _:
                raise Unclear(f"the expansion {raw} can run commands, or is not understood")

    def _substituted(self, node: Node) -> None:
        raw = self.text(node).strip(" \t\n")
        if raw.startswith("$(("):
            raise Unclear("arithmetic, which can run commands")
        if raw.startswith("`") and not _BACKTICKS.fullmatch(raw):
            raise Unclear("text between backticks")
        self.substitution(node)
