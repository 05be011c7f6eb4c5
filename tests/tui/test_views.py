"""Pictures of the whole interface in a dark and a light theme, held against kept ones by their text.

`UPDATE_PICTURES=1 pytest tests/tui/test_views.py` draws them anew: look at them before you keep them.
"""

from __future__ import annotations

import html
import os
import re
from pathlib import Path

import pytest

from tests.tui.moreviews import LOOKS, clear
from tests.tui.views import VIEWS, StillApp

FOLDER = Path(__file__).parent / "snapshots"
UPDATE = bool(os.environ.get("UPDATE_PICTURES"))

TEXT = re.compile(r'<text [^>]*y="([0-9.]+)"[^>]*>([^<]*)</text>')


def words(svg: str) -> list[str]:
    """The rows of text in a picture."""
    rows: dict[float, str] = {}
    for place, text in TEXT.findall(svg):
        rows[float(place)] = rows.get(float(place), "") + html.unescape(text)
    return [" ".join(rows[place].split()) for place in sorted(rows)]


@pytest.mark.parametrize("name", VIEWS)
async def test_a_view_says_what_it_said(name: str, tmp_path: Path) -> None:
    show, columns, rows = VIEWS[name]
    app = StillApp("pool-dark", vi=name == "vi")
    async with app.run_test(size=(columns, rows)) as pilot:
        await pilot.pause()
        await show(app, pilot)
        await pilot.pause(0.2)
        dark = app.export_screenshot(title="Pool", simplify=True)
        app.use_theme("pool-light")
        await pilot.pause(0.1)
        light = app.export_screenshot(title="Pool", simplify=True)
    compare(f"{name}-dark.svg", dark, tmp_path)
    compare(f"{name}-light.svg", light, tmp_path)


async def test_further_views_say_what_they_said(tmp_path: Path) -> None:
    """In one app; each in the theme of the one before first, since a change of colours takes longest."""
    app, theme, drawn = StillApp("pool-dark"), "dark", dict[str, str]()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for name, show in LOOKS:
            await show(app, pilot)
            await pilot.pause()
            drawn[f"{name}-{theme}.svg"] = app.export_screenshot(title="Pool", simplify=True)
            theme = "light" if theme == "dark" else "dark"
            app.use_theme(f"pool-{theme}")
            await pilot.pause()
            drawn[f"{name}-{theme}.svg"] = app.export_screenshot(title="Pool", simplify=True)
            await clear(app, pilot)
    for name, picture in drawn.items():
        compare(name, picture, tmp_path)


def compare(name: str, drawn: str, folder: Path) -> None:
    kept, new = FOLDER / name, folder / name
    if UPDATE:
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(drawn, encoding="utf-8")
    new.write_text(drawn, encoding="utf-8")
    expected = words(kept.read_text(encoding="utf-8")) if kept.exists() else []
    assert len(expected) > 3
    assert words(drawn) == expected, f"compare {new} with {kept}; UPDATE_PICTURES=1 keeps the new one"
