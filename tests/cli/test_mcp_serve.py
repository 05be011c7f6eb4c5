"""`pool mcp serve` as another agent sees it: the official SDK's client before a real process."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from pool.cli.mcp.command import main
from tests.cases.driver import ModelServer, Step, answer, call
from tests.wire.scripted import Exchange

ROOT = Path(__file__).parents[2]
SLEEP = 7_654_321


def environment(home: Path, **more: str) -> dict[str, str]:
    own = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "STATE", "DATA", "CACHE")}
    return {**os.environ, **own, "PYTHONPATH": ":".join(str(ROOT / p) for p in (".", "tools", "themes")), **more}


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def page_words(work: Path) -> list[str]:
    """The words of the example in docs/mcp.md, for another folder."""
    (block,) = re.findall(r"```json\n(.*?)```", (ROOT / "docs" / "mcp.md").read_text("utf-8"), re.DOTALL)
    given = json.loads(block)["mcpServers"]["pool"]
    assert given["command"] == "pool"
    return [str(work) if word == "/path/of/the/project" else word for word in given["args"]]


@asynccontextmanager
async def served(folder: Path, *flags: str) -> AsyncGenerator[ClientSession]:
    work = folder / "work"
    work.mkdir(exist_ok=True)
    argv = ["-m", "pool", *page_words(work), *flags]
    parameters = StdioServerParameters(command=sys.executable, args=argv, env=environment(folder))
    with (folder / "stderr").open("w") as stderr:
        async with stdio_client(parameters, errlog=stderr) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            yield session


async def test_tools_in_the_sandbox_and_a_task_for_another_agent(tmp_path: Path) -> None:
    """Reading and writing in the workspace and nowhere else, secrets not at all, a task with progress, and one cut."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".env").write_text("KEY=s3cret-value\n")
    (tmp_path / "outside.txt").write_text("outside\n")
    hanging, left = asyncio.Event(), asyncio.Event()

    async def hang(exchange: Exchange) -> None:
        hanging.set()
        await exchange.client_closed()
        left.set()

    last: list[Step] = [hang]
    steps: tuple[Step, ...] = (call("write", "c1", path="made.txt", content="by a task\n"), answer("It is made."))
    told: list[tuple[float, str | None]] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    flags = ("--model", "laguna-test", "--mode", "auto")
    async with ModelServer(*steps) as model, served(tmp_path, *flags, "--base-url", model.url) as session:
        listed = (await session.list_tools()).tools
        assert [tool.name for tool in listed] == ["read", "search", "edit", "write", "shell", "run_task"]
        hints = [tool.annotations.read_only_hint for tool in listed if tool.annotations]
        assert hints == [True, True, False, False, False, False]
        wrote = await session.call_tool("write", {"path": "a.txt", "content": "one\n"})
        assert not wrote.is_error
        assert "one" in text_of(await session.call_tool("read", {"path": "a.txt"}))
        for name, arguments, said in (
            ("write", {"path": "../outside.txt", "content": "x"}, "outside"),
            ("read", {"path": ".env"}, "Denied: nobody is there to approve it"),
            ("read", {}, "was not run"),
            ("git", {"action": "push"}, "There is no tool 'git'"),
            ("run_task", {"prompt": "x", "mode": "allow-all"}, "wider than auto"),
        ):
            result = await session.call_tool(name, arguments)
            assert result.is_error
            assert said in text_of(result)
        done = await session.call_tool("run_task", {"prompt": "make it", "max_turns": 5}, progress_callback=progress)
        assert text_of(done).startswith("It is made.\n\nstopped: completed\nchanged: made.txt (+1 -0)\n2 turns")
        assert "; session " in text_of(done)
        assert [message for _, message in told] == ["turn 1", "write", "turn 2"]
        command = asyncio.create_task(session.call_tool("shell", {"command": f"touch begun; sleep {SLEEP}"}))
        while not (tmp_path / "work" / "begun").exists():
            await asyncio.sleep(0.01)
        command.cancel()
        # Commands run one after the other: this one waits until that one has ended.
        assert "after" in text_of(await session.call_tool("shell", {"command": "echo after"}))
        listing = subprocess.run(["ps", "-axo", "args="], capture_output=True, text=True, check=True).stdout
        assert f"sleep {SLEEP}" not in listing
        model.steps, model.bodies = last, []
        cut = asyncio.create_task(session.call_tool("run_task", {"prompt": "never ends"}))
        await hanging.wait()
        cut.cancel()
        await left.wait()
        assert (tmp_path / "work" / "made.txt").read_text() == "by a task\n"
    assert (tmp_path / "outside.txt").read_text() == "outside\n"
    assert "s3cret-value" not in (tmp_path / "stderr").read_text()


async def test_over_http_with_a_token(tmp_path: Path) -> None:
    """By default only what reads is offered."""
    (tmp_path / "a.txt").write_text("here\n")
    env = environment(tmp_path, POOL_MCP_TOKEN="t0ken")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pool", "mcp", "serve", "-C", str(tmp_path), "--port", "0"),
        env=env,
        stderr=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        url = ""
        while not url:
            line = (await process.stderr.readline()).decode()
            assert line
            url = found[0] if (found := re.search(r"http://127\.0\.0\.1:\d+/mcp", line)) else ""
        body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        async with httpx2.AsyncClient() as bare:
            assert (await bare.post(url, json=body)).status_code == 401
            wrong = {"Authorization": "Bearer t0ken", "Host": "evil.example"}
            assert (await bare.post(url, json=body, headers=wrong)).status_code >= 400
        async with (
            httpx2.AsyncClient(headers={"Authorization": "Bearer t0ken"}) as client,
            streamable_http_client(url, http_client=client) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            assert [tool.name for tool in (await session.list_tools()).tools] == ["read", "list", "search"]
            assert "here" in text_of(await session.call_tool("read", {"path": "a.txt"}))
    finally:
        process.terminate()
        out, _ = await process.communicate()
    assert out == b""


def test_a_tool_that_there_is_not(tmp_path: Path, capsys: Any) -> None:
    assert main(["serve", "-C", str(tmp_path), "--tools", "red", "--sandbox", "off"]) == 2
    assert "there is no tool 'red'; there are read, " in capsys.readouterr().err
