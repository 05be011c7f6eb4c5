"""A uniform shift of indentation between what a model wrote and what a file has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

Shift = Callable[[str], "str | None"]
"""Indentation as the model writes it -> as the file has it; None where the shift does not reach."""

BLANKS_PER_TAB = (4, 2, 8, 3)
"""Widths of a tab that are tried where the text does not tell, likeliest first."""

_WIDEST_TAB = 8


def indentation(line: str) -> str:
    """The blanks and tabs at the start of line."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def find_shift(pairs: Sequence[tuple[str, str]], others: Sequence[str]) -> Shift | None:
    """The shift that takes the first of each pair (model's indentation) to the second (file's).

    It is one of: the same prefix added everywhere, the same prefix taken away everywhere, blanks for tabs or tabs for
    blanks at one width and with one offset of levels. others are further indentations of the model's text, which help
    to find the width.
    """
    distinct = sorted(set(pairs))
    return _added(distinct) or _removed(distinct) or _tabs_for_blanks(distinct, others) or _blanks_for_tabs(distinct)


def _added(pairs: list[tuple[str, str]]) -> Shift | None:
    prefixes = {file[: len(file) - len(model)] for model, file in pairs if file.endswith(model)}
    if len(prefixes) != 1 or not all(file.endswith(model) for model, file in pairs):
        return None
    prefix = prefixes.pop()
    return lambda model: prefix + model


def _removed(pairs: list[tuple[str, str]]) -> Shift | None:
    prefixes = {model[: len(model) - len(file)] for model, file in pairs if model.endswith(file)}
    if len(prefixes) != 1 or not all(model.endswith(file) for model, file in pairs):
        return None
    prefix = prefixes.pop()
    return lambda model: model[len(prefix) :] if model.startswith(prefix) else None


def _tabs_for_blanks(pairs: list[tuple[str, str]], others: Sequence[str]) -> Shift | None:
    """The model wrote blanks, the file has tabs."""
    if any(model.strip(" ") or file.strip("\t") for model, file in pairs):
        return None
    levels = [(len(model), len(file)) for model, file in pairs]
    found = _width_and_offset(levels, [len(o) for o in others if not o.strip(" ")])
    if found is None:
        return None
    width, offset = found

    def shift(model: str) -> str | None:
        blanks = sum(width if c == "\t" else 1 for c in model)
        tabs = blanks // width - offset
        return "\t" * tabs + " " * (blanks % width) if tabs >= 0 else None

    return shift


def _blanks_for_tabs(pairs: list[tuple[str, str]]) -> Shift | None:
    """The model wrote tabs, the file has blanks."""
    if any(model.strip("\t") or file.strip(" ") for model, file in pairs):
        return None
    found = _width_and_offset([(len(file), len(model)) for model, file in pairs], [])
    if found is None:
        return None
    width, offset = found

    def shift(model: str) -> str | None:
        tabs = len(model) - len(model.lstrip("\t"))
        blanks = width * (tabs + offset)
        return " " * blanks + model[tabs:] if blanks >= 0 else None

    return shift


def _width_and_offset(levels: Sequence[tuple[int, int]], other_widths: Sequence[int]) -> tuple[int, int] | None:
    """width and offset with blanks = width * (tabs + offset) for each of the levels (blanks, tabs)."""
    blanks, tabs = levels[0]
    steps = {abs(b - blanks) for b, _ in levels} | {abs(w - blanks) for w in other_widths}
    candidates = [blanks // tabs] if tabs and blanks % tabs == 0 else []
    candidates += [gcd(*steps), *BLANKS_PER_TAB]
    for width in candidates:
        if not 1 < width <= _WIDEST_TAB or blanks % width:
            continue
        offset = blanks // width - tabs
        if all(b == width * (t + offset) for b, t in levels):
            return width, offset
    return None
