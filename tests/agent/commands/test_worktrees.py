"""`/move` and `/merge`: the session goes on in a worktree, its model is told, and its work comes back."""

from __future__ import annotations

from pathlib import Path

from pool.agent.commands import ActionKind, execute
from pool.agent.control import Conversation
from tests.agent.commands.conftest import git
from tests.cases.driver import ModelServer, answer, call, driving


async def test_there_and_back(repo: Path) -> None:
    steps = (call("write", "c0", path="new.txt", content="new\n"), answer("Done."))
    async with ModelServer(*steps, call("write", "c1", path="b.txt", content="b\n"), answer("Done there.")) as server:
        async with driving(server.url, repo) as driver:
            here = Conversation(driver.session)
            await here.submit("Add a file.")
            before = [m.data for m in driver.session.agent.history.messages]
            moved = await execute("/move --with-changes", here)
            assert moved.ok, moved.lines
            assert moved.action is not None
            assert moved.action.kind is ActionKind.RESUME
        folder = Path(moved.action.folder)
        assert folder == repo.with_name("work.worktrees") / "pool-add-a-file"
        assert (folder / "new.txt").read_text() == "new\n"
        async with driving(server.url, folder, resume=moved.action.value) as driver:
            there = Conversation(driver.session)
            history = driver.session.agent.history.messages
            assert [m.data for m in history[:-1]] == before
            assert f"only in {folder}" in history[-1].message.content
            await there.submit("Add another.")
            assert server.complaints == []
            refused = await execute("/merge", there)
            assert "not committed" in refused.lines[0]
            git(folder, "add", ".")
            git(folder, "commit", "-qm", "Two files")
            asked = await execute("/merge", there)
            assert asked.ask is not None, asked.lines
            assert asked.lines[0] == "pool/add-a-file into main, forward:"
            (repo / "new.txt").unlink()
            done = await execute(asked.ask.choices[0].line, there)
            assert done.ok, done.lines
    assert (repo / "b.txt").read_text() == "b\n"
    assert git(repo, "log", "-1", "--format=%s") == "Two files\n"


async def test_where_it_cannot_be(repo: Path) -> None:
    async with ModelServer(answer("Yes.")) as server, driving(server.url, repo) as driver:
        here = Conversation(driver.session)
        assert "no worktree besides" in (await execute("/merge", here)).lines[0]
        await here.submit("Hello.")
        assert "cannot be the name" in (await execute("/move a..b", here)).lines[0]
        assert "usage" in (await execute("/move a b", here)).lines[0]
    assert not repo.with_name("work.worktrees").exists()
