"""The themes that come with Pool are complete and can be read by people."""

from __future__ import annotations

from importlib.resources import files

import pytest
from pygments.styles import get_all_styles

import pool_themes
from pool_themes import ROLES, Theme, ThemeError, load, names, parse

READABLE_CONTRAST = 4.5
"""WCAG 2.2, level AA, for text of normal size."""

DIFF_BACKGROUND = {"added": "added_background", "removed": "removed_background"}
NOT_TEXT = {"background", "surface", "panel", "border", "border_focused", "selection", *DIFF_BACKGROUND.values()}


@pytest.fixture(params=names())
def theme(request: pytest.FixtureRequest) -> Theme:
    return load(str(request.param))


def luminance(colour: str) -> float:
    """Relative luminance, 0 to 1, by the WCAG's formula for sRGB."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_the_wcags() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_there_is_a_dark_and_a_light_one() -> None:
    assert names() == ("pool-dark", "pool-light")
    assert [load(n).dark for n in names()] == [True, False]
    assert pool_themes.DEFAULT in names()


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
