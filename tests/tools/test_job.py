"""Jobs in the background: real servers and processes, in both tiers."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import resource
import signal
import subprocess
import sys
import time

import pytest

from pool_tools import Effect, effect_of
from pool_tools.jobs import JOBS_AT_ONCE, JobOutput

from .conftest import Desk
from .test_shell_cases import alive, gone

NAPS = itertools.count()


@pytest.fixture
def nap() -> str:
    """A `sleep` that no other test has running."""
    return f"sleep {2300 + os.getpid() % 1000}.{next(NAPS):03}"


async def test_a_server_is_used_by_later_commands_and_stopped(either: Desk) -> None:
    either.file("hello.txt", "hello from the job\n")
    # Port 0 lets the system choose, so that tests side by side cannot collide where nothing is confined.
    serve = "python3 -u -m http.server 0 --bind 127.0.0.1"
    started = await either.call("job", action="start", command=serve)
    assert started.ok
    assert started.data["running"]
    assert "cannot be reached" not in started.text
    served = started if "Serving" in started.text else await either.call("job", action="read", id="1", timeout=10)
    port = re.findall(r"port (\d+)", served.text)[0]
    fetch = f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{port}/hello.txt').read().decode())"
    got = await either.call("shell", command=f'python3 -c "{fetch}"')
    assert "hello from the job" in got.text
    log = await either.call("job", action="read", id="1", timeout=10)
    assert "GET /hello.txt" in log.text
    assert "Serving" not in log.text
    stopped = await either.call("job", action="stop", id="1")
    assert stopped.ok
    assert stopped.text.startswith("job 1 stopped after")
    assert not (await either.call("shell", command=f'python3 -c "{fetch}"')).ok


async def test_the_shared_network_is_still_private(confined: Desk) -> None:
    listener = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with listener:
        await confined.call("job", action="start", command="sleep 60")
        tried = await confined.call(
            "shell",
            command=f"(: <>/dev/tcp/127.0.0.1/{port}) && echo REACHED; ls /proc/self/fd; ls /sys/class/net 2>&1; "
            "grep CapEff /proc/self/status; unshare -U true && echo NESTED; cat /proc/net/dev | cut -d: -f1",
        )
        await confined.toolbox.close()
    assert "REACHED" not in tried.text
    assert "NESTED" not in tried.text
    assert re.search(r"CapEff:\s*0{16}", tried.text)
    assert [
        line.strip()
        for line in tried.text.splitlines()
        if ":" not in line and line.startswith(" ") and "face" not in line
    ] == ["lo"]
    descriptors = [int(line) for line in tried.text.splitlines() if line.isdigit()]
    assert max(descriptors) <= 3


async def test_reading_gives_what_is_new(either: Desk) -> None:
    either.file("go")
    await either.call(
        "job", action="start", command="echo one; printf tw; while [ -e go ]; do sleep 0.05; done; echo o"
    )
    first = await either.call("job", action="read", id="1")
    (either.folder / "go").unlink()
    second = await either.call("job", action="read", id="1", timeout=10)
    assert "(no new output)" in first.text
    assert second.text.splitlines()[1:] == ["o"]
    ended = await either.call("job", action="read", id="1", timeout=10)
    assert ended.text.startswith("job 1 ended: exit 0 after")
    assert "(no new output)" in ended.text


async def test_a_job_that_fails_at_once_says_so(either: Desk) -> None:
    failed = await either.call("job", action="start", command="echo oh no; exit 7")
    assert not failed.ok
    assert failed.text.splitlines()[0].startswith("job 1 ended: exit 7 after")
    assert "oh no" in failed.text
    assert failed.data["exit_status"] == 7


async def test_waiting_ends_with_the_job_and_with_the_time(either: Desk, nap: str) -> None:
    await either.call("job", action="start", command="sleep 1.5")
    began = time.monotonic()
    done = await either.call("job", action="read", id="1", timeout=30)
    assert not done.data["running"]
    assert time.monotonic() - began < 5
    await either.call("job", action="start", command=nap)
    began = time.monotonic()
    waited = await either.call("job", action="read", id="2", timeout=1)
    assert waited.data["running"]
    assert 0.9 < time.monotonic() - began < 3
    await either.toolbox.close()
    assert gone(nap)


async def test_stopping_ends_the_whole_tree(either: Desk, nap: str) -> None:
    await either.call("job", action="start", command=f"trap '' TERM; setsid {nap}1 & {nap}2")
    while sum(line.startswith("sleep") for line in alive(nap)) < 2:
        await asyncio.sleep(0.02)
    await either.call("job", action="stop", id="1")
    assert gone(nap)
    again = await either.call("job", action="stop", id="1")
    assert again.text.startswith("job 1 stopped")


async def test_number_and_lifetime_are_limited(either: Desk, nap: str) -> None:
    short = await either.call("job", action="start", command=f"echo up; {nap}", timeout=5)
    assert short.data["running"]
    for number in range(1, JOBS_AT_ONCE):
        await either.call("job", action="start", command=f"echo {number}; {nap}", timeout=500)
    said = await either.refused("job", action="start", command="true")
    assert f"{JOBS_AT_ONCE} jobs are running" in said
    ended = await either.call("job", action="read", id="1", timeout=20)
    assert "ended at its limit of 5 s" in ended.text
    assert not ended.ok
    listed = await either.call("job", action="list")
    assert len(listed.text.splitlines()) == JOBS_AT_ONCE
    assert [job["running"] for job in listed.data["jobs"]] == [False] + [True] * (JOBS_AT_ONCE - 1)
    await either.toolbox.close()
    assert gone(nap)


async def test_endless_output_is_kept_in_bounds(either: Desk) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await either.call("job", action="start", command="yes 0123456789")
    await asyncio.sleep(1)
    read = await either.call("job", action="read", id="1")
    await either.toolbox.close()
    assert "of earlier output no longer kept" in read.text
    assert len(read.text) < 20_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


async def test_unknown_jobs_and_wrong_calls_are_named(desk: Desk) -> None:
    assert "There is no job '4'. Known jobs: none" in await desk.refused("job", action="read", id="4")
    assert "`action` must be one of start" in await desk.refused("job", action="run")
    assert "`command` is missing" in await desk.refused("job", action="start")
    assert "`id` is missing" in await desk.refused("job", action="stop")
    assert (await desk.call("job", action="list")).text == "There are no jobs."


def test_looking_is_reading(desk: Desk) -> None:
    tool = next(t for t in desk.toolbox.tools if t.spec.name == "job")
    effects = {action: effect_of(tool, {"action": action}) for action in ("start", "list", "read", "stop", "?")}
    assert effects == {
        "start": Effect.EXECUTE, "list": Effect.READ, "read": Effect.READ, "stop": Effect.EXECUTE, "?": Effect.EXECUTE,
    }  # fmt: skip


_AGENT = """
import asyncio, sys
from pathlib import Path
from pool_tools.sandbox.base import NoSandbox, Policy
from pool_tools.sandbox.probe import probe
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace

