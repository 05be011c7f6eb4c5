"""A47: what `--sandbox` asks for is had, or said not to be, also on a machine that can hold nothing."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from pool.agent.confinement import confine
from pool.agent.factory import open_session
from pool.agent.ids import new_id
from pool.agent.questions import Questions
from pool.config.settings import Mode, SandboxChoice, Settings, SettingsError
from pool.events import Notice, StopReason
from pool.sim.process import RunningSim, running
from pool.sim.settings import SimSettings
from pool_tools.sandbox.confine import landlock_abi
from pool_tools.sandbox.landlock import NO_GPU
from pool_tools.sandbox.syscalls import ARCHITECTURES
from tests.cases.driver import MODEL, ModelServer, answer, call

BARE = Path(__file__).with_name("machine_without.py")
LIMIT_SECONDS = 40
PR_GET_DUMPABLE = 3


@pytest.fixture(scope="module")
def sim() -> Iterator[RunningSim]:
    with running(SimSettings(port=0)) as server:
        yield server


def bare(url: str, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """`pool run` where nothing can confine its commands."""
    if os.uname().machine not in ARCHITECTURES:
        pytest.skip("no table of system calls for this machine")
    line = [sys.executable, str(BARE), sys.executable, "-m", "pool", "run", "What are you?", "--base-url", url]
    return subprocess.run(
        [*line, "-C", str(folder), *flags], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )


@pytest.mark.parametrize("choice", ["required", "read-only"])
def test_what_must_hold_and_cannot_ends_the_start(sim: RunningSim, tmp_path: Path, choice: str) -> None:
    done = bare(sim.url, tmp_path, "--sandbox", choice, "-o", "json")
    assert done.returncode == 2
    assert f"--sandbox {choice}, but bubblewrap" in done.stderr
    assert "this kernel offers no Landlock" in done.stderr
    assert json.loads(done.stdout)["reason"] == StopReason.USAGE_ERROR.value
    assert "Traceback" not in done.stderr


def test_what_may_be_less_says_so(sim: RunningSim, tmp_path: Path) -> None:
    auto = bare(sim.url, tmp_path)
    assert auto.returncode == 2
    assert "no sandbox confines it (bubblewrap" in auto.stderr
    external = bare(sim.url, tmp_path, "--sandbox", "external", "-v")
    assert external.returncode == 0, external.stderr
    assert "sandbox external" in external.stderr


def test_a_choice_that_is_none(sim: RunningSim, tmp_path: Path) -> None:
    done = bare(sim.url, tmp_path, "--sandbox", "strong")
    assert done.returncode == 2
    assert "'strong'" in done.stderr


async def test_a_list_of_hosts_is_not_for_a_container_to_hold(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        settings = Settings(tmp_path, sandbox=SandboxChoice.EXTERNAL, network="example.org")
        with pytest.raises(SettingsError, match="--sandbox external cannot hold a list of hosts"):
            await confine(settings, stack)


async def test_where_no_tier_shows_gpus_commands_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with AsyncExitStack() as stack:
        made = await confine(Settings(tmp_path, gpu=True), stack)
        if made.found.tier == "none":
            pytest.skip(made.found.reason)
        assert made.found.tier == "landlock"
        assert "Commands have no GPU" in made.note
        assert NO_GPU in made.note
        assert made.lesser.startswith("Commands have no GPU")
        with pytest.raises(SettingsError, match=r"--sandbox required, but .*CUDA"):
            await confine(Settings(tmp_path, gpu=True, sandbox=SandboxChoice.REQUIRED), stack)


async def test_a_session_keeps_its_own_process_private(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        await confine(Settings(tmp_path, sandbox=SandboxChoice.OFF), stack)
        assert ctypes.CDLL(None).prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0


async def test_people_are_told_of_what_they_asked_for_and_do_not_get(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with ModelServer(answer("Done.")) as server:
        settings = Settings(tmp_path, base_url=server.url, model=MODEL, ephemeral=True, network="example.org")
        async with open_session(settings, Questions()) as session:
            arriving = session.hub.subscribe()
            session.hub.close()
            told = [event.body async for event in arriving]
    warned = [body.text for body in told if isinstance(body, Notice) and body.level == "warning"]
    assert any("The network is off" in text or "--net limits nothing" in text for text in warned)


async def test_in_plan_mode_commands_run_and_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    steps = [
        call("shell", command="cat a.txt; rm a.txt"),
        call("write", path="new.txt", content="x"),
        call("git", action="status"),
        answer("Done."),
        call("shell", command="echo beta > a.txt"),
        answer("Done."),
    ]
    async with ModelServer(*steps) as server:
        settings = Settings(tmp_path, base_url=server.url, model=MODEL, mode=Mode.PLAN, ephemeral=True)
        async with open_session(settings, Questions()) as session:
            if session.sandbox_note.startswith("no sandbox"):
                pytest.skip(session.sandbox_note)
            assert (await session.agent.run("Look.", new_id())).reason is StopReason.COMPLETED
            told = [message["content"] for message in server.bodies[-1]["messages"] if message["role"] == "tool"]
            assert (tmp_path / "a.txt").read_text() == "alpha\n"
            session.approvals.set_mode(Mode.AUTO)
            assert (await session.agent.run("Change it.", new_id())).reason is StopReason.COMPLETED
    assert "alpha" in told[0]
    assert "commands only read now" in told[0]
    assert "Plan mode is read-only" in told[1]
    assert (tmp_path / "a.txt").read_text() == "beta\n"


@pytest.mark.parametrize("flags", [(), ("-q",)])
def test_a_weaker_tier_is_said_once_in_scripts_too(sim: RunningSim, tmp_path: Path, flags: tuple[str, ...]) -> None:
    if not landlock_abi():
        pytest.skip("this kernel offers no Landlock")
    line = [sys.executable, "-m", "pool", "run", "What are you?", "--base-url", sim.url, "-C", str(tmp_path), *flags]
    environ = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(line, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False, env=environ)
    assert done.returncode == 0, done.stderr
    told = done.stderr.splitlines()
    (at,) = [n for n, row in enumerate(told) if "the sandbox is weaker than it could be: landlock" in row]
    assert "Install bubblewrap" in told[at + 1]
