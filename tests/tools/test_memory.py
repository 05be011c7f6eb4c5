"""A command that takes the machine's memory is ended, and nothing else is."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pool_tools.sandbox.bounds import Bounds
from pool_tools.sandbox.watch import Watch

from .conftest import Desk

EVERYTHING = 1 << 60
"""More than any machine has: a command then may take just the least that it always may."""

READS = 3

# In steps, so that the watch sees it come; and not for ever, should the watch fail.
_BOMB = """
import time
held = []
for step in range(96):
    held.append(bytearray(32 << 20))
    time.sleep(0.02)
print("took all")
time.sleep(30)
"""


@pytest.fixture
def server() -> Iterator[int]:
    """The port of a process that stands for the model's server, holding some memory of its own."""
    code = (
        "import socket, sys; held = bytearray(400 << 20); s = socket.create_server(('127.0.0.1', 0));"
        "print(s.getsockname()[1], flush=True)\nwhile True: s.accept()[0].sendall(b'alive')"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        assert process.poll() is None
        process.kill()


async def test_a_memory_bomb_is_ended_and_the_server_lives(either: Desk, server: int) -> None:
    either.toolbox.protect_memory(EVERYTHING)
    either.file("bomb.py", _BOMB)
    await either.call("job", action="start", command="echo up; sleep 300")
    ended = await either.call("shell", command="python3 bomb.py & wait; echo survived", timeout=60)
    assert not ended.ok
    assert not ended.data["timed_out"]
    head = ended.text.splitlines()[0]
    assert head.startswith("killed after")
    assert "memory is short: its processes held" in head
    assert "kept for the model server" in head
    assert "took all" not in ended.text
    with socket.create_connection(("127.0.0.1", server), timeout=5) as connection:
        assert connection.recv(5) == b"alive"
    sibling = await either.call("job", action="list")
    assert sibling.data["jobs"][0]["running"]
    assert (await either.call("shell", command="echo fine")).ok
    await either.toolbox.close()


async def test_a_job_that_takes_too_much_is_ended_and_says_so(either: Desk) -> None:
    either.toolbox.protect_memory(EVERYTHING)
    either.file("bomb.py", _BOMB)
    await either.call("job", action="start", command="python3 bomb.py")
    told = await either.call("job", action="read", id="1", timeout=40)
    for _ in range(READS):  # A read may come back with output before the end.
        if not told.data["running"]:
            break
        told = await either.call("job", action="read", id="1", timeout=40)
    assert not told.ok
    assert "memory is short" in told.text


async def test_commands_may_be_the_kernels_first_choice(either: Desk) -> None:
    shown = await either.call("shell", command="cat /proc/self/oom_score_adj; sh -c 'cat /proc/self/oom_score_adj'")
    scores = [int(line) for line in shown.text.splitlines() if line.isdigit()]
    own = int(Path("/proc/self/oom_score_adj").read_text())
    assert all(score >= max(own, 500 if either.sandbox.name != "none" else own) for score in scores)


async def test_without_a_server_here_nothing_is_kept(desk: Desk) -> None:
    taken = await desk.call("shell", command="python3 -c 'held = bytearray(600 << 20); print(len(held))'")
    assert taken.ok


def test_who_holds_little_is_not_to_blame() -> None:
    watch = Watch((), Bounds(memory_kept=EVERYTHING))
    with subprocess.Popen(["sleep", "60"]) as small:
        assert watch.breach(small.pid) == ""
        small.kill()


def test_a_command_may_always_take_a_little() -> None:
    code = "held = bytearray(300 << 20); print('held', flush=True); input()"
    watch = Watch((), Bounds(memory_kept=EVERYTHING))
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert watch.breach(process.pid) == ""
        process.communicate(b"\n")