async def main(tier, folder, command):
    sandbox = NoSandbox(kept=True) if tier == "none" else probe(Policy((folder,))).sandbox
    toolbox = Toolbox(Workspace(folder), sandbox)
    job = next(t for t in toolbox.tools if t.spec.name == "job")
    print((await job.run({"action": "start", "command": command}, lambda _: None)).text, flush=True)
    await asyncio.sleep(600)

asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
"""


async def test_jobs_end_when_the_agent_is_killed(either: Desk, nap: str) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = f"setsid {nap}1 & {nap}2"
    argv = [sys.executable, "-c", _AGENT, either.sandbox.name, str(either.folder), command]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=env) as agent:
        assert agent.stdout is not None
        assert b"running" in agent.stdout.readline()
        while sum(line.startswith("sleep") for line in alive(nap)) < 2:
            await asyncio.sleep(0.02)
        agent.send_signal(signal.SIGKILL)
    assert gone(nap, seconds=5)


def test_only_the_last_output_is_kept() -> None:
    output = JobOutput(100)
    output.feed(b"".join(b"line %03d\n" % number for number in range(100)))
    text, lost = output.read()
    assert lost == 800
    assert text.splitlines()[-1] == "line 099"
    assert len(text) == 100
    assert not output.fresh
    assert output.read() == ("", 0)


def test_an_unfinished_line_that_begins_anew_is_told_anew() -> None:
    output = JobOutput()
    output.feed(b" 10 %")
    assert output.read() == (" 10 %", 0)
    output.feed(b"\r 20 %")
    assert output.read() == (" 20 %", 0)
    output.feed(b"\r done\nnext")
    assert output.read() == (" done\nnext", 0)
    output.feed(b" and\n")
    output.close()
    assert output.read() == (" and\n", 0)


def test_escapes_do_not_reach_the_model() -> None:
    output = JobOutput()
    output.feed(b"\x1b[31mred\x1b[0m \x1b]0;title\x07ok\n")
    assert output.read() == ("red ok\n", 0)
