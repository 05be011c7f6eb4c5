"""How jobs end in the tiers that confine: what killed them, what was put back, and that nothing is left."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pool_tools.sandbox import watch
from pool_tools.sandbox.base import Policy
from pool_tools.sandbox.bounds import Bounds
from pool_tools.sandbox.probe import TIERS, probe
from pool_tools.sandbox.watch import Watch

from .conftest import Desk, make_desk, missing
from .test_memory import EVERYTHING
from .test_shell_cases import alive, gone

NAPS = itertools.count()
BOMB = """
import time
held = []
for step in range(96):
    held.append(bytearray(32 << 20))
    time.sleep(0.02)
time.sleep(5)
"""


@pytest.fixture
def nap() -> str:
    """A `sleep` that no other test has running."""
    return f"sleep {3300 + os.getpid() % 1000}.{next(NAPS):03}"


@pytest.fixture(params=TIERS)
def held(request: pytest.FixtureRequest, folder: Path) -> Iterator[Desk]:
    found = probe(Policy((folder,)), tiers=(request.param,))
    if found.tier != request.param:
        missing(f"no {request.param} here: {found.reason}")
    yield from make_desk(folder, found.sandbox)


async def test_a_stopped_job_leaves_nothing_and_tells_what_was_put_back(held: Desk, nap: str) -> None:
    subprocess.run(["git", "init", "-q", str(held.folder / "inner")], check=True)
    config = (held.folder / "inner/.git/config").read_bytes()
    # Where it lies is no mount in either tier: a repository inside the workspace's folder.
    change = "echo '[core] fsmonitor = evil' >> inner/.git/config"
    await held.call("job", action="start", command=f"{change}; setsid {nap}1 & {nap}2")
    while sum(line.startswith("sleep") for line in alive(nap)) < 2:
        await asyncio.sleep(0.02)
    stopped = await held.call("job", action="stop", id="1")
    assert gone(nap)
    assert stopped.text.startswith("job 1 stopped after")
    assert "[put back by the sandbox: inner/.git/config was changed and has been put back]" in stopped.text
    assert stopped.data["restored"] == ["inner/.git/config was changed and has been put back"]
    assert (held.folder / "inner/.git/config").read_bytes() == config


async def test_a_job_that_ends_by_itself_tells_the_same_and_what_it_left(held: Desk, nap: str) -> None:
    subprocess.run(["git", "init", "-q", str(held.folder)], check=True)
    hook = "mkdir -p .git/hooks && echo x > .git/hooks/post-commit"
    await held.call("job", action="start", command=f"setsid {nap} & {hook}; sleep 0.1")
    ended = await held.call("job", action="read", id="1", timeout=20)
    assert gone(nap)
    assert "[left running and ended with the job: sleep]" in ended.text
    assert not (held.folder / ".git/hooks/post-commit").exists()
    if held.sandbox.name == "landlock":
        assert any("post-commit" in what for what in ended.data["restored"])


async def test_what_killed_a_job_is_told(held: Desk, nap: str) -> None:
    held.toolbox.protect_memory(EVERYTHING)
    held.file("bomb.py", BOMB)
    await held.call("job", action="start", command="python3 bomb.py")
    await held.call("job", action="start", command=f"echo up; {nap}", timeout=2)
    await held.call("job", action="start", command="kill -SEGV $$")
    bomb = await held.call("job", action="read", id="1", timeout=40)
    late = await held.call("job", action="read", id="2", timeout=20)
    hit = await held.call("job", action="read", id="3", timeout=20)
    assert not bomb.ok
    assert bomb.data["killed"].startswith("memory is short: its processes held")
    assert bomb.data["killed"] in bomb.text
    assert late.data["timed_out"]
    assert "ended at its limit of 2 s" in late.text
    assert "ended: exit 139 (SIGSEGV)" in hit.text
    assert hit.data["killed"] == ""
    assert gone(nap)


def test_what_the_kernel_kills_for_want_of_memory_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter((3, 3, 4))
    monkeypatch.setattr(watch, "_oom_kills", lambda: next(counts))
    seen = Watch((), Bounds())
    assert not seen.memory_ran_out()
    assert seen.memory_ran_out()
