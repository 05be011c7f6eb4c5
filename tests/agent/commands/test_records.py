"""Commands on kept sessions, in a real conversation: its name and statistics, and which others there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.agent.commands import ActionKind, execute
from pool.agent.control import Conversation
from pool.sessions.log import read_rows
from pool.sessions.store import by_id, sessions_folder
from tests.agent.commands.test_table import text_of
from tests.cases.driver import ModelServer, answer, driving
from tests.sessions.made import finished, session, started


async def test_name_statistics_and_other_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    workspace = tmp_path / "w"
    workspace.mkdir()
    async with (
        ModelServer(answer("The port is 8080.")) as server,
        driving(server.url, workspace, ephemeral=False) as driver,
    ):
        talk = Conversation(driver.session)
        await talk.submit("Which port?")
        own = talk.session.hub.session

        async def said(line: str) -> str:
            return text_of(await execute(line, talk))

        assert "no other session" in await said("/resume")
        session(sessions_folder(), "0190-other", started("Fix\x1b it"), finished(), workspace=str(workspace))
        assert await said("/resume") == f"/resume ID goes on with one\n90-other | {by_time()} | Fix it"
        assert (await execute("/resume other", talk)).action is not None
        action = (await execute("/resume other", talk)).action
        assert action is not None
        assert (action.kind, action.value) == (ActionKind.RESUME, "0190-other")
        assert "no session has an id" in await said("/resume nowhere")
        assert await said("/rename The\nport\x07") == "the session is called The port"
        assert "turns | 1" in await said("/stats")
        assert "turns | 0" in await said("/stats 0190-o")
    assert by_id(sessions_folder(), own).prompt == "Which port?"
    names = [
        row["name"]
        for row in read_rows(by_id(sessions_folder(), own).path.read_bytes())[0]
        if "session.named" in row["type"]
    ]
    assert names == ["The port"]


def by_time() -> str:
    from pool.sessions.store import clock

    return clock(1_700_000_000.0)
