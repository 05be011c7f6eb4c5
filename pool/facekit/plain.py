"""A line of text made safe to draw."""

from __future__ import annotations


def plain(text: str) -> str:
    """One line of text as data: control characters shown as a box."""
    return "".join(c if c.isprintable() or c == " " else "▯" for c in text)
