"""`pool run -i stream-json` from outside: a program that sends lines and reads events."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.headless.inputs import INPUTS, Approve, InputProblem, Prompt, read_input
from tests.cases.driver import MODEL, ModelServer, Step, answer, call, last_result, last_user
from tests.headless.valid import Row, faults

RUN_SECONDS = 20.0


class Program:
    """A driven `pool run`; rows are the events so far."""

    def __init__(self, process: asyncio.subprocess.Process, server: ModelServer) -> None:
        self.process = process
        self.server = server
        self.rows: list[Row] = []

    def send(self, kind: str, **fields: Any) -> None:
        """Send an order, one that the schema describes."""
        row = {"type": kind, **fields}
        assert faults(row, "input.") == []
        self.line(json.dumps(row))

    def line(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode() + b"\n")

    async def until(self, kind: str) -> Row:
        """The next event of a kind."""
        assert self.process.stdout is not None
        async with asyncio.timeout(RUN_SECONDS):
            while line := await self.process.stdout.readline():
                self.rows.append(json.loads(line))
                if self.rows[-1]["type"] == kind:
                    return self.rows[-1]
        raise AssertionError(f"no {kind} came")

    async def end(self) -> int:
        """Close the input; the exit code, once all else has been read."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.left()

    async def left(self) -> int:
        assert self.process.stdout is not None
        async with asyncio.timeout(RUN_SECONDS):
            while line := await self.process.stdout.readline():
                self.rows.append(json.loads(line))
            code = await self.process.wait()
        assert [fault for row in self.rows for fault in faults(row)] == []
        return code

    @property
    def complaints(self) -> list[str]:
        return [row["text"] for row in self.rows if row["type"] == "notice" and row["level"] == "error"]


@contextlib.asynccontextmanager
async def driven(folder: Path, *steps: Step, mode: str = "default") -> AsyncGenerator[Program]:
    async with ModelServer(*steps) as server:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pool", "run", "-i", "stream-json", "-o", "stream-json", "--ephemeral"),
            *("--base-url", server.url, "--model", MODEL, "-C", str(folder), "--sandbox", "off", "--mode", mode),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=2**24,
        )
        try:
            yield Program(process, server)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def test_prompts_one_after_the_other_and_settings(tmp_path: Path) -> None:
    """A prompt that comes while a run works is queued; a mode holds from the next call on."""
    steps = call("write", path="a", content="x"), answer("One."), answer("Two.")
    async with driven(tmp_path, *steps) as program:
        program.send("mode", mode="accept-edits")
        program.send("budget", name="turns", limit=7)
        program.send("prompt", text="First.")
        program.send("prompt", text="Second.")
        assert await program.end() == 0
    assert (tmp_path / "a").read_text() == "x"
    assert [r["answer"] for r in program.rows if r["type"] == "run.finished"] == ["One.", "Two."]
    assert last_user(program.server.bodies[-1]) == "Second."
    assert {"mode.changed", "setting.changed"} <= {row["type"] for row in program.rows}


async def test_approvals_by_id_and_what_is_no_use(tmp_path: Path) -> None:
    steps = call("write", path="a", content="x"), answer("Done.")
    async with driven(tmp_path, *steps) as program:
        program.send("steer", text="too early")
        program.line("{")
        program.line("[]")
        program.line('{"type": "dance"}')
        program.send("prompt", text="Go.")
        asked = await program.until("approval.asked")
        program.send("approve", id="other", allow=True)
        program.send("approve", id=asked["id"], allow=True, remember="exact")
        program.send("approve", id=asked["id"], allow=False)
        assert await program.end() == 2
    assert (tmp_path / "a").read_text() == "x"
    assert program.rows[-1]["reason"] == "completed" or program.rows[-1]["type"] != "run.finished"
    assert len(program.complaints) == 6
    assert "no run works" in program.complaints[0]


async def test_an_input_that_ends_answers_no(tmp_path: Path) -> None:
    async with driven(tmp_path, call("write", path="a", content="x"), answer("Done.")) as program:
        program.send("prompt", text="Go.")
        await program.until("approval.asked")
        assert await program.end() == 7
    assert not (tmp_path / "a").exists()
    assert "closed its input" in last_result(program.server.bodies[-1])
    assert "--mode accept-edits" in last_result(program.server.bodies[-1])


async def test_questions_of_the_model_and_steering(tmp_path: Path) -> None:
    steps = call("ask", "q1", question="Blue?"), call("ask", "q2", question="Or red?"), answer("Done.")
    async with driven(tmp_path, *steps) as program:
        program.send("prompt", text="Go.")
        asked = await program.until("question.asked")
        program.send("answer", id=asked["id"], text="Green.")
        again = await program.until("question.asked")
        program.send("steer", text="Hurry.")
        program.send("answer", id=again["id"])
        await program.until("run.steered")
        assert await program.end() == 0
    assert last_result(program.server.bodies[1]) == "The user answered: Green."
    assert "gave no answer" in last_result(program.server.bodies[2])
    assert last_user(program.server.bodies[2]) == "Hurry."


async def test_a_stop_and_another_prompt(tmp_path: Path) -> None:
    steps = call("shell", command="sleep 30"), answer("Fine.")
    async with driven(tmp_path, *steps, mode="allow-all") as program:
        program.send("prompt", text="Go.")
        await program.until("call.started")
        program.send("stop")
        assert (await program.until("run.finished"))["reason"] == "interrupted"
        program.send("prompt", text="Again.")
        assert (await program.until("run.finished"))["answer"] == "Fine."
        assert await program.end() == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_signals_while_it_waits_for_lines(tmp_path: Path, number: int, code: int) -> None:
    async with driven(tmp_path, answer("Fine.")) as program:
        program.send("prompt", text="Go.")
        await program.until("run.finished")
        program.process.send_signal(number)
        assert await program.left() == code


async def test_no_prompt_at_all(tmp_path: Path) -> None:
    async with driven(tmp_path, answer("Fine.")) as program:
        assert await program.end() == 2


@given(st.binary(max_size=200))
def test_any_line_is_read_or_refused(line: bytes) -> None:
    with contextlib.suppress(InputProblem):
        read_input(line)


@given(st.sampled_from(sorted(INPUTS)), st.dictionaries(st.sampled_from(["text", "id", "allow"]), st.integers()))
def test_fields_of_wrong_types_are_refused(kind: str, fields: dict[str, int]) -> None:
    with contextlib.suppress(InputProblem):
        assert not isinstance(read_input(json.dumps({"type": kind, **fields}).encode()), (Prompt, Approve))
