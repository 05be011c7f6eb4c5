"""`pool web` as a process: who gets in, who does not, and that the interface answers over the socket."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from pool.cli import web
from pool.sim.process import running
from pool.sim.settings import SimSettings
from tests.tui.terminal import POOL


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with running(SimSettings()) as sim:
        command = [*POOL, "web", "--port", "0", "--", "--base-url", sim.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
            assert process.stdout is not None
            try:
                yield process.stdout.readline().strip()
            finally:
                process.send_signal(signal.SIGINT)
                assert process.wait(20) == 0


async def status(client: aiohttp.ClientSession, url: str, **headers: str) -> int:
    async with client.get(url, headers=headers) as answer:
        return answer.status


@pytest.mark.slow
async def test_only_the_printed_address_leads_in(address: str) -> None:
    root, _, token = address.rstrip("/").rpartition("/")
    assert len(token) == 32
    async with aiohttp.ClientSession() as client:
        async with client.get(address) as page:
            text = await page.text()
            assert page.status == 200
            assert page.headers["Referrer-Policy"] == "no-referrer"
        assert token in text
        # Nothing is loaded from elsewhere.
        assert text.count("://") == text.count(f"://{root.removeprefix('http://')}")
        wrong = token[:-1] + ("y" if token[-1] == "x" else "x")
        for path in ("/", "/ws", "/static/js/textual.js", f"/{wrong}/", f"/{wrong}/ws"):
            assert await status(client, root + path) == 404
        assert await status(client, address + "static/js/textual.js") == 200
        assert await status(client, address, Host="evil.example") == 403
        assert await status(client, address + "ws", Origin="http://evil.example") == 403

        async with client.ws_connect(address + "ws?width=80&height=24", headers={"Origin": root}) as socket:
            seen = b""
            await socket.send_str(json.dumps(["focus"]))
            async with asyncio.timeout(30):
                while b"laguna-sim" not in seen:
                    seen += (await socket.receive()).data
            await socket.send_str(json.dumps(["stdin", "/quit\r"]))
            async with asyncio.timeout(30):
                while not socket.closed:
                    await socket.receive()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_others_are_kept_out_unless_that_is_wanted(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert web.main(["--host", host]) == 2
    assert "--public" in capsys.readouterr().err


def test_a_port_that_is_taken_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with running(SimSettings()) as sim:
        assert web.main(["--port", sim.url.rpartition(":")[2]]) == 1
    assert "choose another --port" in capsys.readouterr().err
