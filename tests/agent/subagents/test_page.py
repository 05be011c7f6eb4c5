"""The examples of docs/subagents.md, run as they stand there."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path

import pytest

from pool.agent.digest import result_of, runs_of
from pool.agent.subagents.kinds import kinds_of
from pool.events import TaskFinished
from pool.headless.report import shown
from pool.sessions.log import read_rows
from pool.sessions.store import by_id, sessions_folder, short_id
from pool.sessions.summary import summarized
from tests.agent.subagents.talks import Talks, repository
from tests.cases.driver import MODEL, answer, call, driving
from tests.config.places import Home

PAGE = (Path(__file__).parents[3] / "docs" / "subagents.md").read_text("utf-8")
RUN_SECONDS = 40.0


def example(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


async def test_the_command_of_the_page(tmp_path: Path) -> None:
    work = repository(tmp_path / "w")
    scripts = {
        "Start": (call("task", agent="explore", prompt="Look at a.txt"), answer("It says one.")),
        "Look": (call("read", path="a.txt"), answer("one")),
    }
    async with Talks(scripts) as server:
        script = f'set -e\npool() {{ "$PYTHON" -m pool "$@"; }}\n{example("sh")}'
        env = {**os.environ, "PYTHON": sys.executable, "POOL_BASE_URL": server.url, "POOL_MODEL": MODEL}
        process = await asyncio.create_subprocess_exec(
            *("bash", "-c", script), cwd=work, env=env, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
        )
        _, err = await asyncio.wait_for(process.communicate(), RUN_SECONDS)
    assert process.returncode == 0, err.decode()
    result = json.loads((work / "result.json").read_text())
    (task,) = result["subagents"]
    assert (task["agent"], task["title"], task["reason"]) == ("explore", "Look at a.txt", "completed")
    assert result["usage"]["prompt"] == 400
    path = by_id(sessions_folder(), result["session"]).path
    rows, _ = read_rows(path.read_bytes())
    runs = [result_of(run) for run in runs_of(rows)]
    lines = list(shown(summarized(rows, path), runs, 100))
    told = f"{short_id(task['session'])} explore: Look at a.txt: completed, 2 turns, 210 tokens"
    assert any(line.startswith("subagents") and told in line for line in lines)
    assert server.complaints == []


async def test_the_agents_of_the_page_have_their_own_server_key_and_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = repository(tmp_path / "w")
    scripts = {
        "Start": (
            call("task", "t1", agent="small", prompt="Rename it"),
            call("task", "t2", agent="review", prompt="Review it"),
            answer("Done."),
        ),
        "Review": (answer("A bug in a.txt:1. " * 400),),
    }
    monkeypatch.setenv("SMALL_KEY", "its-own-key")
    async with Talks({"Rename": (answer("Renamed."),)}) as other, Talks(scripts) as server:
        made = Home(tmp_path / "home", user=example("toml").replace("127.0.0.1:9000", f"127.0.0.1:{other.port}"))
        settings = made.load().settings
        assert list(kinds_of(settings)) == ["general", "explore", "review", "small"]
        changes = {"agents": settings.agents, "subagents": settings.subagents}
        async with driving(server.url, work, api_key="the-sessions-key", **changes) as driver:
            run = await driver.run("Start.")
    assert [body.reason for body in run.of(TaskFinished)] == ["completed", "completed"]
    renamed, reviewed = server.results("Start")
    assert "It changed no file; its worktree is removed." in renamed
    assert len(reviewed) < 600 * 5
    assert "[cut; all of it: pool sessions show " in reviewed
    (asked,) = other.bodies["Rename"]
    assert asked["model"] == "laguna-xs"
    assert other.authorizations == {"Bearer its-own-key"}
    assert server.authorizations == {"Bearer the-sessions-key"}
    tools = [tool["function"]["name"] for tool in server.bodies["Review"][0]["tools"]]
    assert tools == ["read", "list", "search", "git"]
    assert "Look for bugs alone" in server.bodies["Review"][0]["messages"][0]["content"]
    assert server.complaints == other.complaints == []
