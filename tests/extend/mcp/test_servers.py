"""Real MCP servers from the registries in the sandbox, and hostile ones, each as a process."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pool.config.mcp import McpServer
from pool.extend.mcp import stdio
from pool.extend.mcp.server import State
from pool_tools import ToolError
from pool_tools.sandbox.base import Policy
from pool_tools.sandbox.probe import probe
from pool_tools.supervisor import descendants
from tests.extend.mcp.desk import HOSTILE, hostile, opened, real


def processes() -> list[str]:
    """Servers of this test that are still there."""
    own = descendants(os.getpid())
    listing = subprocess.run(["ps", "-axo", "pid=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if str(HOSTILE) in line and int(line.split()[0]) in own]


# -- real servers


async def test_real_servers_in_the_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As in an environment that was not activated: what the configuration names is seen all the same, under /tmp too.
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
    if probe(Policy((tmp_path,))).tier == "none":
        pytest.skip("no sandbox works here")
    repository = tmp_path / "work"
    repository.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", str(repository)], check=True)
    (repository / "new.txt").write_text("x")
    (tmp_path / "own").mkdir()
    script = shutil.copy(HOSTILE, tmp_path / "own" / "server.py")
    own = McpServer("own", command=sys.executable, args=("-I", "-S", str(script), "env"))
    time_server = real("time", "--local-timezone", "Etc/UTC")
    async with opened(tmp_path, time_server, real("git"), own, sandboxed=True) as desk:
        found = await desk.find("current time")
        now = await desk.call("mcp__time__get_current_time", timezone="Asia/Tokyo")
        status = await desk.call("mcp__git__git_status", repo_path=str(repository))
        with pytest.raises(ToolError, match="timezone"):
            await desk.call("mcp__time__get_current_time")
        assert (await desk.call("mcp__own__work")).ok
        wrong = await desk.call("mcp__time__get_current_time", timezone="Nowhere/Never")
        names = [(one.name, one.state, len(one.tools)) for one in desk.servers.status()]
    assert found.startswith("mcp__time__get_current_time: ")
    assert '"timezone"' in found
    assert (now.ok, json.loads(now.text)["timezone"]) == (True, "Asia/Tokyo")
    assert status.ok
    assert "new.txt" in status.text
    assert not wrong.ok
    assert names[0] == ("time", State.READY, 2)
    assert names[1][2] >= 8
    assert desk.warnings == []


NODE_SERVERS = tuple(shutil.which(f"mcp-server-{name}") for name in ("filesystem", "everything"))
"""The reference servers that are written for Node: `npm install -g @modelcontextprotocol/server-NAME`."""


@pytest.mark.skipif(not all(NODE_SERVERS), reason="the reference servers for Node are not installed")
async def test_reference_servers_of_node_in_the_sandbox(tmp_path: Path) -> None:
    if probe(Policy((tmp_path,))).tier == "none":
        pytest.skip("no sandbox works here")
    files, everything = map(str, NODE_SERVERS)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("here")
    (tmp_path / "secret.txt").write_text("elsewhere")
    servers = (
        McpServer("filesystem", command=files, args=(str(tmp_path / "work"),)),
        McpServer("everything", command=everything),
    )
    async with opened(tmp_path, *servers, sandboxed=True) as desk:
        await desk.find("file")
        states = [(one.name, one.state, one.reason) for one in desk.servers.status()]
        assert {state for _, state, _ in states} == {State.READY}, states
        read = await desk.call("mcp__filesystem__read_text_file", path=str(tmp_path / "work" / "a.txt"))
        outside = await desk.call("mcp__filesystem__read_text_file", path=str(tmp_path / "secret.txt"))
        echo = await desk.call("mcp__everything__echo", message="hello")
        image = await desk.call("mcp__everything__get-tiny-image")
        total = await desk.call("mcp__everything__get-sum", a=2, b="3")
    assert (read.text, outside.ok) == ("here", False)
    assert echo.text == "Echo: hello"
    assert "[image: image/png" in image.text
    assert "5" in total.text


async def test_tools_known_from_before_are_listed_until_the_share_is_full(tmp_path: Path) -> None:
    servers = (hostile("env"), hostile("crowd"))
    async with opened(tmp_path, *servers) as desk:
        assert list(desk.tools) == ["find_tool", "call_tool"]
        await desk.find()
    async with opened(tmp_path, *servers) as desk:
        assert list(desk.tools) == ["find_tool", "call_tool", "mcp__env__work"]
        assert all(one.state is State.WAITING for one in desk.servers.status())
        answer = await desk.tools["mcp__env__work"].run({}, lambda _: None)
        assert answer.ok
        # What does not fit the share is reached by the pair, from the cache too, before its server runs.
        assert (await desk.call("mcp__crowd__tool_7", n=1)).text == 'tool_7 {"n": 1}'
    async with opened(tmp_path, *servers, share=0.0) as desk:
        assert list(desk.tools) == ["find_tool", "call_tool"]
    other = hostile("env", env=(("A", "1"),))
    async with opened(tmp_path, other) as desk:
        assert list(desk.tools) == ["find_tool", "call_tool"]


async def test_a_session_gone_on_with_keeps_the_tools_that_it_had(tmp_path: Path) -> None:
    async with opened(tmp_path, hostile("env"), hostile("names")) as desk:
        await desk.find()
        kept = desk.servers.choose_listed(0, keep={"read", "mcp__names__ok"})
        assert [tool.name for tool in kept] == ["mcp__names__ok"]


# -- bad ones


async def test_bad_servers_are_named_and_hold_nobody_up(tmp_path: Path) -> None:
    """CONF-04: one never answers, one exits, one prints a banner first, one is slow."""
    exits = hostile("exits", env=(("X", "${POOL_TEST_NOT_SET}"),))
    bad = (hostile("hang", start_seconds=0.5), hostile("banner"), hostile("slow-start"), exits, hostile("junk"))
    async with opened(tmp_path, *bad) as desk:
        desk.servers.begin()
        assert [one.state for one in desk.servers.status()] == [State.STARTING] * 5
        found = await desk.find("work")
        states = {one.name: one.state for one in desk.servers.status()}
    assert states["banner"] is states["slow-start"] is State.READY
    assert states["hang"] is states["exits"] is states["junk"] is State.FAILED
    assert "mcp__slow-start__work" in found
    assert "hang: failed, it did not start within 0.5 s" in found
    assert "POOL_TEST_NOT_SET is not set" in found
    assert "lines to its output that are no messages" in found
    assert len(desk.warnings) == 3
    assert processes() == []


async def test_a_program_that_is_not_there_or_ends_at_once(tmp_path: Path) -> None:
    missing = hostile("a")
    missing = type(missing)("missing", command="pool-test-no-such-program", sandbox=False)
    ends = type(missing)("ends", command="sh", args=("-c", "echo broken config >&2; exit 4"))
    async with opened(tmp_path, missing, ends) as desk:
        found = await desk.find()
    assert "missing: failed, pool-test-no-such-program is not installed" in found
    assert "ends: failed, it ended with status 4 (it said: broken config)" in found


async def test_a_server_that_dies_is_started_anew_a_few_times(tmp_path: Path) -> None:
    async with opened(tmp_path, hostile("die")) as desk:
        for _ in range(3):
            with pytest.raises(ToolError, match=r"lost during the call: it ended with status 3.*next call starts it"):
                await desk.call("mcp__die__work")
        with pytest.raises(ToolError, match="not started again"):
            await desk.call("mcp__die__work")
        began = time.monotonic()
        with pytest.raises(ToolError, match=r"does not work: it ended with status 3 \(it said: about to die\)"):
            await desk.call("mcp__die__work")
        assert time.monotonic() - began < 0.1
    assert processes() == []


async def test_a_call_ends_at_its_limit_and_when_it_is_cancelled(tmp_path: Path) -> None:
    async with opened(tmp_path, hostile("sleepy", call_seconds=0.3)) as desk:
        with pytest.raises(ToolError, match=r"no answer within 0\.3 s"):
            await desk.call("mcp__sleepy__work")
    async with opened(tmp_path, hostile("sleepy")) as desk:
        await desk.find()
        calling = asyncio.ensure_future(desk.call("mcp__sleepy__work"))
        await asyncio.sleep(0.1)
        calling.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert time.monotonic() - began < 0.5
    assert processes() == []


async def test_a_flood_and_a_message_without_end_cut_the_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "UNASKED_MOST", 300)
    monkeypatch.setattr(stdio, "MESSAGE_BYTES_MOST", 2_000_000)
    async with opened(tmp_path, hostile("flood"), hostile("huge")) as desk:
        with pytest.raises(ToolError, match="301 messages that nobody asked for"):
            await desk.call("mcp__flood__work")
        with pytest.raises(ToolError, match="a message of more than 2,000,000 bytes"):
            await desk.call("mcp__huge__work")


async def test_a_result_of_ten_megabytes_is_cut_and_kept_in_a_file(tmp_path: Path) -> None:
    async with opened(tmp_path, hostile("huge")) as desk:
        answer = await desk.call("mcp__huge__work")
        assert answer.ok
        assert len(answer.text) < 20_000
        assert answer.text.startswith("line 0\n")
        assert answer.text.endswith("line 1199999")
        path = answer.text.partition("the whole output is in ")[2].partition(",")[0]
        assert Path(path).stat().st_size > 10_000_000


async def test_odd_and_equal_names(tmp_path: Path) -> None:
    async with opened(tmp_path, hostile("names")) as desk:
        await desk.find()
        tools = {tool.name: tool for tool in desk.servers.known()}
        assert len(tools) == 6
        assert tools["mcp__names__ok"].description == "a tool"
        assert all(len(name) <= 64 and name.isascii() and name.replace("-", "_").isidentifier() for name in tools)
        slash = next(name for name, tool in tools.items() if tool.original == "a b/c")
        assert (await desk.call(slash, n="3")).text == 'a b/c {"n": 3}'
        with pytest.raises(ToolError, match="no MCP tool 'mcp__names__other'"):
            await desk.call("mcp__names__other")


async def test_a_list_that_changes_is_found_and_changes_no_listed_tool(tmp_path: Path) -> None:
    async with opened(tmp_path, hostile("changing")) as desk:
        before = list(desk.tools)
        await desk.call("mcp__changing__work")
        async with asyncio.timeout(5):
            while "mcp__changing__new_1" not in await desk.find("new"):
                await asyncio.sleep(0.05)
        assert (await desk.call("mcp__changing__new_1", n=2)).ok
        assert list(desk.tools) == before


async def test_text_of_a_server_is_data(tmp_path: Path) -> None:
    async with opened(tmp_path, hostile("escapes")) as desk:
        found = await desk.find("red")
        answer = await desk.call("mcp__escapes__red")
        await desk.find()
        preview = desk.tools["call_tool"].preview({"name": "mcp__escapes__reader", "arguments": {"n": 1}})
    assert "\\x1b[31mred" in found
    assert "\x1b" not in found + answer.text
    assert "\u202e" not in found
    assert "[image: image/png, 300 bytes, not shown]" in answer.text
    first, *rest = preview.body.partition("}\n")[2].splitlines()
    assert preview.body.startswith('mcp__escapes__reader {\n "n": 1\n}\n')
    assert first.startswith("The server runs as commands do: ")
    assert rest == ["The server says that this only reads."]


async def test_a_server_sees_a_clean_environment_and_what_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "abc")
    monkeypatch.setenv("OTHER_SECRET", "hidden")
    async with opened(tmp_path, hostile("env", env=(("GIVEN", "x ${MY_TOKEN}"),))) as desk:
        seen = json.loads((await desk.call("mcp__env__work")).text)
    assert seen["GIVEN"] == "x abc"
    assert "OTHER_SECRET" not in seen
    assert "MY_TOKEN" not in seen
