"""Grants: for a time or for the session, listed and taken back; through the real proxy and sandbox."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pool_tools.network.grants import Grants, seconds_of
from pool_tools.network.rules import RuleError, allow_list
from pool_tools.network.session import SessionNetwork
from pool_tools.sandbox.base import NoSandbox, Policy
from pool_tools.sandbox.landlock import Landlock
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace

from ..conftest import bubblewrap
from .conftest import listening


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_grant_ends_by_itself_or_when_it_is_taken_back() -> None:
    clock = Clock()
    grants = Grants(allow_list(["base.example"]), clock)
    timed = grants.add("a.example", allow_list(["a.example"]), 600.0)
    grants.add("b.example", allow_list(["b.example"]))
    assert str(grants.allow) == "base.example, a.example, b.example"
    assert grants.seconds_left(timed) == 600.0
    clock.now += 599
    assert grants.allow.rule("a.example", 443)
    clock.now += 1
    assert not grants.allow.rule("a.example", 443)
    assert [grant.text for grant in grants.current()] == ["b.example"]
    assert grants.revoke("b.example")
    assert not grants.revoke("b.example")
    assert str(grants.allow) == "base.example"


def test_a_grant_is_made_longer_and_never_shorter() -> None:
    clock = Clock()
    grants = Grants(allow_list([]), clock)
    hosts = allow_list(["a.example"])
    assert grants.add("a", hosts, 60.0).until == 160.0
    assert grants.add("a", hosts, 600.0).until == 700.0
    assert grants.add("a", hosts, 60.0).until == 700.0
    assert grants.add("a", hosts).until is None
    assert grants.add("a", hosts, 60.0).until is None


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30.0), ("10m", 600.0), (" 2H ", 7_200.0)])
def test_times(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "0m", "-5m", "1d", "m", "1.5h", "٣m", "9999999s"])
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(RuleError, match="no time"):
        seconds_of(text)


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[tuple[SessionNetwork, Toolbox]]:
    """A session that began without a network."""
    sandbox = bubblewrap(folder)
    workspace = Workspace(folder)
    network = SessionNetwork(sandbox, {}, (folder,), folder.parent / "caches")
    toolbox = Toolbox(workspace, sandbox, None, network)
    try:
        yield network, toolbox
    finally:
        await toolbox.close()
        await network.close()
        sandbox.close()
        workspace.close()


async def shell(toolbox: Toolbox, command: str, name: str = "shell") -> str:
    tool = next(tool for tool in toolbox.tools if tool.spec.name == name)
    args = {"command": command, "action": "start"} if name == "job" else {"command": command}
    return (await tool.run(args, lambda _: None)).text


async def hello(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server that stands for a test database."""
    writer.write(b"hello from the database\n")
    writer.close()


def ask_port(port: int) -> str:
    return f"exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3"


@pytest.mark.parametrize("job", [False, True], ids=["alone", "shared"])
async def test_a_port_of_this_machine_while_it_is_granted(folder: Path, job: bool) -> None:
    async with listening(hello) as port, opened(folder) as (network, toolbox):
        if job:
            assert "running" in await shell(toolbox, "sleep 30", "job")
        assert "hello" not in await shell(toolbox, ask_port(port))
        grant = await network.grant(f"localhost:{port}", 60.0)
        assert [g.text for g in network.grants()] == [grant.text]
        assert "hello from the database" in await shell(toolbox, ask_port(port))
        assert network.revoke(grant.text)
        assert "hello" not in await shell(toolbox, ask_port(port))
        assert network.listed == "no host"


async def test_the_model_servers_port_is_never_granted(folder: Path) -> None:
    async with listening(hello) as port, opened(folder) as (network, toolbox):
        await network.forbid("127.0.0.1", port)
        for what in (f"localhost:{port}", f"127.0.0.1:{port}", f"example.org,localhost:{port}"):
            with pytest.raises(RuleError, match="is the model server, which commands never reach"):
                await network.grant(what)
        assert network.grants() == ()
        assert "hello" not in await shell(toolbox, ask_port(port))


async def test_a_host_is_asked_about_once_and_again_when_its_grant_has_ended(folder: Path) -> None:
    asked: list[str] = []
    async with opened(folder) as (network, toolbox):

        async def ask(host: str, port: int) -> bool:
            asked.append(f"{host}:{port}")
            if host == "good.invalid":
                await network.grant(host, 60.0)
            return host == "good.invalid"

        network.ask_with(ask)
        await network.grant("known.invalid")
        fetch = "python3 -c \"import urllib.request as u; u.urlopen('http://{}/')\" 2>&1 | tail -1"
        for _ in range(2):
            assert "is not on the list" in await shell(toolbox, fetch.format("bad.invalid"))
            assert "has no address" in await shell(toolbox, fetch.format("good.invalid"))
        assert asked == ["bad.invalid:80", "good.invalid:80"]
        network.revoke("good.invalid")
        await shell(toolbox, fetch.format("good.invalid"))
    assert asked == ["bad.invalid:80", "good.invalid:80", "good.invalid:80"]


async def test_what_cannot_be_granted(folder: Path) -> None:
    async with opened(folder) as (network, _):
        for what in ("", "on", "off", "https://example.org", "localhost", "*", "example.org,on"):
            with pytest.raises(RuleError):
                await network.grant(what)
    for sandbox, why in ((NoSandbox(), "nothing limits"), (Landlock(Policy((folder,)), 7), "cannot hold a list")):
        network = SessionNetwork(sandbox, dict(os.environ))
        with pytest.raises(RuleError, match=why):
            await network.grant("example.org")
        sandbox.close()
