"""Colours of code, by Pygments."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from rich.style import Style

from pool.tui.transcript.lines import Run
from pool.tui.transcript.palette import Palette

if TYPE_CHECKING:
    # Pygments is imported with the first code: the interface paints without it.
    from pygments.lexer import Lexer

MOST_CHARS = 60_000
"""Longer code is shown without colours: they would take over a tenth of a second."""

LONGEST_LINE = 1_000
"""Code with a longer line is machine-made, and slow to colour."""

Kind = tuple[str, ...]
"""A kind of token: Pygments' are tuples of names."""


def coloured(code: str, language: str, palette: Palette) -> list[list[Run]]:
    """The lines of code, each as runs. Plain where the language is unknown or the code too big."""
    lines = code.split("\n")
    lexer = _lexer(language) if language and len(code) <= MOST_CHARS else None
    if lexer is None or any(len(text) > LONGEST_LINE for text in lines):
        return [[(text, palette.block)] if text else [] for text in lines]
    out: list[list[Run]] = [[]]
    for kind, text in lexer.get_tokens(code):
        style = _style(palette, kind)
        first, *more = text.split("\n")
        if first and first.isspace():
            style = palette.block
        if first:
            out[-1].append((first, style))
        for part in more:
            out.append([(part, style)] if part else [])
    return out if len(out) == len(lines) else [[(text, palette.block)] if text else [] for text in lines]


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]  # the stubs say little
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=4096)
def _style(palette: Palette, kind: Kind) -> Style:
    """palette's style for a kind of token: the code style's colour if it names one, else a role's."""
    base = palette.block
    if not palette.code_style:
        return base + _by_role(palette, kind)
    from pygments.styles import get_style_by_name  # pyright: ignore[reportUnknownVariableType]  # the stubs say little
    from pygments.util import ClassNotFound

    try:
        found = get_style_by_name(palette.code_style).style_for_token(cast(Any, kind))
    except ClassNotFound:
        return base + _by_role(palette, kind)
    colour = f"#{found['color']}" if found["color"] else None
    return base + Style(color=colour, bold=found["bold"] or None, italic=found["italic"] or None)


def _by_role(palette: Palette, kind: Kind) -> Style:
    from pygments.token import Token

    for group, style in (
        (Token.Comment, palette.muted),
        (Token.Keyword, palette.accent),
        (Token.Literal.String, palette.success),
        (Token.Literal.Number, palette.warning),
        (Token.Name.Function, palette.tool),
        (Token.Name.Class, palette.tool),
    ):
        if kind in cast(Any, group):
            return style
    return Style.null()
