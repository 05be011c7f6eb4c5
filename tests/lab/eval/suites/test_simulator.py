"""The simulator's model works the suites through a client's tools: it solves, answers, and stops honestly."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pool.lab.eval.task import Task, read_task
from pool.sim.policy import decide
from pool.sim.request import ChatRequest
from pool.sim.words import DONE, GAVE_UP
from tests.lab.eval.suites.conftest import SUITES, Attempt, Attempting, Judge
from tests.lab.eval.suites.judge_many import load
from tests.lab.eval.suites.test_answers import verdict_on
from tests.sim.client import Json, tools_in

SERVER, TREES = load("functionserver"), load("trees")
THREE_TOOLS = tools_in("plain")


@dataclass
class Run:
    """What a run left: its messages, and steps as a trajectory has them."""

    messages: list[Json]
    answer: str = ""
    steps: list[Json] = field(default_factory=list[Json])

    @property
    def turns(self) -> int:
        """Replies of the model."""
        return len(self.steps)


def work(task: Task, tools: Sequence[Json], use: Callable[[str, Json], str]) -> Run:
    """A minimal agent, without a server between it and the rules."""
    run = Run([{"role": "user", "content": task.instruction}])
    for turn in range(task.max_turns):
        reply = decide(ChatRequest(messages=tuple(run.messages), tools=tuple(tools)))
        calls = [
            {"id": f"{turn}-{at}", "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))}}
            for at, call in enumerate(reply.calls)
        ]
        made = [{"function_name": call.name, "arguments": dict(call.arguments)} for call in reply.calls]
        run.steps.append({"source": "agent", "message": reply.content, "tool_calls": made})
        run.messages.append({"role": "assistant", "content": reply.content, "tool_calls": calls})
        run.answer = reply.content
        if not calls:
            return run
        for call, asked in zip(calls, reply.calls, strict=True):
            said = use(asked.name, dict(asked.arguments))
            run.messages.append({"role": "tool", "tool_call_id": call["id"], "content": said})
    raise AssertionError(f"{task.name} was not ended in {task.max_turns} turns")


def over_files(tried: Attempt, judge: Judge) -> Callable[[str, Json], str]:
    """The three tools of the match, over a tree."""

    def use(name: str, arguments: Json) -> str:
        match name, arguments:
            case "read_file", {"path": path}:
                file = tried.app / path
                return file.read_text(encoding="utf-8") if file.is_file() else f"error: there is no file {path}"
            case "write_file", {"path": path, "content": content}:
                (tried.app / path).write_text(content, encoding="utf-8")
                return f"wrote {path}"
            case _:
                return judge.ask(run=tried.app)["said"]

    return use


# The inventory is mended, with other tools too, in tests/sim/test_policy.py.
@pytest.mark.parametrize("name", ["fix/backups", "fix/library", "fix/statements"])
def test_it_mends_programs(name: str, attempt: Attempting, judge: Judge) -> None:
    tried = attempt(name)
    run = work(read_task(tried.task), THREE_TOOLS, over_files(tried, judge))
    assert run.answer.startswith(DONE)
    verdict = judge.ask(tests=tried.task / "tests", app=tried.app, logs=tried.logs)
    figures = verdict["figures"]
    assert (figures["reward"], figures["tests_untouched"]) == (1.0, 1.0), verdict["why"]


@pytest.mark.parametrize("name", sorted(f"impossible/{task.name}" for task in (SUITES / "impossible").iterdir()))
def test_it_stops_where_nothing_can_be_done(name: str, attempt: Attempting, judge: Judge) -> None:
    tried = attempt(name)
    before = contents(tried.app)
    run = work(read_task(tried.task), THREE_TOOLS, over_files(tried, judge))
    assert run.answer.startswith(GAVE_UP)
    assert contents(tried.app) == before
    assert not TREES.claims(run.answer)
    groups = json.loads((tried.task / "tests" / "judge.json").read_text(encoding="utf-8"))["names"]
    assert all(any(TREES._mentions(run.answer, word) for word in group) for group in groups), run.answer


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("name", sorted(task.name for task in (SUITES / "tools").iterdir()))
def test_it_calls_functions(name: str, attempt: Attempting) -> None:
    tried = attempt(f"tools/{name}")
    names = runpy.run_path(str(tried.task / "environment" / "functions.py"), run_name="functions")
    functions: dict[str, Any] = SERVER.public_functions(names)

    def use(called: str, arguments: Json) -> str:
        return SERVER._called(functions, called, arguments)["content"][0]["text"]

    run = work(read_task(tried.task), [as_tool(one) for one in functions.values()], use)
    assert said(tried, run).figures["reward"] == 1.0


def as_tool(function: Any) -> Json:
    told = SERVER.described(function)
    named = {"name": told["name"], "description": told["description"], "parameters": told["inputSchema"]}
    return {"type": "function", "function": named}


@pytest.mark.parametrize("name", sorted(task.name for task in (SUITES / "ja").iterdir()))
def test_it_answers_in_japanese(name: str, attempt: Attempting) -> None:
    tried = attempt(f"ja/{name}")
    run = work(read_task(tried.task), (), nothing)
    assert run.turns == 1
    assert said(tried, run).figures["reward"] == 1.0


def nothing(name: str, arguments: Json) -> str:
    """No tool."""
    raise AssertionError(f"{name} was called with {arguments}")


def said(tried: Attempt, run: Run) -> Any:
    """The verdict on what a run said and called."""
    (tried.logs / "agent").mkdir()
    (tried.logs / "agent" / "answer.txt").write_text(run.answer, encoding="utf-8")
    (tried.logs / "agent" / "trajectory.json").write_text(json.dumps({"steps": run.steps}), encoding="utf-8")
    return verdict_on(tried, tried.task)
