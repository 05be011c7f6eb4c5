"""Tutorials and explanations: their commands, run by a shell in a home of its own, against a simulated server."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pool.sim.process import running
from pool.sim.settings import SimSettings
from tests.cli.pages import ROOT, blocks

PAGES = (
    "docs/tutorials/first-session.md",
    "docs/tutorials/dgx-spark.md",
    "docs/tutorials/scripts-and-ci.md",
    "docs/tutorials/editors.md",
    "docs/explain/reading.md",
    "docs/explain/prefix-cache.md",
    "docs/team.md",
)


def test_the_japanese_page_shows_the_same_commands() -> None:
    one, other = ([text for text, _ in blocks(f"docs/{page}/first-session.md")] for page in ("tutorials", "ja"))
    assert one == other


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_what_a_tutorial_shows_works(page: str, tmp_path: Path) -> None:
    script = "".join(text for text, runs in blocks(page) if runs)
    assert script
    place = tmp_path / "bin"
    place.mkdir()
    (place / "pool").write_text(f'#!/bin/sh\nexec {sys.executable} -m pool "$@"\n')
    (place / "pool").chmod(0o755)
    # As in a clone: the example to copy, and a file to read.
    clone = tmp_path / "clone"
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(ROOT / "examples" / "inventory", clone / "examples" / "inventory", ignore=ignored)
    shutil.copy(ROOT / "README.md", clone)
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("XDG_")},
        "HOME": str(tmp_path),
        "PATH": f"{place}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in (".", "tools", "themes")),
    }
    with running(SimSettings(port=0)) as sim:
        env["POOL_BASE_URL"] = sim.url
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=clone, env=env, capture_output=True, text=True, timeout=55
        )
    assert done.returncode == 0, done.stdout + done.stderr
