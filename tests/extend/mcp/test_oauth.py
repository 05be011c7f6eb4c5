"""Logins by OAuth: `pool mcp login` as a process before a real server, and sessions that use what it left."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from pool.config.keyrings import Keyring
from pool.config.mcp import HTTP, McpServer
from pool.config.settings import SettingsError
from pool.extend.mcp.logins import FOLDER, Login, Logins
from pool.extend.mcp.server import State
from tests.extend.mcp.desk import opened
from tests.extend.mcp.oauthserver import guarded

ROOT = Path(__file__).parents[3]


def environment(folder: Path) -> dict[str, str]:
    """Without a keyring: no session bus."""
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("DBUS", "XDG", "SSH", "PYTHON_KEY"))
    }
    own = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CONFIG", "STATE", "DATA", "CACHE")}
    return {**env, **own, "PYTHONPATH": ":".join(str(ROOT / p) for p in (".", "tools", "themes"))}


async def login(folder: Path, *flags: str, paste: Callable[[str], str] | None = None) -> tuple[int, str]:
    """`pool mcp login`, with a browser that follows what it shows; paste makes of where that leads what is typed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pool", "mcp", "login", "guarded", "-C", str(folder / "work"), *flags),
        env=environment(folder),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    said = b""
    while line := await process.stdout.readline():
        said += line
        if found := re.match(rb"http://127\.0\.0\.1:\d+/authorize\?\S+", line):
            async with httpx2.AsyncClient() as browser:
                back = (await browser.get(found[0].decode())).headers["location"]
                if paste is None:
                    assert (await browser.get(back)).status_code == 200
                else:
                    process.stdin.write(paste(back).encode() + b"\n")
    return await process.wait(), said.decode()


def kept_in(folder: Path) -> Path:
    (found,) = (folder / "config" / "pool" / FOLDER).iterdir()
    return found


async def test_a_login_is_made_used_renewed_and_forgotten(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    own = tmp_path / "config" / "pool"
    own.mkdir(parents=True)
    async with guarded() as (url, desk):
        (own / "config.toml").write_text(f'[mcp_servers.guarded]\nurl = "{url}"\n')
        server = McpServer("guarded", url=url, transport=HTTP)
        logins = Logins(own, Keyring({}))

        async with opened(tmp_path, server, logins=logins) as session:
            assert "wants a login (HTTP 401); `pool mcp login guarded`" in await session.find()

        status, said = await login(tmp_path)
        assert (status, said.splitlines()[-1]) == (0, f"logged in at guarded; kept in {kept_in(tmp_path)}")
        assert kept_in(tmp_path).stat().st_mode & 0o077 == 0
        assert not any(token in said for token in [*desk.access, *desk.refresh])

        async with opened(tmp_path, server, logins=logins) as session:
            assert (await session.call("mcp__guarded__add", a=2, b=3)).text == "5"
        assert desk.renewed == 0

        # The token ran out while no session was open; then it was taken back, though it seemed to hold.
        for spoilt in ({"expires": time.time() - 1}, {}):
            body = json.loads(kept_in(tmp_path).read_text())
            kept_in(tmp_path).write_text(json.dumps({**body, **spoilt}))
            desk.access.clear()
            async with opened(tmp_path, server, logins=logins) as session:
                assert (await session.call("mcp__guarded__add", a=2, b=3)).text == "5"
        assert desk.renewed == 2

        desk.access.clear()
        desk.refresh.clear()
        asked = desk.asked
        async with opened(tmp_path, server, logins=logins) as session:
            assert "the login has expired or was taken back; `pool mcp login guarded`" in await session.find()
            assert {one.state for one in session.servers.status()} == {State.FAILED}
        assert desk.asked == asked

        # From another machine's browser: what it was sent to is pasted, after a try that is no such address.
        status, said = await login(tmp_path, "--no-browser", paste=lambda back: f"what?\n{back}")
        assert status == 0
        assert "it has code= in it" in said
        assert logins.remove(server)
        assert not logins.remove(server)


def test_a_login_is_for_one_name_at_one_address(tmp_path: Path) -> None:
    logins = Logins(tmp_path, Keyring({}))
    server = McpServer("docs", url="https://docs.example/mcp")
    logins.write(server, Login({"access_token": "t"}, {}, {}))
    assert logins.has(server)
    assert not logins.has(McpServer("docs", url="https://evil.example/mcp"))
    assert not logins.has(McpServer("other", url="https://docs.example/mcp"))
    assert "'t'" not in repr(logins.read(server))
    next((tmp_path / FOLDER).iterdir()).write_text("[]")
    with pytest.raises(SettingsError, match="pool mcp login docs"):
        logins.read(server)
