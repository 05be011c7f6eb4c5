"""Pictures of the whole interface in a dark and a light theme, held against kept ones by their text.

`UPDATE_PICTURES=1 pytest tests/tui/test_views.py` draws them anew: look at them before you keep them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.moreviews import LOOKS, clear
from tests.tui.pictures import compare, picture
from tests.tui.views import VIEWS, StillApp


@pytest.mark.parametrize("name", VIEWS)
async def test_a_view_says_what_it_said(name: str, tmp_path: Path) -> None:
    show, columns, rows = VIEWS[name]
    app = StillApp("pool-dark", vi=name == "vi")
    async with app.run_test(size=(columns, rows)) as pilot:
        await app.whole.wait()
        await show(app, pilot)
        dark = await picture(app, pilot, f"{name}-dark.svg")
        app.use_theme("pool-light")
        await pilot.pause()
        light = await picture(app, pilot, f"{name}-light.svg")
    compare(f"{name}-dark.svg", dark, tmp_path)
    compare(f"{name}-light.svg", light, tmp_path)


async def test_further_views_say_what_they_said(tmp_path: Path) -> None:
    """In one app; each in the theme of the one before first, since a change of colours takes longest."""
    app, theme, drawn = StillApp("pool-dark"), "dark", dict[str, str]()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.whole.wait()
        for name, show in LOOKS:
            await show(app, pilot)
            await pilot.pause()
            drawn[f"{name}-{theme}.svg"] = await picture(app, pilot, f"{name}-{theme}.svg")
            theme = "light" if theme == "dark" else "dark"
            app.use_theme(f"pool-{theme}")
            await pilot.pause()
            drawn[f"{name}-{theme}.svg"] = await picture(app, pilot, f"{name}-{theme}.svg")
            await clear(app, pilot)
    for name, svg in drawn.items():
        compare(name, svg, tmp_path)
