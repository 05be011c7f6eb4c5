"""MCP servers through the whole agent: the prefix, approvals, rules, the command, start-up."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pool.agent.commands.table import execute
from pool.agent.control import Conversation
from pool.config.mcp import McpServer, McpSettings
from pool.config.settings import Mode
from pool.events import CallFinished, Notice
from pool.extend.mcp.known import server_prefix
from tests.cases.driver import Json, ModelServer, answer, call, driving
from tests.extend.mcp.desk import hostile

PAIR_TOKENS_MOST = 200
CHARS_PER_TOKEN = 4


def using(*servers: McpServer, **more: Any) -> McpSettings:
    return McpSettings(servers, **more)


def names(body: Json) -> list[str]:
    return [tool["function"]["name"] for tool in body["tools"]]


def called(name: str, **arguments: Any) -> Any:
    return call("call_tool", "c2", name=name, arguments=arguments)


async def test_a_tool_is_found_and_called_and_the_prefix_stays(tmp_path: Path) -> None:
    steps = (call("find_tool", "c1", query="work"), called("mcp__env__work"), answer("Done."))
    async with (
        ModelServer(*steps) as server,
        driving(server.url, tmp_path, mcp=using(hostile("env")), allow=("mcp__env__*",)) as driver,
    ):
        run = await driver.run()
    assert run.calls == [("find_tool", "ok"), ("call_tool", "ok")]
    assert server.complaints == []
    assert names(server.bodies[0])[-2:] == ["find_tool", "call_tool"]
    pair = json.dumps(server.bodies[0]["tools"][-2:])
    assert len(pair) / CHARS_PER_TOKEN < PAIR_TOKENS_MOST


async def test_nothing_runs_unasked_without_a_rule(tmp_path: Path) -> None:
    steps = (called("mcp__env__work"), answer("Done."))
    async with (
        ModelServer(*steps) as server,
        driving(server.url, tmp_path, mcp=using(hostile("env")), mode=Mode.AUTO) as driver,
    ):
        run = await driver.run()
    (finished,) = run.of(CallFinished)
    assert finished.status == "denied"
    assert "--allow mcp__env__work" in finished.text


async def test_a_rule_about_one_server_is_about_no_other(tmp_path: Path) -> None:
    servers = (hostile("env"), replace(hostile("banner"), name="env__more"))
    other = f"{server_prefix('env__more')}work"
    steps = (call("find_tool", "c1", query=other), called(other), answer("Done."))
    async with (
        ModelServer(*steps) as server,
        driving(server.url, tmp_path, mcp=using(*servers), mode=Mode.DEFAULT, allow=("mcp__env__*",)) as driver,
    ):
        run = await driver.run()
    assert run.calls == [("find_tool", "ok"), ("call_tool", "denied")]
    assert f"{other}: does work" in server.bodies[1]["messages"][-1]["content"]


async def test_a_hanging_server_delays_no_request_and_is_named(tmp_path: Path) -> None:
    servers = using(hostile("hang", start_seconds=0.3), hostile("slow-start"))
    steps = (call("find_tool", "c1", query=""), answer("Done."))
    async with ModelServer(*steps) as server, driving(server.url, tmp_path, mcp=servers) as driver:
        began = time.monotonic()
        run = await driver.run()
        took = time.monotonic() - began
        told = [event.body.text for event in driver.events if isinstance(event.body, Notice)]
    assert run.calls == [("find_tool", "ok")]
    assert took < 8
    assert any("the MCP server hang does not work: it did not start within 0.3 s" in text for text in told)
    assert "mcp__slow-start__work" in server.bodies[1]["messages"][-1]["content"]


async def test_sixty_tools_leave_a_small_window_free(tmp_path: Path) -> None:
    """CTX-08: 60 tools, a window of 16,384 tokens: the pair stands in for them, and what it takes is shown."""
    steps = (call("find_tool", "c1", query=""), answer("Done."))
    for expected in (["find_tool", "call_tool"], ["find_tool", "call_tool"]):
        async with (
            ModelServer(*steps) as server,
            driving(server.url, tmp_path, mcp=using(hostile("crowd")), window=16_384) as driver,
        ):
            await driver.run()
            talk = Conversation(driver.session)
            shown = await execute("/mcp", talk)
            tools = await execute("/mcp crowd", talk)
            parts = {part.name: part for part in talk.context().parts}
        assert [name for name in names(server.bodies[0]) if "tool" in name] == expected
        assert parts["MCP tools"].share < 0.05
        assert shown.rows is not None
        assert shown.rows.rows[0][:4] == ("crowd", "ready", "60", "0")
        assert tools.rows is not None
        assert len(tools.rows.rows) == 60


async def test_a_session_that_is_gone_on_with_has_the_same_tools(tmp_path: Path) -> None:
    """Its prefix holds, though the tools are known by now and would fit into the share; a new session lists them."""
    servers = using(hostile("env"))
    steps = (call("find_tool", "c1", query=""), answer("Done."))
    bodies: list[Json] = []
    for again in (False, True, False):
        async with (
            ModelServer(*(steps if not bodies else steps[1:])) as server,
            driving(server.url, tmp_path / "work", mcp=servers, continue_last=again) as driver,
        ):
            await driver.run()
        bodies.append(server.bodies[-1])
    assert bodies[1]["tools"] == bodies[0]["tools"]
    assert names(bodies[2])[-3:] == ["find_tool", "call_tool", "mcp__env__work"]


async def test_the_command_without_servers_and_with_a_wrong_name(tmp_path: Path) -> None:
    async with ModelServer(answer("Done.")) as server, driving(server.url, tmp_path) as driver:
        assert "pool mcp add" in (await execute("/mcp", Conversation(driver.session))).lines[0]
    async with (
        ModelServer(answer("Done.")) as server,
        driving(server.url, tmp_path, mcp=using(hostile("env"))) as driver,
    ):
        assert not (await execute("/mcp other", Conversation(driver.session))).ok


@pytest.mark.parametrize("disabled", [True, False])
async def test_a_disabled_server_is_not_there(tmp_path: Path, disabled: bool) -> None:
    servers = using(hostile("env", disabled=disabled))
    async with ModelServer(answer("Done.")) as server, driving(server.url, tmp_path, mcp=servers) as driver:
        await driver.run()
    assert ("find_tool" in names(server.bodies[0])) is not disabled
