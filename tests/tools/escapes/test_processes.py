"""A26 to A30, A45 and A46: processes that want to stay, to multiply, to hang or to take over the screen."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pool_tools.supervisor import processes

from .agents import Agent
from .conftest import Maker

END_SECONDS = 5.0


@pytest.fixture
def nap() -> str:
    """A `sleep` that no other test has running."""
    return f"sleep {400 + os.getpid() % 1000}.{time.monotonic_ns() % 1_000_000}"


def alive(needle: str) -> list[int]:
    found: list[int] = []
    for pid in processes():
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if line.startswith(needle):
            found.append(pid)
    return found


def gone(needle: str) -> bool:
    end = time.monotonic() + END_SECONDS
    while alive(needle):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_a26_background_job(agent: Agent, nap: str) -> None:
    reply = agent.shell(f"nohup {nap} & echo started")
    assert reply.ok
    assert reply.seconds < END_SECONDS
    assert "started" in reply.text
    assert gone(nap)


def test_a27_daemon(agent: Agent, nap: str) -> None:
    script = (
        "import os, sys\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        f"os.execvp('sleep', {nap.split()!r})\n"
    )
    reply = agent.python(script)
    assert reply.seconds < END_SECONDS
    assert gone(nap)


@pytest.mark.slow
def test_a28_processes_without_end(agent: Agent, make: Maker, nap: str) -> None:
    small = make(processes=60)
    command = f"for i in $(seq 400); do {nap} & done; wait"
    began = time.monotonic()
    reply = small.shell(command, timeout=3)
    assert time.monotonic() - began < 10
    assert not reply.ok
    # The kernel does not count root's processes: there the command is ended as soon as they are too many.
    assert "more than 60 processes" in reply.text or ("fork" in reply.text and not small.is_root)
    assert gone(nap)
    assert small.shell("echo fine").output.strip() == "fine"


# A bounded copy: a tree of 512 processes, each of which has forked before it waits.
FORK_BOMB = """
import os, time
for level in range(9):
    os.fork()
os.execvp('sleep', {nap!r}.split())
"""


@pytest.mark.slow
def test_a28_processes_that_fork_on_and_on(make: Maker, nap: str) -> None:
    small = make(processes=100)
    began = time.monotonic()
    small.file("bomb.py", FORK_BOMB.format(nap=nap))
    reply = small.shell("python3 -S bomb.py; sleep 20", timeout=3)
    assert not reply.ok
    assert time.monotonic() - began < 10
    assert gone(nap)
    assert small.out("echo fine") == "fine"


@pytest.mark.slow
def test_a29_output_without_end(agent: Agent) -> None:
    before = agent.shell("true").peak_kib
    reply = agent.shell("yes", timeout=2)
    assert reply.data["timed_out"]
    assert len(reply.text) < 40_000
    assert reply.peak_kib - before < 50 * 1024


def test_a30_control_sequences(agent: Agent) -> None:
    reply = agent.shell(r"printf 'a\033]52;c;cHduZWQ=\007b\033]0;title\033\\c\033[2J\033[31md\033[0m\233e\n'")
    assert reply.output.strip() in ("abcde", "abcd\\x9be", "abcd�e") or "\x1b" not in reply.text
    assert not any(c in reply.text for c in "\x1b\x07\x9b\x9d")


def test_a45_input_and_passwords(agent: Agent) -> None:
    reply = agent.shell("read -r line; echo got:$line; cat; python3 -c 'import getpass; getpass.getpass()'", timeout=10)
    assert not reply.data["timed_out"]
    assert "got:" in reply.text
    assert not reply.ok


@pytest.mark.slow
def test_a46_command_that_ignores_the_request_to_end(agent: Agent, nap: str) -> None:
    reply = agent.shell(f"trap '' TERM HUP INT; while :; do {nap}; done", timeout=1)
    assert reply.data["timed_out"]
    assert reply.seconds < END_SECONDS
    assert gone(nap)
