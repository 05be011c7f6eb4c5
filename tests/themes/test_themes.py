"""The themes that come with Pool are complete and can be read by people."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from pygments.styles import (
    get_all_styles,
    get_style_by_name,  # pyright: ignore[reportUnknownVariableType]  # the stubs say so little
)
from pygments.token import Token

import pool_themes
from pool_themes import ROLES, Theme, ThemeError, load, names, parse

READABLE_CONTRAST = 4.5
"""WCAG 2.2, level AA, for text of normal size."""

HIGH_CONTRAST = 7.0
"""WCAG 2.2, level AAA."""

DIFF_BACKGROUND = {"added": "added_background", "removed": "removed_background"}
NOT_TEXT = {"background", "surface", "panel", "border", "border_focused", "selection", *DIFF_BACKGROUND.values()}


@pytest.fixture(params=names())
def theme(request: pytest.FixtureRequest) -> Theme:
    return load(str(request.param))


XTERM = {
    "black": "#000000",
    "red": "#cd0000",
    "green": "#00cd00",
    "yellow": "#cdcd00",
    "blue": "#0000ee",
    "magenta": "#cd00cd",
    "cyan": "#00cdcd",
    "white": "#e5e5e5",
    "bright_black": "#7f7f7f",
    "bright_red": "#ff0000",
    "bright_green": "#00ff00",
    "bright_yellow": "#ffff00",
    "bright_blue": "#5c5cff",
    "bright_magenta": "#ff00ff",
    "bright_cyan": "#00ffff",
    "bright_white": "#ffffff",
}
"""What xterm shows for the sixteen colours when nobody changed them."""


def luminance(colour: str) -> float:
    """Relative luminance, 0 to 1, by the WCAG's formula for sRGB."""
    colour = XTERM.get(colour.removeprefix("ansi_"), colour)
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_the_wcags() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_there_is_a_theme_for_everybody() -> None:
    themes = [load(n) for n in names()]
    assert len(themes) >= 8
    assert pool_themes.DEFAULT in names()
    for kind in ("pool", "contrast", "clear", "sixteen"):
        assert {t.dark for t in themes if t.name.startswith(kind)} == {True, False}
    assert [t.name for t in themes if t.ansi] == ["sixteen-dark", "sixteen-light"]


@pytest.mark.parametrize("name", ["contrast-dark", "contrast-light"])
def test_high_contrast_is_high(name: str) -> None:
    colours = load(name).colours
    assert all(contrast(getattr(colours, r), colours.background) >= HIGH_CONTRAST for r in set(ROLES) - NOT_TEXT)


@pytest.mark.parametrize("role", sorted(set(ROLES) - NOT_TEXT))
def test_text_can_be_read_on_every_surface(theme: Theme, role: str) -> None:
    behind = ["background", "surface", "panel"]
    if role in DIFF_BACKGROUND:
        behind.append(DIFF_BACKGROUND[role])
    for surface in behind:
        ratio = contrast(getattr(theme.colours, role), getattr(theme.colours, surface))
        assert ratio >= READABLE_CONTRAST, f"{role} on {surface}: {ratio:.2f}"


def test_selected_text_can_be_read(theme: Theme) -> None:
    assert contrast(theme.colours.text, theme.colours.selection) >= READABLE_CONTRAST


def test_dark_says_what_is_dark(theme: Theme) -> None:
    assert theme.dark == (luminance(theme.colours.background) < luminance(theme.colours.text))


def test_code_style_exists(theme: Theme) -> None:
    assert theme.code_style in get_all_styles()


def good_text() -> str:
    return (files(pool_themes) / "data" / "pool-dark.toml").read_text(encoding="utf-8")


def test_unknown_theme_names_the_known_ones() -> None:
    with pytest.raises(ThemeError, match=r"no theme 'nord'.*pool-dark, pool-light"):
        load("nord")


