"""`pool themes`: the themes there are, shown in their colours."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pool.config.files import Places
from pool.headless.columns import width
from pool.headless.plain import safe
from pool.tui.background import shows_many_colours
from pool_themes import ROLES, Colours, Theme, ThemeError, load, names, own_names, source

EXIT_USAGE = 2

THEMES_FOLDER = "themes"
"""Where the user's own themes lie, below the folder of his configuration."""

SWATCHES = ("accent", "user", "reasoning", "tool", "success", "warning", "error")
"""Roles whose colours stand for a theme in the list."""

PREVIEW_COLUMNS = 62

ANSI_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


def own_themes() -> Path:
    """The folder of the user's own themes."""
    return Places.usual(os.environ).user / THEMES_FOLDER


def parser() -> argparse.ArgumentParser:
    """The flags of `pool themes`."""
    p = argparse.ArgumentParser(
        prog="pool themes",
        description="The themes there are; with a name, how that one looks.",
        epilog=f"Keep one: pool config set ui.theme NAME. Your own lie in {own_themes()}; see docs/interface.md.",
    )
    p.add_argument("name", nargs="*", metavar="NAME", help="show these")
    p.add_argument("--toml", action="store_true", help="print the file, as a beginning for one of your own")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool themes`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    own = own_themes()
    try:
        if args.toml:
            for name in args.name or ["pool-dark"]:
                sys.stdout.write(_file(name, own))
        elif args.name:
            for name in args.name:
                theme = load(name, own)
                sys.stdout.write(preview(theme, coloured=_coloured() and _can_show(theme)))
        else:
            _list(own)
    except ThemeError as error:
        sys.stderr.write(safe(f"pool themes: {error}", terminal=True) + "\n")
        return EXIT_USAGE
    return 0


def _coloured() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def _can_show(theme: Theme) -> bool:
    return theme.ansi or shows_many_colours(os.environ)


def _file(name: str, own: Path) -> str:
    load(name, own)
    if name in own_names(own):
        return (own / f"{name}.toml").read_text(encoding="utf-8")
    return source(name)


def _list(own: Path) -> None:
    mine = own_names(own)
    coloured = _coloured()
    for name in names(own):
        try:
            theme = load(name, own)
        except ThemeError as error:
            sys.stdout.write(safe(f"{name:<16} has a fault: {error}", terminal=True) + "\n")
            continue
        shade = "dark " if theme.dark else "light"
        about = f"{safe(theme.title, terminal=True)}{', your own' if name in mine else ''}"
        shown = f"  {_swatches(theme)}" if coloured and _can_show(theme) else ""
        sys.stdout.write(f"{name:<16} {shade}{shown}  {about}\n")
    if coloured:
        sys.stdout.write(
            "\npool themes NAME shows one; pool config set ui.theme NAME keeps it; auto follows the terminal\n"
        )


def _swatches(theme: Theme) -> str:
    c = theme.colours
    painted = "".join(_paint(" ■", getattr(c, role), c.background) for role in SWATCHES)
    return painted + _paint(" ", c.text, c.background)


def preview(theme: Theme, *, coloured: bool) -> str:
    """Lines that show a theme at work; without colours only its name and roles."""
    c = theme.colours
    head = f"{theme.name}: {safe(theme.title, terminal=True)}\n"
    if not coloured:
        return head + "".join(f"  {role:<20} {getattr(c, role)}\n" for role in ROLES)
    rows: list[list[tuple[str, str, str]]] = [
        [("▌ ", c.user, c.surface), ("Why does the test fail?", c.text, c.surface)],
        [("▸ Thought for 12 s · 240 tokens", c.reasoning, c.background)],
        [("● ", c.success, c.background), ("edit ", c.tool, c.background), ("src/app.py", c.text, c.background)],
        [("12 - ", c.removed, c.removed_background), ("    return total", c.removed, c.removed_background)],
        [("12 + ", c.added, c.added_background), ("    return total + tax", c.added, c.added_background)],
        [("The tax was left out. ", c.assistant, c.background), ("total + tax", c.accent, c.panel)],
        [
            ("! ", c.warning, c.background),
            ("a warning", c.warning, c.background),
            ("  ✗ an error", c.error, c.background),
        ],
        [("selected text", c.text, c.selection), ("  quieter words", c.muted, c.background)],
        [
            ("plan ", c.mode_plan, c.surface),
            ("ask ", c.mode_ask, c.surface),
            ("auto ", c.mode_auto, c.surface),
            ("allow-all", c.mode_unsandboxed, c.surface),
        ],
    ]
    return head + "".join(_row(row, c) for row in rows) + "\n"


def _row(parts: list[tuple[str, str, str]], colours: Colours) -> str:
    used = sum(width(text) for text, _, _ in parts)
    behind = parts[-1][2] if len({p[2] for p in parts}) == 1 else colours.background
    fill = _paint(" " * (PREVIEW_COLUMNS - used), colours.text, behind)
    return _paint(" ", colours.text, colours.background) + "".join(_paint(*p) for p in parts) + fill + "\n"


def _paint(text: str, colour: str, behind: str) -> str:
    return f"\x1b[{_sgr(colour, 30)};{_sgr(behind, 40)}m{text}\x1b[0m"


def _sgr(colour: str, base: int) -> str:
    """The codes for a colour: base is 30 for text, 40 for what is behind it."""
    if colour.startswith("ansi_"):
        name = colour.removeprefix("ansi_")
        bright = name.startswith("bright_")
        return str(base + ANSI_NAMES.index(name.removeprefix("bright_")) + (60 if bright else 0))
    red, green, blue = (int(colour[n : n + 2], 16) for n in (1, 3, 5))
    if os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return f"{base + 8};2;{red};{green};{blue}"
    return f"{base + 8};5;{nearest(red, green, blue)}"


def nearest(red: int, green: int, blue: int) -> int:
    """The place of the colour that comes nearest in the cube and the greys of 256-colour terminals."""
    levels = (0, 95, 135, 175, 215, 255)
    near = [min(range(6), key=lambda n, c=c: abs(levels[n] - c)) for c in (red, green, blue)]
    cube = 16 + 36 * near[0] + 6 * near[1] + near[2]
    grey = min(23, max(0, ((red + green + blue) // 3 - 3) // 10))
    level = 8 + 10 * grey
    cube_off = sum((levels[n] - c) ** 2 for n, c in zip(near, (red, green, blue), strict=True))
    grey_off = sum((level - c) ** 2 for c in (red, green, blue))
    return 232 + grey if grey_off < cube_off else cube
