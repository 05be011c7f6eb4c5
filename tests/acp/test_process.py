"""`pool acp` as an editor starts it: a process, and lines. Nothing but messages comes out of it, whatever goes in."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any

from pool.extend.acp.errors import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, REQUEST_CANCELLED
from tests.acp.desk import held
from tests.cases.driver import MODEL, ModelServer, answer, last_user

Json = dict[str, Any]

WAIT_SECONDS = 30.0
LINE_BYTES = 2**25
HUGE_CHARS = 10_000_000

PRINTING = """
import asyncio, os, sys, time
from pool.acp.agent import AcpAgent

async def noisy(self, params):
    print("stray words")
    os.system("echo of a child; cat")
    # A thread that hears no cancel: the process ends all the same.
    asyncio.get_running_loop().run_in_executor(None, time.sleep, 1000)
    return {}

AcpAgent._authenticate = noisy
from pool.cli.main import entry
sys.argv = ["pool", "acp", *sys.argv[1:]]
entry()
"""


NO_MESSAGES = (
    (b"{", PARSE_ERROR),
    (b"\xff\xfe", PARSE_ERROR),
    (b"[" * 100_000, PARSE_ERROR),
    (b"[]", INVALID_REQUEST),
    (b"7", INVALID_REQUEST),
    (b'{"id": 1}', INVALID_REQUEST),
    (b'{"id": true, "method": "initialize"}', INVALID_REQUEST),
    (b'{"id": 9e999, "method": "initialize"}', INVALID_REQUEST),
    (b'{"id": "x", "method": "dance"}', METHOD_NOT_FOUND),
)


class Process:
    """A running `pool acp`. rows are the messages that came from it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.rows: list[Json] = []
        self._number = 0

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def send(self, method: str, number: object = None, **params: Any) -> None:
        row = {"jsonrpc": "2.0", "method": method, "params": params}
        self.write(json.dumps(row if number is None else {**row, "id": number}).encode() + b"\n")

    async def read(self) -> Json | None:
        """The next message; None at the end."""
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        if not line:
            return None
        self.rows.append(json.loads(line))
        assert self.rows[-1]["jsonrpc"] == "2.0"
        return self.rows[-1]

    async def until(self, test: Callable[[Json], bool]) -> Json:
        async with asyncio.timeout(WAIT_SECONDS):
            while (row := await self.read()) is not None:
                if test(row):
                    return row
        raise AssertionError(f"it ended; the last was {self.rows[-1:]}")

    async def answered(self, number: object) -> Json:
        return await self.until(lambda row: row.get("id") == number and "method" not in row)

    async def ask(self, method: str, **params: Any) -> Json:
        self._number += 1
        self.send(method, self._number, **params)
        row = await self.answered(self._number)
        assert "result" in row, row
        return row["result"]

    async def ended(self) -> int:
        """Close stdin; the exit code, once all else was read."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(WAIT_SECONDS):
            while await self.read() is not None:
                pass
            return await self.process.wait()


@contextlib.asynccontextmanager
async def started(*flags: str, command: Sequence[str] = ("-m", "pool", "acp")) -> AsyncGenerator[Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *command, *flags),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=LINE_BYTES,
    )
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def flags(server: ModelServer) -> tuple[str, ...]:
    return ("--base-url", server.url, "--model", MODEL, "--sandbox", "off", "--mode", "allow-all")


async def test_nothing_but_messages_gets_out_whatever_goes_in(tmp_path: Path) -> None:
    begun, again = asyncio.Event(), asyncio.Event()

    def said(text: str) -> Json:
        return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}

    async with (
        ModelServer(answer("Read.")) as server,
        started(*flags(server), command=("-c", PRINTING)) as pool,
    ):
        for line, code in NO_MESSAGES:
            pool.write(line + b"\n")
            row = await pool.until(lambda row: "error" in row)
            assert row["error"]["code"] == code, line
        # Neither is answered: an answer to nothing, and notifications that are not known.
        pool.write(b'\n{"id": 77, "result": {}}\n{"method": "dance"}\n{"method": "session/cancel"}\n')
        assert (await pool.ask("initialize", protocolVersion=1))["agentInfo"]["name"] == "pool"
        assert await pool.ask("authenticate", methodId="x") == {}

        session = (await pool.ask("session/new", cwd=str(tmp_path), mcpServers=[]))["sessionId"]
        huge = "".join(f"{n:09} " for n in range(HUGE_CHARS // 10))
        # It depends on whether the server has said by then how much it takes.
        assert (await pool.ask("session/prompt", **said(huge)))["stopReason"] in ("max_tokens", "end_turn")

        session = (await pool.ask("session/new", cwd=str(tmp_path), mcpServers=[]))["sessionId"]
        server.bodies.clear()
        server.steps[:] = [held(begun), held(again)]
        pool.send("session/prompt", "p", **said("x\ud800y"))
        await begun.wait()
        assert "x\ufffdy" in last_user(server.bodies[-1])
        pool.send("$/cancel_request", requestId="p")
        assert (await pool.answered("p"))["error"]["code"] == REQUEST_CANCELLED

        pool.send("session/prompt", "q", **said("Wait."))
        await again.wait()
        # Half a line at the end is no message.
        pool.write(b'{"id": 9, "method": "initialize", "params": {"protocolVersion": 1')
        assert await pool.ended() == 0
        assert [r["result"]["stopReason"] for r in pool.rows if r.get("id") == "q"] == ["cancelled"]
        assert [r["error"]["code"] for r in pool.rows if "error" in r][-1] == PARSE_ERROR
        assert pool.process.stderr is not None
        words = (await pool.process.stderr.read()).decode()
        assert "stray words" in words
        assert "of a child" in words
