"""`from pool import ...`: what programs may rely on. A change here breaks programs: say so in CHANGELOG.md."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

import pool
from pool import Agent, ApprovalAnswer, ApprovalRequest, Guard, Nudge, StopReason, ToolError, tool
from pool.agent.state import RunState, Verdict
from pool.config.settings import SettingsError
from pool.events import ApprovalAsked, CallFinished, CallStarted, ContentDelta, Event, RunFinished, RunStarted
from pool.wire.reading import Reading
from tests.cases.driver import MODEL, ModelServer, Step, answer, call, last_result, last_user

FROZEN = {
    "Agent": "(workspace: 'str | Path' = '.', *, server: 'str' = '', model: 'str' = '', mode: 'str' = '', "
    "tools: 'Sequence[Tool]' = (), guards: 'Sequence[Callable[[], Guard]]' = (), approve: 'Approve | None' = None, "
    "output_schema: 'Mapping[str, Any] | None' = None, settings: 'Mapping[str, object] | None' = None, "
    "resume: 'str' = '', keep: 'bool' = True) -> 'None'",
    "Agent.run": "(self, prompt: 'str') -> 'AsyncGenerator[Event]'",
    "Agent.steer": "(self, text: 'str') -> 'bool'",
    "Agent.stop": "(self) -> 'None'",
    "tool": "(function: 'Callable[..., Any] | None' = None, /, *, name: 'str' = '', "
    "effect: 'Effect | str' = <Effect.READ: 'read'>) -> 'Tool | Callable[[Callable[..., Any]], Tool]'",
    "Guard.before_turn": "(self, run: 'RunState') -> 'Verdict | None'",
    "Guard.after_reply": "(self, run: 'RunState', reading: 'Reading') -> 'Verdict | None'",
    "Guard.before_call": "(self, run: 'RunState', name: 'str', args: 'Mapping[str, Any]') -> 'str'",
    "Guard.after_call": "(self, run: 'RunState', outcome: 'Outcome') -> 'CallNote | None'",
    "Guard.after_calls": "(self, run: 'RunState', outcomes: 'Sequence[Outcome]') -> 'Verdict | None'",
}
NAMES = """Agent ApprovalAnswer ApprovalRequest CallNote Event Guard Nudge RunResult Stop StopReason ToolError
__version__ tool""".split()


def test_the_names_and_signatures_are_frozen() -> None:
    assert pool.__all__ == NAMES
    for path, signature in FROZEN.items():
        found: Any = pool
        for part in path.split("."):
            found = getattr(found, part)
        assert str(inspect.signature(found)) == signature, path
    assert all(getattr(pool, name) is not None for name in NAMES)
    with pytest.raises(AttributeError, match="no attribute 'Agnet'"):
        _ = getattr(pool, "Agnet")  # noqa: B009


def test_importing_pool_imports_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import pool; print(*sorted(set(sys.modules) - before))"
    program = f"import sys; sys.path = {sys.path!r}; {code}"
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"__future__", "pool"}


def agent(folder: Path, server: ModelServer, **more: Any) -> Agent:
    settings: dict[str, object] = {"sandbox.use": "off", **more.pop("settings", {})}
    given: dict[str, Any] = {"server": server.url, "model": MODEL, "mode": "allow-all", "keep": False, **more}
    return Agent(folder, settings=settings, **given)


async def events_of(made: Agent, prompt: str = "Do it.") -> list[Event]:
    return [event async for event in made.run(prompt)]


async def played(folder: Path, *steps: Step, **more: Any) -> tuple[Agent, list[Event], ModelServer]:
    async with ModelServer(*steps) as server:
        made = agent(folder, server, **more)
        events = await events_of(made)
    assert server.complaints == []
    return made, events, server


async def test_a_run_yields_its_events_and_has_a_result(tmp_path: Path) -> None:
    made, events, _ = await played(tmp_path, call("write", path="a.txt", content="x\n"), answer("Done."))
    kinds = [type(event.body) for event in events]
    assert (kinds[-1], RunStarted in kinds, ContentDelta in kinds) == (RunFinished, True, True)
    assert (made.result.reason, made.result.answer, made.result.changes[0].path) == ("completed", "Done.", "a.txt")
    assert made.session == ""


async def test_runs_of_one_conversation(tmp_path: Path) -> None:
    async with ModelServer(answer("One."), answer("Two.")) as server, agent(tmp_path, server) as made:
        first, second = await events_of(made), await events_of(made, "And now?")
        assert made.session
    assert [type(event.body) for event in second].count(RunFinished) == 1
    assert second[0].envelope.seq > first[-1].envelope.seq
    assert last_user(server.bodies[1]) == "And now?"
    assert made.result.answer == "Two."


async def test_own_tools(tmp_path: Path) -> None:
    @tool
    def add(numbers: list[int], scale: float = 1.0, note: str | None = None) -> dict[str, float]:
        """Add numbers up."""
        if not numbers:
            raise ToolError("There are no numbers.")
        return {"sum": sum(numbers) * scale}

    @tool(name="slow_add", effect="execute")
    async def slower(a: int, b: int) -> str:
        """Add two numbers, slowly."""
        await asyncio.sleep(0)
        return str(a + b)

    calls = call("add", "c1", numbers=[1, 2]), call("add", "c2", numbers=[]), call("slow_add", "c3", a=1, b="2")
    _, events, server = await played(tmp_path, *calls, answer("Done."), tools=[add, slower])
    results = [event.body for event in events if isinstance(event.body, CallFinished)]
    assert [(r.status, r.text) for r in results] == [
        ("ok", '{"sum": 3.0}'),
        ("failed", "There are no numbers."),
        ("ok", "3"),
    ]
    declared = {t["function"]["name"]: t["function"] for t in server.bodies[0]["tools"]}
    assert declared["add"]["description"] == "Add numbers up."
    assert declared["add"]["parameters"]["required"] == ["numbers"]
    assert declared["add"]["parameters"]["properties"]["numbers"] == {"type": "array", "items": {"type": "integer"}}


def test_functions_that_are_no_tools() -> None:
    def silent(a: int) -> int:
        return a

    def odd(a: bytes) -> None:
        """Odd."""

    def many(*a: int) -> None:
        """Many."""

    with pytest.raises(ValueError, match="needs a docstring"):
        tool(silent)
    for function in (odd, many):
        with pytest.raises(TypeError, match="parameter 'a'"):
            tool(function)


async def test_own_guards_are_made_for_each_run(tmp_path: Path) -> None:
    class Polite(Guard):
        name = "polite"

        def __init__(self) -> None:
            self.told = False

        def after_reply(self, run: RunState, reading: Reading) -> Verdict | None:
            if reading.calls or self.told or "please" in reading.content:
                return None
            self.told = True
            return Nudge("Say please.", "it was not polite")

    steps = answer("No."), answer("No, please."), answer("No."), answer("Still no.")
    async with ModelServer(*steps) as server, agent(tmp_path, server, guards=[Polite]) as made:
        for _ in range(2):
            await events_of(made)
            assert [(g.guard, g.action) for g in made.result.guards] == [("polite", "nudge")]
    assert last_user(server.bodies[1]) == "Say please."


@pytest.mark.parametrize("form", ["bool", "answer", "coroutine"])
async def test_approvals(tmp_path: Path, form: str) -> None:
    asked: list[ApprovalRequest] = []

    def approve(request: ApprovalRequest) -> Any:
        asked.append(request)
        match form:
            case "bool":
                return True
            case "answer":
                return ApprovalAnswer(False, "program", "Not today.")
            case _:
                return later(request)

    async def later(request: ApprovalRequest) -> bool:
        await asyncio.sleep(0)
        return True

    step = call("write", path="a", content="x")
    made, events, server = await played(tmp_path, step, answer("Done."), approve=approve, mode="default")
    assert [(r.name, r.arguments["path"]) for r in asked] == [("write", "a")]
    assert any(isinstance(event.body, ApprovalAsked) for event in events)
    assert (tmp_path / "a").exists() is (form != "answer")
    assert made.result.exit_code == (7 if form == "answer" else 0)
    assert ("Not today." in last_result(server.bodies[-1])) is (form == "answer")


async def test_a_schema_for_the_answer(tmp_path: Path) -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    made, _, _ = await played(tmp_path, answer("[1, 2]"), output_schema=schema)
    assert made.result.output == [1, 2]
    made, _, _ = await played(tmp_path, answer("One."), answer("Two."), output_schema=schema)
    assert (made.result.reason, made.result.output) == ("unusable_reply", None)


async def test_steering_stopping_and_leaving_early(tmp_path: Path) -> None:
    sleeps = call("shell", "c1", command="sleep 30"), call("shell", "c2", command="sleep 30"), answer("Fine.")
    async with ModelServer(*sleeps) as server, agent(tmp_path, server) as made:
        assert not made.steer("too early")
        async for event in made.run("Go."):
            if isinstance(event.body, CallStarted):
                assert made.steer("Faster.")
                with pytest.raises(RuntimeError, match="a run is working"):
                    await events_of(made)
                made.stop()
        assert made.result.reason == StopReason.INTERRUPTED.value
        async with aclosing(made.run("Again.")) as events:
            async for event in events:
                if isinstance(event.body, CallStarted):
                    break
        assert (made.result.prompt, made.result.reason) == ("Again.", "interrupted")
        assert (await events_of(made, "Last."))[-1].body.type == "run.finished"
        assert made.result.answer == "Fine."


async def test_what_cannot_be_is_said_when_it_opens(tmp_path: Path) -> None:
    async with ModelServer(answer("x")) as server:
        for more, says in (
            ({"mode": "fast"}, "fast"),
            ({"output_schema": {"type": "thing"}}, "no JSON Schema"),
            ({"settings": {"budgets.turns": "many"}}, "turns"),
        ):
            with pytest.raises(SettingsError, match=says):
                await events_of(agent(tmp_path, server, **more))
    with pytest.raises(RuntimeError, match="no run has ended"):
        _ = agent(tmp_path, server).result
