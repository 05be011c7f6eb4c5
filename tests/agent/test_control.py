"""What a face may do to a conversation, over the simulator and over scripted servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pool.agent.control import Busy, Conversation, NothingToDo
from pool.agent.factory import open_session
from pool.agent.steering import ENDED_FOR_USER, TAKEN_BACK
from pool.config.settings import Budgets, Mode, SandboxChoice, SessionBudgets, Settings, SettingsError
from pool.events import (
    CallStarted,
    ContentDelta,
    GuardFired,
    HeadSet,
    ModeChanged,
    Notice,
    QueueChanged,
    ReasoningDelta,
    SettingChanged,
    Steered,
    StopReason,
    UsageReported,
)
from pool.ports import Answer, ApprovalAnswer, ApprovalRequest, Question
from pool.sim.process import running
from pool.sim.settings import SimSettings
from pool.wire.reading import Reading
from tests.cases.driver import (
    MODEL,
    Driver,
    ModelServer,
    Step,
    answer,
    call,
    delta,
    driving,
    finish,
    say,
    send,
    switch,
    usage,
)
from tests.wire.scripted import Exchange, ScriptedServer

SOON_SECONDS = 1.0


@asynccontextmanager
async def talking(url: str, workspace: Path, **changes: Any) -> AsyncGenerator[tuple[Conversation, Driver]]:
    async with driving(url, workspace, **changes) as driver:
        yield Conversation(driver.session), driver


async def long_thought(exchange: Exchange) -> None:
    """A thought of some length, and no end of it."""
    await exchange.start()
    for i in range(10_000):
        await send(exchange, delta(reasoning=f"Point {i} needs a look from the {i * 7 % 23}th side too. "))
        await asyncio.sleep(0.005)


async def long_answer(exchange: Exchange) -> None:
    await exchange.start()
    for i in range(10_000):
        await send(exchange, delta(content=f"Line {i} of the answer, {i * i % 91}. "))
        await asyncio.sleep(0.005)


# -- steering


async def test_steering_ends_a_long_thought_and_is_the_next_message(tmp_path: Path) -> None:
    async with (
        ModelServer(long_thought, answer("As you say.")) as server,
        talking(server.url, tmp_path) as (talk, driver),
    ):
        working = asyncio.ensure_future(talk.submit("Think."))
        await driver.until_body(ReasoningDelta, "Point 20 ")
        assert talk.steer("Use the other file.")
        finished = await asyncio.wait_for(working, SOON_SECONDS)
        assert not talk.steer("Too late.")
    assert (finished.reason, finished.answer) == (StopReason.COMPLETED, "As you say.")
    assert server.complaints == []
    _, kept, last = server.bodies[1]["messages"][1:]
    assert kept["content"] == ENDED_FOR_USER
    assert kept["reasoning"].startswith("Point 0 ")
    assert last == {"role": "user", "content": "Use the other file."}
    (steered,) = [e.body for e in driver.events if isinstance(e.body, Steered)]
    assert steered == Steered("Use the other file.", in_thought=True)
    assert not [e for e in driver.events if isinstance(e.body, GuardFired)]


async def test_a_text_that_is_taken_back_while_its_thought_ends_leaves_a_valid_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        ModelServer(long_thought, answer("As before.")) as server,
        talking(server.url, tmp_path) as (talk, driver),
    ):
        steering = driver.session.agent.steering
        end_thought = steering.end_thought

        def taken_back(reading: Reading) -> None:
            end_thought(reading)
            assert talk.drop_steering(0) == "Use the other file."

        monkeypatch.setattr(steering, "end_thought", taken_back)
        working = asyncio.ensure_future(talk.submit("Think."))
        await driver.until_body(ReasoningDelta, "Point 20 ")
        assert talk.steer("Use the other file.")
        finished = await asyncio.wait_for(working, SOON_SECONDS)
    assert finished.answer == "As before."
    assert [m["content"] for m in server.bodies[1]["messages"][2:]] == [ENDED_FOR_USER, TAKEN_BACK]
    assert server.complaints == []


async def test_steering_waits_for_the_calls_of_the_turn(tmp_path: Path) -> None:
    steps = (call("shell", "c1", command="sleep 0.3; echo done"), answer("As you say."))
    async with ModelServer(*steps) as server, talking(server.url, tmp_path) as (talk, driver):
        working = asyncio.ensure_future(talk.submit("Run it."))
        await driver.until_body(CallStarted)
        talk.steer("Then stop.")
        talk.steer("Or not.")
        talk.steer("And say so.")
        assert talk.drop_steering(1) == "Or not."
        assert talk.waiting_steering() == ("Then stop.", "And say so.")
        await working
    roles = [m["role"] for m in server.bodies[1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    assert "done" in server.bodies[1]["messages"][3]["content"]
    assert server.bodies[1]["messages"][4]["content"] == "Then stop.\n\nAnd say so."
    assert server.complaints == []


async def test_steering_in_an_answer_goes_on_in_the_same_run(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def slow(exchange: Exchange) -> None:
        await exchange.start()
        await send(exchange, delta(content="First answer."))
        await go.wait()
        await send(exchange, finish("stop"), usage(100, 5))
        await exchange.finish()

    async with ModelServer(slow, answer("Second answer.")) as server, talking(server.url, tmp_path) as (talk, driver):
        working = asyncio.ensure_future(talk.submit("Say."))
        await driver.until_body(ContentDelta)
        talk.steer("More.")
        go.set()
        finished = await working
    assert (finished.answer, finished.turns) == ("Second answer.", 2)
    assert [m["content"] for m in server.bodies[1]["messages"][2:]] == ["First answer.", "More."]


# -- queue and stop


async def test_a_stop_keeps_content_and_holds_the_queue(tmp_path: Path) -> None:
    async with (
        ModelServer(long_answer, answer("Two."), answer("Three.")) as server,
        talking(server.url, tmp_path) as (talk, driver),
    ):
        working = asyncio.ensure_future(talk.submit("One?"))
        await driver.until_body(ContentDelta, "Line 5 ")
        with pytest.raises(Busy):
            await talk.submit("Not now.")
        talk.queue("Two?")
        talk.queue("Dropped?")
        talk.queue("Thre?")
        talk.edit_queued(2, "Three?")
        assert talk.drop_queued(1) == "Dropped?"
        with pytest.raises(IndexError, match="no queued prompt 6"):
            talk.drop_queued(5)
        assert talk.stop()
        finished = await asyncio.wait_for(working, SOON_SECONDS)
        assert (finished.reason, talk.queued()) == (StopReason.INTERRUPTED, ("Two?", "Three?"))
        assert not talk.stop()
        assert (await talk.run_queued() or finished).answer == "Three."
        assert talk.queued() == ()
    assert server.complaints == []
    first, kept, second = server.bodies[1]["messages"][1:]
    assert (first["content"], second["content"]) == ("One?", "Two?")
    assert kept["content"].startswith("Line 0 of the answer")
    queues = [e.body.prompts for e in driver.events if isinstance(e.body, QueueChanged)]
    assert queues[-1] == ()
    assert ("Two?", "Three?") in queues


async def test_a_stop_in_a_thought_keeps_nothing_of_it(tmp_path: Path) -> None:
    async with ModelServer(long_thought, answer("Yes.")) as server, talking(server.url, tmp_path) as (talk, driver):
        working = asyncio.ensure_future(talk.submit("One?"))
        await driver.until_body(ReasoningDelta, "Point 5 ")
        talk.stop()
        stopped = await working
        assert stopped.usage.estimated
        assert stopped.usage.prompt > 100 < stopped.usage.completion + 100
        await talk.submit("Two?")
    assert server.bodies[1]["messages"][1:] == [{"role": "user", "content": "One?\n\nTwo?"}]


async def test_what_waited_when_a_session_was_left_waits_when_it_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    work = tmp_path / "work"
    async with ModelServer(answer("One.")) as server, talking(server.url, work) as (talk, _):
        await talk.submit("One?")
        talk.queue("Two?")
        session = talk.hub.session
    budgets = SessionBudgets(turns=2)
    async with (
        ModelServer(answer("More.")) as server,
        talking(server.url, work, resume=session, session_budgets=budgets) as (talk, _),
    ):
        assert talk.queued() == ("Two?",)
        assert {line.name: line.used for line in talk.budgets()}["session-turns"] == 1
        finished = await talk.run_queued()
        assert finished is not None
        assert finished.answer == "More."
        stopped = await talk.submit("Three?")
    assert stopped.reason is StopReason.MAX_TURNS
    assert "2 of 2 turns of the session" in stopped.detail


# -- settings


async def test_a_budget_changed_in_a_run_holds_at_once_and_the_model_is_told_once(tmp_path: Path) -> None:
    def step(n: int) -> Step:
        return call("shell", f"c{n}", command=f"echo {n}")

    async with ModelServer(*map(step, range(20))) as server, talking(server.url, tmp_path) as (talk, driver):
        working = asyncio.ensure_future(talk.submit("Go on."))
        await driver.until_body(CallStarted)
        talk.set_budget("turns", 5)
        finished = await working
    assert finished.reason is StopReason.MAX_TURNS
    assert finished.turns == 5
    told = [g.body.detail for g in driver.events if isinstance(g.body, GuardFired) and g.body.action == "note"]
    assert told.count("4 of 5 turns are used") == 1
    with pytest.raises(SettingsError, match="there is no budget 'turn'"):
        talk.set_budget("turn", 5)
    with pytest.raises(SettingsError, match="a budget is a number"):
        talk.set_budget("turns", -1)


async def test_seconds_of_the_session_end_a_reply_in_its_middle(tmp_path: Path) -> None:
    budgets = SessionBudgets(seconds=0.6)
    async with ModelServer(long_answer) as server, talking(server.url, tmp_path, session_budgets=budgets) as (talk, _):
        finished = await asyncio.wait_for(talk.submit("Say."), 0.6 + SOON_SECONDS)
    assert finished.reason is StopReason.MAX_SECONDS
    assert "of the session" in finished.detail


async def test_levels_of_thinking_keep_the_template_and_off_closes_each_thought(tmp_path: Path) -> None:
    with running(SimSettings()) as sim:
        async with talking(sim.url, tmp_path, model="") as (talk, driver):
            await talk.submit("What does a.txt say?")
            for level in ("low", "high", "off", "normal"):
                change = talk.set_thinking(level)
                assert change.applied
                await talk.submit("What does b.txt say?")
            shown = [e.body.value for e in driver.events if isinstance(e.body, SettingChanged)]
            breaks = {e.body.prefix_break for e in driver.events if isinstance(e.body, UsageReported)}
            with pytest.raises(SettingsError, match="not known"):
                talk.set_thinking("much")
    assert shown == ["low", "high", "off", "normal"]
    assert breaks == {""}
    assert all(switch(body) is True for body in sim.seen)
    closed = [bool(body.get("continue_final_message")) for body in sim.seen]
    assert any(closed)
    by_level = [body["max_tokens"] for body in sim.seen]
    assert len(set(by_level)) >= 3


async def test_where_a_thought_cannot_be_closed_the_template_is_switched_on_request_with_its_price(
    tmp_path: Path,
) -> None:
    step = say(delta(reasoning="Hm."), delta(content="Yes. " * 300), finish("stop"), usage(500, 400))

    async def unknown(exchange: Exchange) -> None:
        if exchange.method == "GET":
            await exchange.reply_json({}, 404)
            return
        seen.append(switch(json.loads(exchange.body)))
        await step(exchange)

    seen: list[bool] = []
    async with ScriptedServer(unknown) as server, talking(server.url, tmp_path) as (talk, driver):
        await talk.submit("One?")
        change = talk.set_thinking("off")
        assert not change.applied
        assert change.price.tokens > 100
        assert "have to be read again" in change.text
        await talk.submit("Two?")
        assert talk.set_thinking("off", by_template=True).applied
        await talk.submit("Three?")
        heads = [e.body.why for e in driver.events if isinstance(e.body, HeadSet)]
        assert talk.context().last_break.endswith("thinking was switched off")
        assert talk.context().unannounced == 0
    assert seen == [True, True, False]
    assert len(heads) == 2


async def test_the_mode_changes_for_the_next_call(tmp_path: Path) -> None:
    steps = (call("shell", "c1", command="touch made"), answer("Done."))
    async with ModelServer(*steps) as server, talking(server.url, tmp_path) as (talk, driver):
        talk.set_mode(Mode.PLAN)
        assert talk.status().mode is Mode.PLAN
        await talk.submit("Make it.")
    assert not (tmp_path / "made").exists()
    assert [e.body.mode for e in driver.events if isinstance(e.body, ModeChanged)] == ["plan"]


class Person:
    """Approves all, and answers the model's questions as told."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        return ApprovalAnswer(True, "person")

    async def question(self, question: Question) -> Answer | None:
        self.asked.append(question.text)
        await asyncio.sleep(0.05)
        return Answer(self.answers.pop(0), "person")


