"""`/review`: in a context of its own, shown, handed to the agent, stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from pool.agent.commands import ActionKind, CommandResult, execute
from pool.agent.commands.table import complete
from pool.agent.control import Conversation
from pool.events import Notice, Waiting
from tests.agent.review.reviewer import Anew, finding, report
from tests.cases.driver import Driver, Step, answer, call, driving, last_user
from tests.wire.scripted import Exchange


@asynccontextmanager
async def talking(repo: Path, *replies: Step) -> AsyncGenerator[tuple[Conversation, Driver, Anew]]:
    """A conversation that has had one run."""
    async with Anew(answer("Hello."), *replies) as server, driving(server.url, repo) as driver:
        conversation = Conversation(driver.session)
        await conversation.submit("Greet me.")
        yield conversation, driver, server


async def test_findings_are_shown_and_handed_over(repo: Path) -> None:
    (repo / "a.txt").write_text("two\n")
    said = report(finding("a.txt", 1), finding("b.txt", 9, "low"))
    async with talking(repo, call("read", path="a.txt"), answer(said)) as (conversation, driver, server):
        before = [m.data for m in driver.session.agent.history.messages]
        result = await execute("/review", conversation)
        assert result.lines == (
            "what is not committed: 1 file, +1 -1",
            "high  a.txt:1: It is wrong",
            "  For 0 it fails.",
            "low  b.txt:9: It is wrong",
            "  (outside of the diff: the diff does not change this file)",
            "  For 0 it fails.",
            "2 findings: 1 high, 1 low; 1 outside of the diff",
        )
        assert [m.data for m in driver.session.agent.history.messages] == before
        assert "Greet me." not in str(server.bodies[1:])
        assert "     1 + two" in last_user(server.bodies[1])
        notices = [e.body.text for e in driver.events if isinstance(e.body, Notice)]
        assert any(isinstance(e.body, Waiting) for e in driver.events)
        assert next(text for text in notices if text.startswith("review: ")) == "review: what is not committed: 1 file"
        assert result.ask is not None
        handed = await execute(result.ask.choices[0].line, conversation)
        assert handed.action is not None
        assert handed.action.kind is ActionKind.SUBMIT
        assert "high  a.txt:1: It is wrong" in handed.action.value


async def test_what_it_says_where_there_is_nothing(repo: Path) -> None:
    async with talking(repo) as (conversation, _, _):

        async def said(line: str) -> CommandResult:
            return await execute(line, conversation)

        assert (await said("/review")).lines == ("nothing to review: what is not committed",)
        assert (await said("/review --staged")).ok
        assert "no branch, commit, range or file" in (await said("/review nowhere")).lines[0]
        assert (await said("/review --what is")).lines[0].startswith("usage: /review")
        assert not (await said("/review work")).ok
        assert [c.text for c in complete("/review m", conversation)] == ["/review main"]


async def test_it_can_be_stopped(repo: Path) -> None:
    (repo / "a.txt").write_text("two\n")
    asked = asyncio.Event()

    async def silent(exchange: Exchange) -> None:
        asked.set()
        await asyncio.Event().wait()

    async with talking(repo, silent) as (conversation, _, _):
        reviewing = asyncio.create_task(execute("/review", conversation))
        await asked.wait()
        assert conversation.busy
        assert conversation.stop()
        assert (await reviewing).lines == ("the review was stopped",)
        assert not conversation.busy
