"""`pool acp --port`: the official SDK's client over a WebSocket, and who is not let in."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import acp
import aiohttp
from acp import schema
from acp.ws.client import create_websocket_stream
from aiohttp import web

from pool.acp.websocket import LOOPBACK, PATH, Clients
from pool.config.settings import Mode, SandboxChoice, Settings
from tests.acp.desk import held
from tests.cases.driver import MODEL, ModelServer, answer

TOKEN = "of-this-test"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
WAIT_SECONDS = 20.0


class Client:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.said = ""

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        if isinstance(update, schema.AgentMessageChunk):
            self.said += cast(schema.TextContentBlock, update.content).text


async def test_a_client_with_the_token_works_and_its_run_ends_with_it(tmp_path: Path) -> None:
    begun = asyncio.Event()
    left = asyncio.Event()

    async def unread(exchange: Any) -> None:
        await held(begun)(exchange)
        left.set()

    async with ModelServer(answer("Hello over there."), unread) as server:

        def settings_for(workspace: Path, *, resume: str = "", fork: str = "") -> Settings:
            given: dict[str, Any] = {"base_url": server.url, "model": MODEL, "sandbox": SandboxChoice.OFF}
            return Settings(workspace, resume=resume, fork=fork, mode=Mode.DEFAULT, **given)

        runner = web.AppRunner(Clients(TOKEN, settings_for).app(), access_log=None)
        await runner.setup()
        try:
            site = web.TCPSite(runner, LOOPBACK, 0)
            await site.start()
            address = f"{LOOPBACK}:{runner.addresses[0][1]}{PATH}"
            await _not_let_in(address)
            async with asyncio.timeout(WAIT_SECONDS):
                client = Client()
                stream = await create_websocket_stream(f"ws://{address}", headers=HEADERS)
                agent = acp.connect_to_agent(cast(acp.Client, client), stream)
                hello = await agent.initialize(1)
                assert hello.agent_info is not None
                assert hello.agent_info.name == "pool"
                new = await agent.new_session(cwd=str(tmp_path), mcp_servers=[])
                done = await agent.prompt(session_id=new.session_id, prompt=[acp.text_block("Hello?")])
                assert (done.stop_reason, client.said) == ("end_turn", "Hello over there.")
                task = asyncio.create_task(agent.prompt(session_id=new.session_id, prompt=[acp.text_block("And now?")]))
                await begun.wait()
                await stream.close()
                await left.wait()
                await asyncio.gather(task, return_exceptions=True)
        finally:
            await runner.cleanup()


async def _not_let_in(address: str) -> None:
    async with aiohttp.ClientSession() as session:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}):
            async with session.get(f"http://{address}", headers=headers) as response:
                assert response.status == 401
        async with session.get(f"http://{address}", headers=HEADERS) as response:
            assert response.status == 426
        async with session.post(f"http://{address}", headers=HEADERS, json={}) as response:
            assert response.status == 405
