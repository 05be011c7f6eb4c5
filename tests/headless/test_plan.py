"""Plans without a person: the commands and lines of docs/plan.md, run as they stand there."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path

from pool.agent.control import Conversation
from pool.agent.plan import CARRY_OUT
from pool.config.settings import Mode
from pool.headless.inputs import PlanInput
from pool.headless.live.obeying import Obedience
from tests.cases.driver import MODEL, ModelServer, answer, call, driving, last_user
from tests.headless.test_driving import driven

PAGE = (Path(__file__).parents[2] / "docs" / "plan.md").read_text("utf-8")
RUN_SECONDS = 40.0
PLAN = "1. Write a.txt"


def examples(language: str) -> list[str]:
    """The lines of the page's blocks in a language."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


async def test_the_commands_of_the_page_make_a_plan_and_carry_it_out(tmp_path: Path) -> None:
    steps = (answer(PLAN), call("shell", command="echo late > a.txt"), answer("Done."))
    async with ModelServer(*steps) as server:
        script = "\n".join(["set -e", 'pool() { "$PYTHON" -m pool "$@"; }', *examples("sh")])
        env = {**os.environ, "PYTHON": sys.executable, "POOL_BASE_URL": server.url, "POOL_MODEL": MODEL}
        process = await asyncio.create_subprocess_exec(
            *("bash", "-c", script),
            cwd=tmp_path,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), RUN_SECONDS)
    assert process.returncode == 0, err.decode()
    assert (tmp_path / "plan.md").read_text() == f"{PLAN}\n"
    assert out.decode() == "Done.\n"
    assert (tmp_path / "a.txt").read_text() == "late\n"
    assert last_user(server.bodies[1]) == f"{CARRY_OUT}\n\n{PLAN}"
    assert server.complaints == []


async def test_a_program_edits_and_approves_by_the_lines_of_the_page(tmp_path: Path) -> None:
    steps = (answer(PLAN), call("write", path="a.txt", content="LATE\n"), answer("Done."))
    async with driven(tmp_path, *steps, mode="plan") as program:
        program.send("prompt", text="Make a file.")
        assert (await program.until("plan.proposed"))["text"] == PLAN
        await program.until("run.finished")
        for line in examples("json"):
            program.line(line)
        decided = [await program.until("plan.decided"), await program.until("plan.decided")]
        assert await program.end() == 0
    text = json.loads(examples("json")[0])["text"]
    assert [(row["decision"], row["text"], row["mode"]) for row in decided] == [
        ("edited", text, "default"),
        ("approved", text, "allow-all"),
    ]
    assert (tmp_path / "a.txt").read_text() == "LATE\n"
    assert last_user(program.server.bodies[1]) == f"{CARRY_OUT}\n\n{text}"


async def test_a_decision_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    async with ModelServer(answer(PLAN)) as server, driving(server.url, tmp_path / "w", mode=Mode.PLAN) as driver:
        obedience = Obedience(Conversation(driver.session))
        assert "no plan waits" in obedience.take(PlanInput("approve"))
        await driver.run()
        assert "can be approve, edit or drop" in obedience.take(PlanInput("maybe"))
        assert "is not known" in obedience.take(PlanInput("approve", mode="fast"))
        assert "another mode than plan" in obedience.take(PlanInput("approve", mode="plan"))
        assert "empty" in obedience.take(PlanInput("edit"))
        assert obedience.take(PlanInput("drop")) == ""
        assert driver.session.work.plan.waiting == ""
