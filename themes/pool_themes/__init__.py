"""Themes of Pool's terminal interface: colour roles as data files. Knows nothing of Pool.

A theme is a TOML file in `data/`, named after the theme. Widgets ask for roles ("added", "reasoning"), never for
colours, so that a new theme is a new file and no code. A folder of a user's own themes may be given beside it; those
may name another theme as their `base` and say only what differs.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

DEFAULT = "pool-dark"

_COLOUR = re.compile(r"#[0-9a-f]{6}")
_ANSI_COLOUR = re.compile(r"ansi_(?:bright_)?(?:black|red|green|yellow|blue|magenta|cyan|white)")
_HEAD_KEYS = {"title", "dark", "code_style", "colours"}
_OPTIONAL_KEYS = {"ansi"}
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")

MOST_BYTES = 64 * 1024
"""A larger file is no theme."""


class ThemeError(ValueError):
    """A theme that does not exist or whose file is wrong. The message names theme, key and remedy."""


class Colours(NamedTuple):
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


class Theme(NamedTuple):
    """A theme. title is for people; code_style is the name of a Pygments style for code blocks.

    ansi: its colours are the terminal's own sixteen.
    """

    name: str
    title: str
    dark: bool
    code_style: str
    colours: Colours
    ansi: bool = False


ROLES = Colours._fields


def names(own: Path | None = None) -> tuple[str, ...]:
    """The names of all themes that come with Pool, sorted; with a folder of own ones, those too."""
    return tuple(sorted({*_packaged(), *own_names(own)}))


def own_names(own: Path | None) -> tuple[str, ...]:
    """The names of the themes in a user's folder, sorted. Files with other names than `[a-z0-9_-]` are no themes."""
    if own is None:
        return ()
    try:
        found = [p.stem for p in own.iterdir() if p.suffix == ".toml" and _NAME.fullmatch(p.stem)]
    except OSError:
        return ()
    return tuple(sorted(found))


def load(name: str, own: Path | None = None) -> Theme:
    """Read the theme called name, first from a user's folder. Raises `ThemeError` if there is none or it is wrong."""
    if name in own_names(own):
        assert own is not None
        return parse(name, _own_text(name, own / f"{name}.toml"))
    if name not in _packaged():
        raise ThemeError(f"there is no theme {name!r}; there are {', '.join(names(own))}")
    return _own_of_pool(name)


@cache
def _own_of_pool(name: str) -> Theme:
    return parse(name, source(name))


def parse(name: str, text: str) -> Theme:
    """Make a theme from the text of a TOML file with title, dark, code_style and a table of colours.

    Every role must be given and no other, unless `base` names a theme that comes with Pool, from which the rest is
    taken. Raises `ThemeError`.
    """
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ThemeError(f"theme {name}: not TOML: {error}") from error
    if "base" in data:
        data = _completed(name, data)
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


def _completed(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """The file's table with what it leaves to its base."""
    base = data.pop("base")
    if base not in _packaged():
        raise ThemeError(f"theme {name}: base is {base!r}; name one of {', '.join(_packaged())}")
    found = load(str(base))
    head = {"title": name, "dark": found.dark, "code_style": found.code_style, "ansi": found.ansi}
    colours = data.get("colours", {})
    if isinstance(colours, dict):
        data["colours"] = {r: getattr(found.colours, r) for r in ROLES} | cast(dict[str, Any], colours)
    return {**head, **data}


def _own_text(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ThemeError(f"theme {name}: {path} is larger than {MOST_BYTES:,} bytes")
        return data.decode()
    except OSError as error:
        raise ThemeError(f"theme {name}: {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ThemeError(f"theme {name}: {path} is no UTF-8 (byte {error.start})") from None


@cache
def _packaged() -> tuple[str, ...]:
    return tuple(sorted(f.stem for f in _data().glob("*.toml")))


def source(name: str) -> str:
    """The file of a theme of Pool's own. Raises `OSError` where there is none."""
    return (_data() / f"{name}.toml").read_text(encoding="utf-8")


def _data() -> Path:
    """The folder of theme files, beside this module."""
    return Path(__file__).parent / "data"


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
