"""Pictures of the interface, held against kept ones by their text.

`UPDATE_PICTURES=1 pytest tests/tui/test_views.py tests/tui/screens/test_pictures.py` draws them anew: look at
them before you keep them.
"""

from __future__ import annotations

import html
import os
import re
import time
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot

FOLDER = Path(__file__).parent / "snapshots"
UPDATE = bool(os.environ.get("UPDATE_PICTURES"))

DRAWN_SECONDS = 10.0
"""How long a busy machine may take to draw all of a view."""

SETTLED_SECONDS = 0.3
"""What is drawn anew is kept after so long."""

TEXT = re.compile(r'<text [^>]*y="([0-9.]+)"[^>]*>([^<]*)</text>')

VARYING = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d|[\d,.]+(?= tok/s)"
    r"|(?<= · )[\d.]+(?= s\b)|(?<=about )[\d,]+(?= tokens have)|(?<=seconds ).*%"
    r"|(?<=session-seconds )\d+|(?<=k main)\*?|(?<=127\.0\.0\.1:)\d+|[\d,]+(?= tokens a second)"
)
"""What differs from run to run: the time of day, measured speeds and times, when git was looked at for the status line,
what depends on the path of the folder."""


def words(svg: str) -> list[str]:
    """The rows of text in a picture, without what varies."""
    rows: dict[float, str] = {}
    for place, text in TEXT.findall(svg):
        rows[float(place)] = rows.get(float(place), "") + html.unescape(text)
    return [VARYING.sub("_", " ".join(rows[place].split())) for place in sorted(rows)]


def expected(name: str) -> list[str]:
    """The rows of text in a kept picture."""
    kept = FOLDER / name
    return words(kept.read_text(encoding="utf-8")) if kept.exists() else []


async def picture(app: App[Any], pilot: Pilot[Any], name: str) -> str:
    """The screen as SVG, once it says what the kept picture says, or after `DRAWN_SECONDS`."""
    if UPDATE:
        await pilot.pause(SETTLED_SECONDS)
    end = time.monotonic() + DRAWN_SECONDS
    while True:
        drawn = app.export_screenshot(title="Pool", simplify=True)
        if UPDATE or words(drawn) == expected(name) or time.monotonic() > end:
            return drawn
        await pilot.pause(0.02)


def compare(name: str, drawn: str, folder: Path) -> None:
    """Hold a picture against the kept one; it is written to folder, to be looked at."""
    new = folder / name
    if UPDATE:
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / name).write_text(drawn, encoding="utf-8")
    new.write_text(drawn, encoding="utf-8")
    said = expected(name)
    assert len(said) > 3
    assert words(drawn) == said, f"compare {new} with {FOLDER / name}; UPDATE_PICTURES=1 keeps the new one"
