"""Styles by role. The widget fills them from its component classes, so that every theme sets them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

from rich.style import Style

from pool_tools.frozen import frozen


@frozen
class Palette:
    """One style for each role. Those of text stand on the widget's own background unless they bring one."""

    text: Style
    muted: Style
    accent: Style
    user: Style
    user_bar: Style
    reasoning: Style
    tool: Style
    success: Style
    warning: Style
    error: Style
    heading: Style
    heading_low: Style
    strong: Style
    emphasis: Style
    strike: Style
    code: Style
    link: Style
    quote: Style
    block: Style
    block_head: Style
    border: Style
    added: Style
    removed: Style
    added_word: Style
    removed_word: Style
    focus: Style
    selection: Style
    match: Style
    match_current: Style
    code_style: str = ""
    """A Pygments style for the colours of code, "" for shades of the theme's own."""


ROLES = tuple(f.name for f in fields(Palette) if f.name != "code_style")

PREFIX = "transcript--"

CLASSES = frozenset(PREFIX + role.replace("_", "-") for role in ROLES)
"""Names of the component classes, one for each role."""

CSS = """
TranscriptView {
    background: $background; color: $text; overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1;
}
TranscriptView > .transcript--text { color: $text; }
TranscriptView > .transcript--muted { color: $muted; }
TranscriptView > .transcript--accent { color: $accent; }
TranscriptView > .transcript--user { color: $text; background: $surface; }
TranscriptView > .transcript--user-bar { color: $user; background: $surface; text-style: bold; }
TranscriptView > .transcript--reasoning { color: $reasoning; text-style: italic; }
TranscriptView > .transcript--tool { color: $tool; text-style: bold; }
TranscriptView > .transcript--success { color: $success; }
TranscriptView > .transcript--warning { color: $warning; }
TranscriptView > .transcript--error { color: $error; }
TranscriptView > .transcript--heading { color: $accent; text-style: bold; }
TranscriptView > .transcript--heading-low { color: $text; text-style: bold; }
TranscriptView > .transcript--strong { text-style: bold; }
TranscriptView > .transcript--emphasis { text-style: italic; }
TranscriptView > .transcript--strike { text-style: strike; }
TranscriptView > .transcript--code { color: $accent; background: $panel; }
TranscriptView > .transcript--link { color: $tool; text-style: underline; }
TranscriptView > .transcript--quote { color: $muted; }
TranscriptView > .transcript--block { color: $text; background: $surface; }
TranscriptView > .transcript--block-head { color: $muted; background: $surface; }
TranscriptView > .transcript--border { color: $border; }
TranscriptView > .transcript--added { color: $added; background: $added-background; }
TranscriptView > .transcript--removed { color: $removed; background: $removed-background; }
TranscriptView > .transcript--added-word {
    color: $added; background: $added-background; text-style: bold underline;
}
TranscriptView > .transcript--removed-word {
    color: $removed; background: $removed-background; text-style: bold underline;
}
TranscriptView > .transcript--focus { color: $border-focused; text-style: bold; }
TranscriptView > .transcript--selection { background: $selection; }
TranscriptView > .transcript--match { text-style: reverse; }
TranscriptView > .transcript--match-current { color: $background; background: $warning; text-style: bold; }
"""
"""The styles in terms of the roles of `pool_themes`."""


def palette(style_of: Callable[[str], Style], code_style: str) -> Palette:
    """A palette; style_of gives the style of a component class by its name."""
    return Palette(**{role: style_of(PREFIX + role.replace("_", "-")) for role in ROLES}, code_style=code_style)
