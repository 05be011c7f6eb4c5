"""Pictures of every kind of block, in a dark and a light theme, as SVG.

`UPDATE_PICTURES=1 pytest tests/tui/transcript/test_pictures.py` draws them anew: look at them before you keep them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tui.transcript.harness import TranscriptApp, settled
from tests.tui.transcript.scenes import SCENES

FOLDER = Path(__file__).parent / "pictures"
UPDATE = bool(os.environ.get("UPDATE_PICTURES"))


@pytest.mark.parametrize("theme", ["pool-dark", "pool-light"])
@pytest.mark.parametrize("scene", SCENES)
async def test_a_scene_looks_as_it_did(scene: str, theme: str, tmp_path: Path) -> None:
    fill, columns, rows = SCENES[scene]
    app = TranscriptApp(theme)
    async with app.run_test(size=(columns, rows)) as pilot:
        fill(app.transcript)
        await settled(pilot)
        drawn = app.export_screenshot(title=scene, simplify=True)
    kept = FOLDER / f"{scene}-{theme.removeprefix('pool-')}.svg"
    if UPDATE:
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(drawn, encoding="utf-8")
    if not kept.exists() or drawn != kept.read_text(encoding="utf-8"):
        new = tmp_path / kept.name
        new.write_text(drawn, encoding="utf-8")
        raise AssertionError(f"{scene} looks different: compare {new} with {kept}; UPDATE_PICTURES=1 keeps the new one")
