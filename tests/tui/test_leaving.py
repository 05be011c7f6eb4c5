"""Whatever happens, the terminal is as it was and the way back to the session is said."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pool.events import ApprovalAsked, RunFinished
from pool.facekit.live.place import live_records
from pool.facekit.live.remote import RemoteConversation
from pool.ports import ApprovalAnswer
from pool.sim.cli import build_parser, settings_from
from pool.sim.process import running
from tests.tui.conftest import Starts
from tests.tui.terminal import POLL_SECONDS, POOL, Terminal

pytestmark = pytest.mark.slow

APPEARS_SECONDS = 45.0

OFF = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?1004l", b"\x1b[?2004l", b"\x1b[<u")
WAY_BACK = re.compile(rb"To go on with this session: pool --base-url \S+ -r [0-9a-f-]{36}")

FAULTY = """
import sys
from pool.cli.main import entry
from pool.tui.app import PoolApp

def fails(self):
    secret = "in a variable"
    raise RuntimeError("a fault\\x1b[31m of the interface")

PoolApp.action_help = fails
sys.argv[0] = "pool"
entry()
"""
"""Pool with an action that raises."""


@pytest.mark.parametrize("debug", [False, True])
def test_a_fault_of_the_interface(tmp_path: Path, debug: bool) -> None:
    """TUI-02: one line, or the traceback on the normal screen; never the values of variables."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["t</think>answered"]))
    env = {"POOL_DEBUG": "1"} if debug else {}
    with running(settings_from(build_parser().parse_args(["--script", str(script)]))) as server:
        command = [sys.executable, "-c", FAULTY, "--base-url", server.url, "hello"]
        with Terminal(command, cwd=tmp_path, env=env) as terminal:
            before = terminal.modes
            terminal.wait_for("answered")
            terminal.wait_for("completed")
            terminal.send("\x1bOP")
            assert terminal.wait_end() == 1
            terminal.wait_for("To go on")
            raw = bytes(terminal.raw)
            assert terminal.modes == before
    assert all(off in raw for off in OFF)
    assert WAY_BACK.search(raw)
    after = raw[raw.rindex(b"\x1b[?1049l") :]
    assert (b"Traceback" in after) is debug
    assert (b"in fails" in after) is debug
    assert (b"POOL_DEBUG=1 shows where" in after) is not debug
    assert b"in a variable" not in after.replace(b'secret = "in a variable"', b"")
    assert b"\x1b[31m of" not in after


def test_the_server_is_killed_while_it_writes(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["t</think>" + "words " * 500]))
    serve = [*POOL, "sim", "--port", "0", "--script", str(script), "--rate", "20"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found
        command = [*POOL, "--base-url", found[0], "hello"]
        with Terminal(command, cwd=tmp_path, env={"POOL_SERVER_WAIT_SECONDS": "0.5"}) as terminal:
            before = terminal.modes
            terminal.wait_for("words words")
            server.kill()
            terminal.wait_for("server failed")
            assert terminal.leave() == 0
            terminal.wait_for("To go on")
            assert terminal.modes == before
            assert WAY_BACK.search(bytes(terminal.raw))


async def test_a_run_goes_on_when_its_terminal_goes(start: Starts) -> None:
    """TUI-02: the process serves its run from then on, what it had asked included, and ends with it."""
    call = "<tool_call>shell<arg_key>command</arg_key><arg_value>echo hello</arg_value></tool_call>"
    terminal = start(f"t</think>{call}", "t</think>It is said.", flags=("--mode", "default", "Say hello."))
    terminal.wait_for("may it run?")
    terminal.hang_up()
    async with asyncio.timeout(APPEARS_SECONDS):
        while not (records := live_records()):
            await asyncio.sleep(POLL_SECONDS)
    async with await RemoteConversation.attach(records[0], stay=False) as run:
        async for event in run.events():
            if isinstance(event.body, ApprovalAsked):
                assert run.answer(event.body.id, ApprovalAnswer(True, "person"))
            if isinstance(event.body, RunFinished):
                assert event.body.answer == "It is said."
    assert run.exit_code == 0
    assert terminal.wait_end() == 0
