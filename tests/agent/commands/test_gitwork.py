"""`/commit` over a scripted server: proposed by the model on the session's own prefix, shown, chosen, done."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pool.agent.commands import CommandResult, execute
from pool.agent.commands.gitwork import numbers_of, ranges
from pool.agent.control import Conversation
from pool.events import CommitMade
from tests.agent.commands.conftest import git
from tests.cases.driver import Driver, ModelServer, Step, answer, call, driving


@asynccontextmanager
async def worked(
    repo: Path, *replies: Step, assisted_by: bool = False
) -> AsyncGenerator[tuple[Conversation, Driver, ModelServer]]:
    """A conversation whose first run wrote two files."""
    writes = (call("write", path="a.txt", content="two\n"), call("write", "c2", path="new.txt", content="new\n"))
    async with (
        ModelServer(call("read", "c0", path="a.txt"), *writes, answer("Done."), *replies) as server,
        driving(server.url, repo, assisted_by=assisted_by) as driver,
    ):
        conversation = Conversation(driver.session)
        await conversation.submit("Change it.")
        yield conversation, driver, server


def line_of(result: CommandResult, label: str) -> str:
    assert result.ask is not None, result.lines
    return next(choice.line for choice in result.ask.choices if choice.label.startswith(label))


async def test_the_model_is_named_where_the_configuration_asks_for_it(repo: Path) -> None:
    async with worked(repo, assisted_by=True) as (conversation, driver, _):
        done = await execute(line_of(await execute("/commit Say two", conversation), "commit 2"), conversation)
        assert done.ok, done.lines
        model = driver.session.agent.labels.model
        assert model
        assert git(repo, "log", "-1", "--format=%B").strip() == f"Say two\n\nAssisted-by: Pool ({model})"


async def test_it_is_proposed_by_the_model_shown_and_done(repo: Path) -> None:
    async with worked(repo, answer("Say two\n\nOne was wrong.")) as (conversation, driver, server):
        before = [m.data for m in driver.session.agent.history.messages]
        result = await execute("/commit", conversation)
        assert result.lines[:3] == ("Say two", "", "One was wrong.")
        assert "have to be read again" in result.lines[3]
        assert [m.data for m in driver.session.agent.history.messages] == before
        assert git(repo, "log", "--format=%s") == "First\n"
        done = await execute(line_of(result, "commit 2"), conversation)
        assert done.ok, done.lines
        assert git(repo, "log", "-1", "--format=%B").strip() == "Say two\n\nOne was wrong."
        assert git(repo, "status", "--porcelain") == ""
        made = (await driver.until_body(CommitMade)).body
        assert isinstance(made, CommitMade)
        assert made.files == ("a.txt", "new.txt")
        # The question stands at the end of what the server has cached.
        assert "exactly the changes below" in str(server.bodies[-1]["messages"][-1])
        assert (await execute("/commit", conversation)).lines == ("nothing of the agent's is left to commit",)


async def test_single_changes_are_chosen_one_by_one(repo: Path) -> None:
    async with worked(repo) as (conversation, _, _):
        result = await execute("/commit Only the new file", conversation)
        first = await execute(line_of(result, "choose"), conversation)
        assert first.lines[0].startswith("a.txt: change 1 of 2")
        second = await execute(line_of(first, "leave it"), conversation)
        last = await execute(line_of(second, "take it"), conversation)
        done = await execute(line_of(last, "commit 1"), conversation)
        assert done.ok, done.lines
        assert git(repo, "show", "--format=%s", "--name-only", "HEAD").split() == [
            "Only",
            "the",
            "new",
            "file",
            "new.txt",
        ]
        assert git(repo, "status", "--porcelain") == " M a.txt\n"


async def test_what_changed_since_it_was_shown_is_not_committed(repo: Path) -> None:
    async with worked(repo) as (conversation, _, _):
        result = await execute("/commit As shown", conversation)
        (repo / "a.txt").write_text("three\n")
        done = await execute(line_of(result, "commit 2"), conversation)
        assert not done.ok
        assert "changed since" in done.lines[0]


async def test_outside_of_a_repository(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    async with worked(folder) as (conversation, _, _):
        result = await execute("/commit", conversation)
        assert not result.ok
        assert "in no git repository" in result.lines[0]


@given(st.sets(st.integers(1, 40)))
def test_ranges_name_just_their_numbers(numbers: set[int]) -> None:
    assert numbers_of(ranges(numbers)) == numbers
