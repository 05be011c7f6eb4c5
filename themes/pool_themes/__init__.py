"""Themes of Pool's terminal interface: colour roles as data files. Knows nothing of Pool.

A theme is a TOML file in `data/`, named after the theme. Widgets ask for roles ("added", "reasoning"), never for
colours, so that a new theme is a new file and no code.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

DEFAULT = "pool-dark"

_COLOUR = re.compile(r"#[0-9a-f]{6}")
_ANSI_COLOUR = re.compile(r"ansi_(?:bright_)?(?:black|red|green|yellow|blue|magenta|cyan|white)")
_HEAD_KEYS = {"title", "dark", "code_style", "colours"}
_OPTIONAL_KEYS = {"ansi"}


class ThemeError(ValueError):
    """A theme that does not exist or whose file is wrong. The message names theme, key and remedy."""


@dataclass(frozen=True, slots=True)
class Colours:
    """One colour for each role: `#rrggbb` in lower case, or `ansi_red` and the like in a theme of 16 colours."""

    # Surfaces, from the back to the front, and what stands on them.
    background: str
    surface: str
    panel: str
    border: str
    border_focused: str
    selection: str
    text: str
    muted: str
    accent: str
    # Who speaks.
    user: str
    assistant: str
    reasoning: str
    tool: str
    # How it went.
    success: str
    warning: str
    error: str
    # Diffs: the sign and text of a line, and what lies behind it.
    added: str
    added_background: str
    removed: str
    removed_background: str
    # Approval modes, in the status line.
    mode_plan: str
    mode_ask: str
    mode_auto: str
    mode_unsandboxed: str


@dataclass(frozen=True, slots=True)
class Theme:
    """A theme. title is for people; code_style is the name of a Pygments style for code blocks.

    ansi: its colours are the terminal's own sixteen.
    """

    name: str
    title: str
    dark: bool
    code_style: str
    colours: Colours
    ansi: bool = False


ROLES = tuple(f.name for f in fields(Colours))


def names() -> tuple[str, ...]:
    """The names of all themes that come with Pool, sorted."""
    return tuple(sorted(f.name.removesuffix(".toml") for f in _data().iterdir() if f.name.endswith(".toml")))


def load(name: str) -> Theme:
    """Read the theme called name. Raises `ThemeError` if there is none or its file is wrong."""
    if name not in names():
        raise ThemeError(f"there is no theme {name!r}; there are {', '.join(names())}")
    return parse(name, (_data() / f"{name}.toml").read_text(encoding="utf-8"))


def parse(name: str, text: str) -> Theme:
    """Make a theme from the text of a TOML file with title, dark, code_style and a table of colours.

    Every role must be given and no other. Raises `ThemeError`.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ThemeError(f"theme {name}: not TOML: {error}") from error
    _check_keys(name, "the file", set(data) - _OPTIONAL_KEYS, _HEAD_KEYS)
    ansi = _value(name, {"ansi": False, **data}, "ansi", bool)
    form, how = (_ANSI_COLOUR, "'ansi_bright_blue'") if ansi else (_COLOUR, "'#rrggbb' in lower case")
    colours = _value(name, data, "colours", dict)
    _check_keys(name, "[colours]", set(colours), set(ROLES))
    for role, colour in colours.items():
        if not isinstance(colour, str) or not form.fullmatch(colour):
            raise ThemeError(f"theme {name}: {role} is {colour!r}; write it as {how}")
    return Theme(
        name=name,
        title=_value(name, data, "title", str),
        dark=_value(name, data, "dark", bool),
        code_style=_value(name, data, "code_style", str),
        colours=Colours(**colours),
        ansi=ansi,
    )


def _data() -> Traversable:
    """The folder of theme files, on disk or in an archive."""
    return files(__name__) / "data"


def _check_keys(name: str, where: str, found: set[str], wanted: set[str]) -> None:
    if missing := sorted(wanted - found):
        raise ThemeError(f"theme {name}: {where} lacks {', '.join(missing)}; add it")
    if unknown := sorted(found - wanted):
        raise ThemeError(f"theme {name}: {where} has unknown {', '.join(unknown)}; remove it or mend its spelling")


def _value(name: str, data: dict[str, Any], key: str, kind: type[Any]) -> Any:
    value = data[key]
    if not isinstance(value, kind):
        raise ThemeError(f"theme {name}: {key} is {value!r}; it must be of type {kind.__name__}")
    return value
