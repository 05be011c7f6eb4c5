"""`pool acp` as an editor starts it: a process, and lines. Nothing but messages comes out of it, whatever goes in."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any

from pool.acp.errors import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, REQUEST_CANCELLED
from tests.acp.desk import held
from tests.cases.driver import MODEL, ModelServer, answer, call, last_user

Json = dict[str, Any]

WAIT_SECONDS = 30.0
LINE_BYTES = 2**25
HUGE_CHARS = 10_000_000

PRINTING = """
import os, sys
from pool.acp.agent import AcpAgent

async def noisy(self, params):
    print("stray words")
    os.system("echo of a child; cat")
    return {}

AcpAgent._authenticate = noisy
from pool.cli.main import entry
sys.argv = ["pool", "acp", *sys.argv[1:]]
entry()
"""


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


async def test_what_is_no_message_is_answered_and_nothing_else_gets_out() -> None:
    async with started(command=("-c", PRINTING)) as pool:
        for line, code in (
            (b"{", PARSE_ERROR),
            (b"\xff\xfe", PARSE_ERROR),
            (b"[" * 100_000, PARSE_ERROR),
            (b"[]", INVALID_REQUEST),
            (b"7", INVALID_REQUEST),
            (b'{"id": 1}', INVALID_REQUEST),
            (b'{"id": true, "method": "initialize"}', INVALID_REQUEST),
            (b'{"id": "x", "method": "dance"}', METHOD_NOT_FOUND),
        ):
            pool.write(line + b"\n")
            row = await pool.until(lambda row: "error" in row)
            assert row["error"]["code"] == code, line
        # Neither is answered: an answer to nothing, and notifications that are not known.
        pool.write(b'\n{"id": 77, "result": {}}\n{"method": "dance"}\n{"method": "session/cancel"}\n')
        assert (await pool.ask("initialize", protocolVersion=1))["agentInfo"]["name"] == "pool"
        assert await pool.ask("authenticate", methodId="x") == {}
        # Half a line at the end is no message; a whole one without its line end is one.
        pool.write(b'{"id": 9, "method": "initialize", "params": {"protocolVersion": 1')
        assert await pool.ended() == 0
        assert pool.rows[-1]["error"]["code"] == PARSE_ERROR
        assert pool.process.stderr is not None
        said = (await pool.process.stderr.read()).decode()
        assert "stray words" in said
        assert "of a child" in said


async def test_huge_prompts_a_prompt_taken_back_and_an_editor_that_goes(tmp_path: Path) -> None:
    begun, again = asyncio.Event(), asyncio.Event()
    async with ModelServer(answer("Read.")) as server, started(*flags(server)) as pool:
        await pool.ask("initialize", protocolVersion=1)
        session = (await pool.ask("session/new", cwd=str(tmp_path), mcpServers=[]))["sessionId"]
        huge = "".join(f"{n:09} " for n in range(HUGE_CHARS // 10))
        done = await pool.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": huge}])
        assert done["stopReason"] == "max_tokens"

        session = (await pool.ask("session/new", cwd=str(tmp_path), mcpServers=[]))["sessionId"]
        server.bodies.clear()
        server.steps[:] = [held(begun)]
        pool.send("session/prompt", "p", sessionId=session, prompt=[{"type": "text", "text": "x\ud800y"}])
        await begun.wait()
        assert "x\ufffdy" in last_user(server.bodies[-1])
        pool.send("$/cancel_request", requestId="p")
        assert (await pool.answered("p"))["error"]["code"] == REQUEST_CANCELLED

        server.bodies.clear()
        server.steps[:] = [held(again)]
        session = (await pool.ask("session/new", cwd=str(tmp_path), mcpServers=[]))["sessionId"]
        pool.send("session/prompt", "q", sessionId=session, prompt=[{"type": "text", "text": "Wait."}])
        await again.wait()
        assert await pool.ended() == 0
        assert [r["result"]["stopReason"] for r in pool.rows if r.get("id") == "q"] == ["cancelled"]


def flags(server: ModelServer) -> tuple[str, ...]:
    return ("--base-url", server.url, "--model", MODEL, "--sandbox", "off", "--mode", "allow-all")


def update_of(row: Json) -> Json:
    """The update that a message holds."""
    params: Json = row.get("params", {})
    return params.get("update", {})


def running(pool: Process) -> bool:
    return any(update_of(row).get("status") == "in_progress" for row in pool.rows)


async def test_killed_in_a_tool_and_loaded_again(tmp_path: Path) -> None:
    steps = call("shell", command="echo here; exec sleep 60"), answer("Where was I?")
    async with ModelServer(*steps) as server:
        async with started(*flags(server)) as pool:
            await pool.ask("initialize", protocolVersion=1)
            session = (await pool.ask("session/new", cwd=str(tmp_path), mcpServers=[]))["sessionId"]
            pool.send("session/prompt", "p", sessionId=session, prompt=[{"type": "text", "text": "Go."}])
            await pool.until(
                lambda row: (
                    "here" in json.dumps(row.get("params", {}).get("update", {}).get("content", ""))
                    and "in_progress" in json.dumps(pool.rows)
                )
            )
            os.kill(pool.process.pid, signal.SIGKILL)
        async with started(*flags(server)) as pool:
            await pool.ask("initialize", protocolVersion=1)
            await pool.ask("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
            told = [row["params"]["update"] for row in pool.rows if row.get("method") == "session/update"]
            assert told[0]["content"]["text"] == "Go."
            assert [u["status"] for u in told if u.get("toolCallId") == "c1"][-1] == "failed"
            done = await pool.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "And?"}])
            assert done["stopReason"] == "end_turn"
            assert await pool.ended() == 0
