"""Pool is killed in the middle of a task: nothing goes on writing, and the session goes on with a word on the task."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest

from tests.agent.subagents.talks import Talks, repository
from tests.cases.driver import MODEL, answer, call, driving

SOON_SECONDS = 20.0
WRITES = "while :; do date +%N >> loop.txt; sleep 0.02; done"


async def test_a_killed_parent_takes_its_subagents_along_and_resumes(tmp_path: Path) -> None:
    work = repository(tmp_path / "w")
    scripts = {
        "Start": (call("task", "t1", agent="general", prompt="Write for ever"), answer("I see.")),
        "Write": (call("shell", "s1", command=WRITES), answer("Never.")),
    }
    async with Talks(scripts) as server:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pool", "run", "-o", "stream-json", "--base-url", server.url, "--model", MODEL),
            *("--mode", "allow-all", "Start."),
            cwd=work,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        session, written = "", None
        async with asyncio.timeout(SOON_SECONDS):
            while written is None:
                row = json.loads(await process.stdout.readline())
                session = row["session"]
                if row.get("sandbox") == "none":
                    pytest.skip("nothing here ends commands with their agent")
                if row["type"] == "task.started":
                    written = Path(row["folder"]) / "loop.txt"
            while not written.is_file():
                await asyncio.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        async with asyncio.timeout(SOON_SECONDS):
            size = -1
            while size != written.stat().st_size:
                size = written.stat().st_size
                await asyncio.sleep(0.3)
        async with driving(server.url, work, resume=session) as driver:
            await driver.run("Go on.")
        (told,) = server.results("Start")
    assert server.complaints == []
    assert told.startswith("Interrupted: Pool ended, and the subagent with it, before general had a result.")
    assert str(written.parent) in told
