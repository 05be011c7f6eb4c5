"""What a server's metrics tell while it works: from a real simulated server, and once none from one that has none."""

from __future__ import annotations

from pathlib import Path

from pool.agent.factory import open_session
from pool.agent.ids import new_id
from pool.agent.questions import Questions
from pool.agent.serverwatch import ServerWatch
from pool.config.settings import Settings
from pool.sim.process import running
from pool.sim.settings import SimSettings, StepSizes
from tests.cases.driver import MODEL, ModelServer, answer


async def test_accepted_drafts_are_those_since_the_look_before(tmp_path: Path) -> None:
    script = (f"t</think>{'word ' * 60}",)
    with running(SimSettings(port=0, rate=0, steps=StepSizes(3, 3), script=script)) as server:
        async with open_session(Settings(tmp_path, base_url=server.url, ephemeral=True), Questions()) as session:
            watch = ServerWatch(lambda: session.replies.exchange.link)
            first = await watch.look()
            assert first is not None
            assert (first.running, first.waiting, first.accepted) == (0, 0, -1.0)
            await session.agent.run("Say much.", new_id())
            second = await watch.look()
    assert second is not None
    assert 1.5 < second.accepted <= 2.0


async def test_a_server_without_metrics_is_asked_once(tmp_path: Path) -> None:
    async with ModelServer(answer("Done.")) as server:
        settings = Settings(tmp_path, base_url=server.url, model=MODEL, ephemeral=True)
        async with open_session(settings, Questions()) as session:
            watch = ServerWatch(lambda: session.replies.exchange.link)
            assert await watch.look() is None