async def test_a_person_is_asked_before_a_budget_ends_the_run(tmp_path: Path) -> None:
    person = Person("go on", "end the run")
    steps = [call("shell", f"c{n}", command=f"echo {n}") for n in range(20)]
    budgets = Budgets(turns=2)
    async with ModelServer(*steps) as server:
        settings = Settings(tmp_path, base_url=server.url, model=MODEL, mode=Mode.ALLOW_ALL, sandbox=SandboxChoice.OFF)
        async with open_session(replace(settings, budgets=budgets), person) as session:
            finished = await Conversation(session).submit("Go on.")
    assert (finished.reason, finished.turns) == (StopReason.MAX_TURNS, 4)
    assert ["2 of 2 turns" in person.asked[0], "4 of 4 turns" in person.asked[1]] == [True, True]
    assert server.complaints == []
    assert "lets you go on" in server.bodies[2]["messages"][-1]["content"]


async def test_high_thinking_is_not_ended_after_three_turns(tmp_path: Path) -> None:
    async with ModelServer(answer("Yes.")) as server, talking(server.url, tmp_path) as (talk, _):
        await talk.submit("One?")
        assert {b.name: b.limit for b in talk.budgets()}["reasoning"] == 16_384
        talk.set_thinking("high")
        assert {b.name: b.limit for b in talk.budgets()}["reasoning"] == 49_152
        talk.set_thinking("low")
        assert {b.name: b.limit for b in talk.budgets()}["reasoning"] == 49_152


