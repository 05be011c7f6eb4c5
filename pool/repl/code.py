"""Code with colours, by Pygments."""

from __future__ import annotations

from typing import Any, cast

from pool.repl.ink import Ink, Role

MOST_CHARS = 60_000
"""Longer code is shown without colours: they would take over a tenth of a second."""

LONGEST_LINE = 1_000
"""Code with a longer line is machine-made, and slow to colour."""


def coloured(lines: list[str], language: str, ink: Ink) -> list[str]:
    """Clean lines of code, coloured. As they are where the language is unknown or the code too big."""
    if not (ink.colours and language) or any(len(line) > LONGEST_LINE for line in lines):
        return lines
    code = "\n".join(lines)
    if len(code) > MOST_CHARS:
        return lines
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]  # the stubs say so little
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return lines
    out = [""]
    for kind, text in lexer.get_tokens(code):
        role = _role(kind)
        first, *more = text.split("\n")
        out[-1] += _painted(first, role, ink)
        out += [_painted(part, role, ink) for part in more]
    return out if len(out) == len(lines) else lines


def _painted(text: str, role: Role | None, ink: Ink) -> str:
    return text if role is None or text.isspace() else ink.paint(text, role)


def _role(kind: Any) -> Role | None:
    from pygments.token import Token

    for group, role in (
        (Token.Comment, Role.MUTED),
        (Token.Keyword, Role.KEYWORD),
        (Token.Literal.String, Role.STRING),
        (Token.Literal.Number, Role.NUMBER),
        (Token.Name.Function, Role.NAME),
        (Token.Name.Class, Role.NAME),
        (Token.Generic.Inserted, Role.ADDED),
        (Token.Generic.Deleted, Role.REMOVED),
    ):
        if kind in cast(Any, group):
            return role
    return None
