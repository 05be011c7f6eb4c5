"""What is remembered of a workspace between sessions."""

from __future__ import annotations

import subprocess
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from pool.agent.confinement import confine
from pool.agent.workspacestate import state_path
from pool.config.settings import Settings
from tests.tools.conftest import missing


async def hidden(folder: Path) -> list[Path]:
    async with AsyncExitStack() as stack:
        made = await confine(Settings(folder), stack)
        if made.found.tier != "bubblewrap":
            missing(f"no bubblewrap here: {made.found.reason}")
        return list(made.hidden or ())


async def test_a_file_that_was_hidden_is_not_shown_for_an_entry_that_a_command_made(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1\n")
    (tmp_path / "a").write_text("x\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert await hidden(tmp_path) == [tmp_path / ".env"]
    forged = 'git update-index --add --cacheinfo "100644,$(git hash-object -w a),.env"'
    subprocess.run(forged, shell=True, cwd=tmp_path, check=True)
    assert await hidden(tmp_path) == [tmp_path / ".env"]
    subprocess.run(["git", "add", ".env"], cwd=tmp_path, check=True)
    assert await hidden(tmp_path) == [], "the user has added it as it is"


def test_nothing_is_kept_where_commands_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "work/state"))
    assert state_path(tmp_path / "work", "x") is None
    assert state_path(tmp_path / "other", "x") != state_path(tmp_path / "third", "x")