@pytest.mark.parametrize("name", ["../pool-dark", "data/pool-dark", ""])
def test_a_name_is_no_path(name: str) -> None:
    with pytest.raises(ThemeError, match="there is no theme"):
        load(name)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('muted = "#93a4b5"\n', "", r"\[colours\] lacks muted"),
        ("muted =", "mutes =", r"\[colours\] lacks muted"),
        ("[colours]", '[colours]\nglow = "#ffffff"', r"\[colours\] has unknown glow"),
        ('muted = "#93a4b5"', 'muted = "grey"', "muted is 'grey'"),
        ('muted = "#93a4b5"', "muted = 7", "muted is 7"),
        ("dark = true", 'dark = "yes"', "dark is 'yes'; it must be of type bool"),
        ("dark = true", "dark = yes", "not TOML"),
        ('title = "Pool, dark"', "", "the file lacks title"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason(old: str, new: str, says: str) -> None:
    text = good_text()
    assert old in text
    with pytest.raises(ThemeError, match=says):
        parse("mine", text.replace(old, new))


DEUTERANOPIA = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
"""What is left of linear RGB without the middle-wave cones: Machado, Oliveira and Fernandes 2009, severity 1.0."""

TOLD_APART = 0.25
"""Distance of two colours in linear RGB; the diff colours of `pool-dark` are nearer than this to a deuteranope."""


def seen_by_deuteranope(colour: str) -> list[float]:
    channels = [(int(colour[i : i + 2], 16) / 255) ** 2.2 for i in (1, 3, 5)]
    return [sum(a * b for a, b in zip(row, channels, strict=True)) for row in DEUTERANOPIA]


def apart(one: str, other: str) -> float:
    pairs = zip(seen_by_deuteranope(one), seen_by_deuteranope(other), strict=True)
    return sum((a - b) ** 2 for a, b in pairs) ** 0.5


@pytest.mark.parametrize("name", ["clear-dark", "clear-light"])
def test_colour_blind_people_tell_good_from_bad(name: str) -> None:
    colours = load(name).colours
    assert apart(colours.added, colours.removed) > TOLD_APART
    assert apart(colours.success, colours.error) > TOLD_APART
    usual = load("pool-dark").colours
    assert apart(usual.added, usual.removed) < TOLD_APART


OWN = 'base = "pool-light"\ntitle = "Mine"\n[colours]\naccent = "#112233"\n'


def test_a_theme_of_ones_own_says_only_what_differs(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(OWN)
    mine, base = load("mine", tmp_path), load("pool-light")
    assert (mine.title, mine.colours.accent, mine.colours.text) == ("Mine", "#112233", base.colours.text)
    assert mine.dark is False
    assert "mine" in names(tmp_path)
    assert "mine" not in names()


def test_a_theme_of_ones_own_goes_before_one_of_pools(tmp_path: Path) -> None:
    (tmp_path / "paper.toml").write_text(OWN)
    assert load("paper", tmp_path).title == "Mine"
    assert names(tmp_path) == names()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'base = "nothing"', "base is 'nothing'; name one of"),
        (b'base = "mine"', "base is 'mine'"),
        (b'base = "paper"\ncolours = 3', "colours is 3"),
        (b'base = "paper"\n[colours]\nacent = "#112233"', "unknown acent"),
        (b'base = "sixteen-dark"\n[colours]\naccent = "#112233"', "write it as 'ansi_bright_blue'"),
        (b"\xff", "is no UTF-8"),
        (b"x = " + b"[" * 70000, "larger than"),
        (b"x = " + b"[" * 60000, "not TOML"),
    ],
)
def test_faults_of_themes_of_ones_own(tmp_path: Path, text: bytes, said: str) -> None:
    (tmp_path / "mine.toml").write_bytes(text)
    with pytest.raises(ThemeError, match=said):
        load("mine", tmp_path)


def test_odd_names_and_no_folder(tmp_path: Path) -> None:
    (tmp_path / "[red]x.toml").write_text(OWN)
    (tmp_path / "gone.toml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.toml").mkdir()
    assert names(tmp_path / "no") == names()
    for name in ("gone", "folder"):
        with pytest.raises(ThemeError, match="cannot be read"):
            load(name, tmp_path)
    with pytest.raises(ThemeError, match="there is no theme"):
        load("../themes/mine", tmp_path)


CODE_TOKENS = (
    *(Token.Text, Token.Name, Token.Keyword, Token.Literal.String, Token.Literal.Number, Token.Comment, Token.Operator),
    *(Token.Punctuation, Token.Name.Function, Token.Name.Class, Token.Name.Builtin, Token.Name.Decorator),
)


def test_code_can_be_read(theme: Theme) -> None:
    """On the surface that code blocks stand on."""
    if theme.ansi:
        return
    style = get_style_by_name(theme.code_style)
    for kind in CODE_TOKENS:
        found = style.style_for_token(kind)["color"]
        colour = f"#{found}" if found else theme.colours.text
        assert contrast(colour, theme.colours.surface) >= READABLE_CONTRAST, (kind, colour)
