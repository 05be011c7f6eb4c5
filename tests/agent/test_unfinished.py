"""Pool is killed while a command runs: the next session in the workspace puts back what the command changed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from pool.agent.factory import open_session
from pool.agent.questions import Questions
from pool.agent.unfinished import finish, journals_folder
from pool.config.settings import Settings
from pool.events import Notice
from tests.cases.driver import MODEL, ModelServer, call

LIMIT_SECONDS = 40
COMMAND = "git init -q sub && git -C sub config core.fsmonitor 'touch pwned' && touch ready && sleep 60"


async def notices(settings: Settings) -> list[str]:
    async with open_session(settings, Questions()) as session:
        if session.sandbox_note.startswith("no sandbox"):
            pytest.skip(session.sandbox_note)
        arriving = session.hub.subscribe()
        session.hub.close()
        return [event.body.text async for event in arriving if isinstance(event.body, Notice)]


async def test_the_next_session_finishes_the_check_and_tells_once(tmp_path: Path) -> None:
    async with ModelServer(call("shell", command=COMMAND)) as server:
        settings = Settings(tmp_path, base_url=server.url, model=MODEL, ephemeral=True)
        assert not any("killed" in text for text in await notices(settings))
        line = ("-m", "pool", "run", "Go.", "-C", str(tmp_path), "--base-url", server.url, "--model", MODEL)
        pool = await asyncio.create_subprocess_exec(
            sys.executable, *line, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
        async with asyncio.timeout(LIMIT_SECONDS):
            while not (tmp_path / "ready").exists():
                assert pool.returncode is None
                await asyncio.sleep(0.02)
        assert finish(tmp_path) == [], "its owner lives"
        pool.kill()
        await pool.wait()
        (told,) = [text for text in await notices(settings) if "killed" in text]
        assert "core.fsmonitor in sub/.git/config could run programs" in told
        assert "pwned" not in (tmp_path / "sub/.git/config").read_text()
        assert not any("killed" in text for text in await notices(settings))


def test_a_state_folder_in_the_workspace_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert journals_folder(tmp_path) is None
    assert finish(tmp_path) == []
