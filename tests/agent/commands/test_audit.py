"""`/audit` in a real conversation: what the session claimed, a finding dismissed, the tests run again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pool.agent.commands import execute
from pool.agent.control import Conversation
from tests.agent.commands.test_table import text_of
from tests.cases.driver import ModelServer, answer, call, driving


async def test_a_claim_is_seen_and_dismissed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    claim = answer("I fixed it. All tests pass.")
    steps = (call("write", path="app.py", content="x = 1\n"), claim)
    async with (
        ModelServer(*steps, claim) as server,
        driving(server.url, tmp_path / "w", ephemeral=False) as driver,
    ):
        talk = Conversation(driver.session)
        await talk.submit("Fix it.")

        async def said(line: str) -> str:
            return text_of(await execute(line, talk))

        first = await said("/audit")
        assert "claim-without-evidence" in first
        assert first.startswith("unverified: the answer says")
        found = re.search(r"claim-without-evidence  \[(\w+)\]", first)
        assert found is not None
        assert "KEY REASON" in await said("/audit dismiss")
        assert "with a reason" in await said(f"/audit dismiss {found[1]}")
        assert "dismissed: " in await said(f"/audit dismiss {found[1]} I ran them myself")
        assert "not run again: " in await said("/audit rerun")
        assert "/audit what?" in await said("/audit what")


async def test_a_session_that_is_not_kept_has_nothing_to_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    async with (
        ModelServer(answer("Yes.")) as server,
        driving(server.url, tmp_path / "w", ephemeral=True) as driver,
    ):
        talk = Conversation(driver.session)
        assert "not kept on disk" in text_of(await execute("/audit", talk))