async def test_a_window_that_the_server_does_not_tell_is_said_once(tmp_path: Path) -> None:
    async def modest(exchange: Exchange) -> None:
        if exchange.method == "GET":
            found = exchange.path.endswith("/models")
            listing = {"object": "list", "data": [{"id": MODEL, "owned_by": "somebody"}]}
            await exchange.reply_json(listing if found else {}, 200 if found else 404)
            return
        await answer("Yes.")(exchange)

    async with ScriptedServer(modest) as server, talking(server.url, tmp_path) as (talk, driver):
        for _ in range(3):
            await talk.submit("Again?")
        said = [e.body for e in driver.events if isinstance(e.body, Notice) and "context window" in e.body.text]
    assert len(said) == 1
    assert "POOL_CONTEXT_LENGTH" in said[0].remedy


# -- context


async def test_the_parts_of_the_context_add_up_and_name_what_broke_the_prefix(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Write in British English. " * 40)
    (tmp_path / "notes.txt").write_text("alpha beta\n" * 200)
    with running(SimSettings(prefill_rate=20_000)) as sim:
        async with talking(sim.url, tmp_path, model="") as (talk, _):
            with pytest.raises(NothingToDo):
                await talk.compact()
            await talk.submit("What does notes.txt say?")
            report = talk.context()
            parts = {part.name: part.tokens for part in report.parts}
            assert abs(sum(parts.values()) - report.tokens) <= len(parts)
            assert parts["AGENTS.md"] > 150
            assert parts["tool results"] > 300
            assert parts["tools"] > parts["system prompt"] > 0
            assert report.counted
            assert report.cached_share > 0.5
            assert (report.last_break, report.breaks) == ("", 0)
            price = talk.price_to_compact()
            assert price.tokens > 0
            assert price.seconds > 0
            await talk.compact("keep alpha")
            await talk.submit("What does notes.txt say?")
            report = talk.context()
            assert report.last_break.endswith("compaction")
            assert report.unannounced == 0


async def test_a_compaction_can_be_stopped(tmp_path: Path) -> None:
    async with (
        ModelServer(answer("One."), answer("Two."), long_answer) as server,
        talking(server.url, tmp_path) as (talk, driver),
    ):
        await talk.submit("One?")
        await talk.submit("Two?")
        before = driver.session.agent.history.data
        compacting = asyncio.ensure_future(talk.compact())
        while len(server.bodies) < 3:
            await asyncio.sleep(0.01)
        with pytest.raises(Busy):
            await talk.submit("Three?")
        assert talk.stop()
        assert await asyncio.wait_for(compacting, SOON_SECONDS) is False
        assert driver.session.agent.history.data == before
        assert not talk.busy
