"""The first start without a model server, in a real terminal."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from pool.config.settings import Settings
from pool.facekit.approving import SETTLE_SECONDS
from pool.facekit.looking import look_at
from pool.sim.process import running
from pool.sim.settings import SimSettings
from pool.tui.firststart import PORT_OWNERS, USUAL_PORTS, tried
from tests.tui.terminal import POOL, Terminal

NOWHERE = "http://127.0.0.1:9/v1"


def test_what_was_tried_is_named(tmp_path: Path) -> None:
    said = tried(Settings(tmp_path), "")
    assert set(PORT_OWNERS) == set(USUAL_PORTS)
    assert all(f"{port} ({owner})" in said for port, owner in PORT_OWNERS.items())
    assert tried(Settings(tmp_path, base_url="x"), "nothing at x") == "Nothing at x."


async def test_addresses_are_looked_at_in_words(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    with running(SimSettings(api_key="k")) as server:
        found = await look_at(server.url, settings)
        assert not found.usable
        assert "wants an API key" in found.words
        assert "pool config key" in found.words
        found = await look_at(server.url, Settings(tmp_path, api_key="k"))
        assert found.usable
        assert "laguna-sim" in found.words
        assert found.base_url == f"{server.url}/v1"
    for address in ("", "http://[red]x", NOWHERE, "ftp://x", "\x1b]0;x"):
        found = await look_at(address, settings)
        assert not found.usable
        assert found.words


@pytest.mark.slow
def test_an_address_is_tried_and_kept_and_nothing_is_written_before(tmp_path: Path) -> None:
    config, state = tmp_path / "config", tmp_path / "state"
    env = {"XDG_CONFIG_HOME": str(config), "XDG_STATE_HOME": str(state), "POOL_SERVER_FIRST_CONTACT_SECONDS": "0.1"}
    with running(SimSettings()) as server, Terminal([*POOL, "--base-url", NOWHERE], cwd=tmp_path, env=env) as terminal:
        terminal.wait_for("No model server yet")
        assert "connection refused" in terminal.text
        time.sleep(SETTLE_SECONDS + 0.1)
        terminal.send("a")
        terminal.wait_for("Address of the server")
        terminal.send("\x15")
        terminal.wait_for("spark.local")
        terminal.send(f"{NOWHERE}\r")
        screen = terminal.wait_for(lambda text: "No model server there" in text and "r  try it again" in text)
        assert "s  the simulated server" in screen
        time.sleep(SETTLE_SECONDS + 0.1)
        terminal.send("a")
        terminal.wait_for("Address of the server")
        terminal.send("\x15")
        terminal.wait_for("spark.local")
        terminal.send(server.url.removeprefix("http://"))
        terminal.wait_for(server.url.removeprefix("http://"))
        terminal.send("\r")
        terminal.wait_for("laguna-sim")
        terminal.wait_for("keep it in")
        assert not config.exists()
        time.sleep(SETTLE_SECONDS + 0.1)
        terminal.send("k")
        terminal.wait_for("server.base_url =")
        assert server.url in (config / "pool" / "config.toml").read_text()
        terminal.send("hello\r")
        terminal.wait_for("completed")


@pytest.mark.slow
def test_the_simulated_server_ends_with_pool(tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "POOL_SERVER_FIRST_CONTACT_SECONDS": "0.1"}
    with Terminal([*POOL, "--base-url", NOWHERE], cwd=tmp_path, env=env) as terminal:
        terminal.send("hello\r")
        terminal.wait_for("No model server yet")
        time.sleep(SETTLE_SECONDS + 0.1)
        terminal.send("s")
        terminal.wait_for("completed")
        children = Path(f"/proc/{terminal.pid}/task/{terminal.pid}/children").read_text().split()
        (child,) = [c for c in children if b"sim" in Path(f"/proc/{c}/cmdline").read_bytes()]
        assert terminal.leave() == 0
        with pytest.raises(ProcessLookupError):
            os.kill(int(child), 0)
        assert re.search(rb"pool -r [0-9a-f-]{36}", bytes(terminal.raw))
