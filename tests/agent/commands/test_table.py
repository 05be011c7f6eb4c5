"""The table of commands: every name once, lines read as people type them, completion, and each command at work."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.agent.commands import COMMANDS, ActionKind, CommandResult, Typed, complete, execute, find, parse
from pool.agent.commands.kinds import Action
from pool.agent.commands.session import GO_ON
from pool.agent.control import Conversation
from pool.config.settings import SandboxChoice
from pool.events import CallStarted
from pool.sessions.store import sessions_folder
from pool.sim.process import running
from pool.sim.settings import SimSettings
from tests.cases.driver import ModelServer, answer, call, driving

PEOPLE_TYPE = {
    "clear": "new",
    "cost": "usage",
    "permissions": "approvals",
    "exit": "quit",
    "QUIT": "quit",
    "?": "help",
}


def text_of(result: CommandResult) -> str:
    rows = [" | ".join(row) for row in result.rows.rows] if result.rows else []
    return "\n".join([*result.lines, *rows])


def test_every_name_and_alias_stands_for_one_command() -> None:
    names = Counter(name for command in COMMANDS for name in (command.name, *command.aliases))
    assert [name for name, count in names.items() if count > 1] == []
    for typed, name in PEOPLE_TYPE.items():
        found = find(typed)
        assert found is not None
        assert found.name == name
    assert all(command.help and not command.help.endswith(".") for command in COMMANDS)


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ("/think low", Typed("think", "low")),
        ("  /EFFORT  high ", Typed("think", "high")),
        ("/compact keep the port\nand the host", Typed("compact", "keep the port\nand the host")),
        ("/thnik low", Typed("thnik", "low")),
        ("/usr/bin/env is missing", None),
        ("/etc/hosts", None),
        ("// a comment", None),
        ("/", None),
        ("/42", None),
        ("what does /help do?", None),
    ],
)
def test_a_line_is_a_command_or_a_prompt(line: str, typed: Typed | None) -> None:
    assert parse(line) == typed


async def test_commands_that_look_and_that_set(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    rules = {"allow": ("shell(git log *)",)}
    async with ModelServer(answer("The port is 8080.")) as server, driving(server.url, tmp_path, **rules) as driver:
        talk = Conversation(driver.session)
        assert "no answer to copy" in text_of(await execute("/copy", talk))
        await talk.submit("Which port?")

        async def said(line: str) -> str:
            result = await execute(line, talk)
            assert result.ok, result.lines
            return text_of(result)

        assert "/compact" in await said("/help")
        assert "/cost" in await said("/help usage")
        assert "allow-all" in await said("/status")
        assert "mode plan" in await said("/mode plan")
        assert "* | plan" in await said("/mode")
        assert "mode plan" in await said("/permissions")
        assert "allow shell(git log *) | settings" in await said("/approvals")
        assert "512" in await said("/think low")
        assert "low" in await said("/think")
        assert "session-tokens: 5,000,000" in await said("/budget session-tokens 5,000,000")
        assert "no limit" in await said("/budget seconds none")
        assert "turns | 1 | 40 | 2%" in await said("/budget")
        assert "AGENTS.md" in await said("/context")
        assert "turns | 1 | 1" in await said("/usage")
        assert "shell | execute" in await said("/tools")
        assert "no command runs" in await said("/jobs")
        assert "AGENTS.md" in await said("/agents")
        assert "already knows" in await said("/agents reload")
        assert "nothing is queued" in await said("/queue")
        assert "after the next run" in await said("/queue And the host?")
        assert "1 | And the host?" in await said("/queue")
        assert "dropped: And" in await said("/queue drop 1")
        copied = await execute("/copy", talk)
        assert copied.action is not None
        assert (copied.action.kind, copied.action.value) == (ActionKind.COPY, "The port is 8080.")
        kinds = [(await execute(line, talk)).action for line in ("/clear", "/exit", "/init be brief")]
        assert [a.kind for a in kinds if a] == [ActionKind.NEW, ActionKind.QUIT, ActionKind.SUBMIT]


REFUSED = (
    ("/thnik low", "did you mean /think?"),
    ("/zzzzzz", "/help shows all"),
    ("/think much", "not known"),
    ("/think low high", "usage: /think"),
    ("/mode fast", "use one of"),
    ("/budget turns many", "no number"),
    ("/budget pennies 5", "there is no budget"),
    ("/copy 7", "no answer to copy yet"),
    ("/copy -1", "give the number"),
    ("/copy ４", "give the number"),
    ("/queue drop 3", "no queued prompt 3"),
    ("/jobs stop 9", "no job 9"),
    ("/agents delete", "usage: /agents"),
    ("/help zzz", "no command /zzz"),
    ("/compact", "nothing to compact"),
    ("/net off example.org", "was not granted"),
    ("/net example.org", "no sandbox confines"),
    ("not a command", "commands begin with /"),
)


async def test_what_cannot_be_done_says_why(tmp_path: Path) -> None:
    async with ModelServer(answer("Yes.")) as server, driving(server.url, tmp_path) as driver:
        talk = Conversation(driver.session)
        for line, words in REFUSED:
            result = await execute(line, talk)
            assert not result.ok, line
            assert words in text_of(result), line


async def test_a_run_that_failed_is_gone_on_with(tmp_path: Path) -> None:
    async with ModelServer(answer("Yes.")) as server, driving(server.url, tmp_path) as driver:
        conversation = Conversation(driver.session)
        refused = await execute("/retry", conversation)
        assert (refused.ok, refused.lines) == (False, ("nothing was asked yet",))
        await conversation.submit("Hello.")
        assert (await execute("/continue", conversation)).action == Action(ActionKind.SUBMIT, GO_ON)


async def test_a_running_run_keeps_some_commands_waiting(tmp_path: Path) -> None:
    async with (
        ModelServer(call("shell", command="sleep 5"), answer("Yes.")) as server,
        driving(server.url, tmp_path) as driver,
    ):
        talk = Conversation(driver.session)
        working = asyncio.ensure_future(talk.submit("Wait."))
        await driver.until_body(CallStarted)
        assert "until the run is over" in text_of(await execute("/compact", talk))
        assert "queued" in text_of(await execute("/queue More?", talk))
        assert "working" in text_of(await execute("/status", talk))
        talk.stop()
        await working


async def test_compacting_asks_first_where_it_is_dear(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("alpha beta\n" * 300)
    with running(SimSettings(prefill_rate=20_000)) as sim:
        async with driving(sim.url, tmp_path, model="") as driver:
            talk = Conversation(driver.session)
            await talk.submit("What does notes.txt say?")
            driver.session.replies.exchange.prefill_rate = 100.0
            asked = await execute("/compact keep alpha", talk)
            assert asked.ask is not None
            assert "have to be read again, some" in asked.ask.text
            line = asked.ask.choices[0].line
            assert line == "/compact --now keep alpha"
            assert (await execute(line, talk)).ok


async def test_completion(tmp_path: Path) -> None:
    async with ModelServer(answer("Yes.")) as server, driving(server.url, tmp_path) as driver:
        talk = Conversation(driver.session)

        def texts(line: str) -> list[str]:
            return [c.text for c in complete(line, talk)]

        assert texts("/co")[:5] == ["/commit", "/compact", "/context", "/copy", "/help"]
        assert texts("/cle") == ["/new"]
        assert texts("/think l") == ["/think low"]
        assert texts("/budget session-t") == ["/budget session-turns", "/budget session-tokens"]
        assert texts("/help comp") == ["/help compact"]
        assert texts("/nothing x") == []
        assert texts("hello") == []
        assert len(texts("/")) == len(COMMANDS)


async def test_a_host_is_granted_for_a_while_where_a_sandbox_can_hold_it(tmp_path: Path) -> None:
    confined = {"sandbox": SandboxChoice.AUTO}
    async with ModelServer(answer("Yes.")) as server, driving(server.url, tmp_path, **confined) as driver:
        talk = Conversation(driver.session)
        if driver.session.network.can_grant:
            pytest.skip(driver.session.network.can_grant)
        granted = await execute("/net docs.python.org 10m", talk)
        assert granted.ok, granted.lines
        shown = text_of(await execute("/network", talk))
        assert "docs.python.org | 600 s more" in shown
        assert (await execute("/net off docs.python.org", talk)).ok
        refused = await execute("/net docs.python.org soon", talk)
        assert "is no time" in text_of(refused)


@given(st.text(max_size=40).map("/".__add__) | st.text(max_size=40))
def test_any_text_is_a_command_or_a_prompt(line: str) -> None:
    typed = parse(line)
    assert typed is None or (typed.name and "/" not in typed.name and line.strip().startswith("/"))


async def test_a_disk_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ModelServer(answer("Yes.")) as server, driving(server.url, tmp_path) as driver:
        conversation = Conversation(driver.session)
        await conversation.submit("Hello.")

        def full(*args: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("pool.sessions.wholelog.os.rename", full)
        failed = await execute("/fork", conversation)
        assert (failed.ok, failed.lines) == (False, (f"/fork: No space left on device ({sessions_folder()})",))
