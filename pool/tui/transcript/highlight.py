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

MOST_CHARS = 30_000
"""Longer code (some 900 lines) is shown without colours: working them out would keep a key waiting for over 60 ms."""

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
    # Asked once for each kind: the palette is long, and its hash would be a quarter of the time.
    styles: dict[Kind, Style] = {}
    # With an end of its last line, which many rules of lexers ask for.
    for kind, text in lexer.get_tokens(f"{code}\n"):
        style = styles.get(kind)
        if style is None:
            style = styles[kind] = _style(palette, kind)
        first, *more = text.split("\n")
        if first and first.isspace():
            style = palette.block
        if first:
            out[-1].append((first, style))
        for part in more:
            out.append([(part, style)] if part else [])
    out.pop()
    return out if len(out) == len(lines) else [[(text, palette.block)] if text else [] for text in lines]


def get_ready() -> None:
    """Import what the first code needs, and make the lexer of the language that is written most."""
    import pygments.styles  # noqa: F401  # pyright: ignore[reportUnusedImport]  # for `_style`

    _lexer("python")


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
    if (own := _of_the_theme(palette, kind)) is not None:
        return own
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


def _of_the_theme(palette: Palette, kind: Kind) -> Style | None:
    """The style of what does not follow a code style: changes look as they do elsewhere, and a part that the lexer does
    not understand is no mistake (it may not be whole yet)."""
    match kind:
        case ("Generic", "Inserted", *_):
            return palette.added
        case ("Generic", "Deleted", *_):
            return palette.removed
        case ("Error", *_):
            return palette.block
        case _:
            return None


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
