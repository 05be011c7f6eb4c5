"""The sandbox of a session and the network that was asked for, also where this machine cannot hold it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from pool.agent.confinement import Confinement, confine, package_caches
from pool.config.settings import SandboxChoice, Settings, SettingsError
from pool.sim.process import running
from pool.sim.settings import SimSettings


async def confined(folder: Path, network: str, sandbox: SandboxChoice = SandboxChoice.AUTO) -> Confinement:
    async with AsyncExitStack() as stack:
        made = await confine(Settings(folder, network=network, sandbox=sandbox), stack)
        if made.network.proxy is not None:
            assert made.network.proxy.folder.is_dir()
    assert made.network.proxy is None or not made.network.proxy.folder.exists()
    return made


@pytest.fixture
def bubblewrap(tmp_path: Path) -> None:
    if subprocess.run(["which", "bwrap"], capture_output=True).returncode:
        pytest.skip("bubblewrap is not installed")


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("bubblewrap")
async def test_what_was_asked_for_is_what_people_are_told(tmp_path: Path) -> None:
    assert "no network" in (await confined(tmp_path, "off")).note
    assert "network on" in (await confined(tmp_path, "on")).note
    listed = await confined(tmp_path, "example.org,localhost:5432")
    assert "network only to example.org, localhost:5432" in listed.note
    assert listed.network.proxy is not None


@pytest.mark.usefixtures("bubblewrap")
async def test_a_preset_brings_its_caches(tmp_path: Path) -> None:
    made = await confined(tmp_path, "python")
    assert made.network.env["PIP_CACHE_DIR"].startswith(str(package_caches(tmp_path)))
    assert package_caches(tmp_path).is_relative_to(os.environ["XDG_CACHE_HOME"])
    assert package_caches(tmp_path) != package_caches(tmp_path / tmp_path.name)


@pytest.mark.parametrize("network", ["https://example.org", "on,example.org", "localhost", "*"])
async def test_networks_that_are_none(tmp_path: Path, network: str) -> None:
    with pytest.raises(SettingsError, match="--net: "):
        await confined(tmp_path, network)


@pytest.mark.usefixtures("no_bubblewrap")
async def test_where_no_list_can_be_held_the_network_is_off_and_it_is_said(tmp_path: Path) -> None:
    made = await confined(tmp_path, "example.org")
    assert made.network.proxy is None
    if made.found.tier == "none":
        assert made.note.endswith("so --net limits nothing")
    else:
        assert "no network" in made.note
        assert "The network is off: no sandbox that works here can hold a list of hosts" in made.note
    with pytest.raises(SettingsError, match=r"--sandbox required, but .*bubblewrap"):
        await confined(tmp_path, "example.org", SandboxChoice.REQUIRED)


async def test_without_a_sandbox_nothing_is_limited(tmp_path: Path) -> None:
    made = await confined(tmp_path, "example.org", SandboxChoice.OFF)
    assert (made.found.tier, made.network.proxy, made.note) == ("none", None, "it was switched off by --sandbox off")


@pytest.mark.usefixtures("bubblewrap")
def test_the_model_servers_port_cannot_be_named(tmp_path: Path) -> None:
    with running(SimSettings(port=0)) as server:
        port = server.url.rpartition(":")[2].partition("/")[0]
        line = [sys.executable, "-m", "pool", "run", "What are you?", "--base-url", server.url, "-C", str(tmp_path)]
        refused = subprocess.run([*line, "--net", f"localhost:{port}"], capture_output=True, text=True, timeout=40)
        done = subprocess.run([*line, "--net", "localhost:1,example.org"], capture_output=True, text=True, timeout=40)
    assert refused.returncode == 2
    assert f"--net: localhost:{port} is the model server, which commands never reach" in refused.stderr
    assert done.returncode == 0, done.stderr
