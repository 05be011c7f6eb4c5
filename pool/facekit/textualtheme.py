"""Pool's themes as Textual's: every colour role becomes a CSS variable of its name. For interface and dashboard."""

from __future__ import annotations

from textual.theme import Theme as TextualTheme

from pool_themes import ROLES, Colours, Theme

PREFIX = "pool-"
"""What Textual calls a theme of ours, so that it never hides one of its own."""


def variables(colours: Colours) -> dict[str, str]:
    """CSS variables for the roles: `added_background` is `$added-background`."""
    return {name.replace("_", "-"): colour for name, colour in zip(ROLES, colours, strict=True)}


def textual_theme(theme: Theme, name: str = "") -> TextualTheme:
    """The theme in Textual's form, under another name if one is given."""
    c = theme.colours
    return TextualTheme(
        name=name or PREFIX + theme.name,
        # The terminal's own sixteen colours are sent as such, not as what Textual takes them to be.
        ansi=theme.ansi,
        primary=c.accent,
        secondary=c.tool,
        accent=c.accent,
        warning=c.warning,
        error=c.error,
        success=c.success,
        foreground=c.text,
        background=c.background,
        surface=c.surface,
        panel=c.panel,
        dark=theme.dark,
        variables={
            **variables(c),
            # Textual's own widgets ask for these where the colours are the terminal's.
            "ansi-background": c.background,
            "ansi-foreground": c.text,
            "border-blurred": c.border,
            "text-disabled": c.muted,
            "input-cursor-background": c.text,
            "input-cursor-foreground": c.background,
            "input-selection-background": c.selection,
            "scrollbar": c.border,
            "scrollbar-hover": c.muted,
            "scrollbar-active": c.accent,
            "scrollbar-background": c.background,
            "scrollbar-background-hover": c.background,
            "scrollbar-background-active": c.background,
            "scrollbar-corner-color": c.background,
        },
    )
