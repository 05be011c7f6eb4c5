"""Approvals in a running session: order, concurrency, the clock, and what reaches the model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pool.agent.approvals import Questions
from pool.agent.factory import Session, open_session
from pool.agent.ids import new_id
from pool.agent.state import Stop
from pool.config.settings import Budgets, Mode, SandboxChoice, Settings
from pool.events import (
    ApprovalAsked,
    ApprovalGiven,
    Body,
    CallFinished,
    CallStarted,
    Event,
    RunFinished,
    RunStarted,
    StopReason,
    SuggestedRule,
)
from pool.ports import ApprovalAnswer, ApprovalRequest, Remember
from tests.cases.driver import MODEL, ModelServer, Step, answer, finish, last_result, piece, say

YES = ApprovalAnswer(True, "person")
UNTIL_SECONDS = 10.0
B = TypeVar("B", bound=Body)


class Desk:
    """A session whose questions the test answers."""

    def __init__(self, session: Session, questions: Questions, server: ModelServer) -> None:
        self.session = session
        self.questions = questions
        self.server = server
        self.bodies: list[Body] = []

    def start(self) -> asyncio.Task[RunFinished]:
        return asyncio.create_task(self.session.agent.run("Do it.", new_id()))

    async def asked(self) -> ApprovalRequest:
        """The question that is open next."""
        async with asyncio.timeout(UNTIL_SECONDS):
            while not self.questions.waiting:
                await asyncio.sleep(0.005)
        return self.questions.waiting[0]

    async def reply(self, given: ApprovalAnswer) -> ApprovalRequest:
        request = await self.asked()
        assert self.questions.answer(request.call_id, given)
        await asyncio.sleep(0)
        return request

    def seen(self, kind: type[B]) -> list[B]:
        return [body for body in self.bodies if isinstance(body, kind)]


@asynccontextmanager
async def desk(folder: Path, *steps: Step, **changes: Any) -> AsyncGenerator[Desk]:
    questions = Questions()
    async with ModelServer(*steps) as server:
        settings = Settings(folder, base_url=server.url, model=MODEL, mode=Mode.DEFAULT, sandbox=SandboxChoice.OFF)
        settings = replace(settings, **{"ephemeral": True, **changes})
        async with open_session(settings, questions) as session:
            here = Desk(session, questions, server)
            arriving = session.hub.subscribe()

            async def collect() -> None:
                async for event in arriving:
                    here.bodies.append(event.body)

            collecting = asyncio.create_task(collect())
            yield here
            session.hub.close()
            await collecting


def calls(*given: tuple[str, str]) -> Step:
    """A reply with several calls: tool and arguments as JSON."""
    pieces = [piece(index=i, id=f"c{i}", name=name, arguments=args) for i, (name, args) in enumerate(given)]
    return say(*pieces, finish("tool_calls"))


SHELL = '{"command":"%s"}'


async def test_a_question_holds_its_own_call_and_later_ones_with_effects(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    step = calls(("read", '{"path":"a.txt"}'), ("shell", SHELL % "echo one"), ("write", '{"path":"b","content":"x"}'))
    async with desk(tmp_path, step, answer("Done.")) as here:
        running = here.start()
        assert (await here.asked()).name == "shell"
        assert [body.name for body in here.seen(CallStarted)] == ["read"]
        await asyncio.sleep(0.1)
        assert not (tmp_path / "b").exists()
        await here.reply(YES)
        assert (await here.reply(YES)).name == "write"
        assert (await running).reason is StopReason.COMPLETED
    assert (tmp_path / "b").read_text() == "x"


async def test_no_with_a_reason_reaches_the_model(tmp_path: Path) -> None:
    async with desk(tmp_path, calls(("shell", SHELL % "make deploy")), answer("I will not.")) as here:
        running = here.start()
        await here.reply(ApprovalAnswer(False, "person", "not on a Friday"))
        finished = await running
        assert (finished.reason, finished.exit_code) == (StopReason.DENIED, 7)
        assert "not on a Friday" in last_result(here.server.bodies[-1])
        (given,) = here.seen(ApprovalGiven)
        assert given == ApprovalGiven(False, "person", "not on a Friday", "c0")


async def test_similar_spares_the_next_question(tmp_path: Path) -> None:
    step = calls(("shell", SHELL % "sort -r x"), ("shell", SHELL % "sort x"), ("shell", SHELL % "sort x; uniq x"))
    async with desk(tmp_path, step, answer("Done.")) as here:
        running = here.start()
        first = await here.reply(replace(YES, remember=Remember.SIMILAR))
        assert [r.text for r in first.rules] == ["shell(sort *)"]
        second = await here.reply(YES)
        assert second.preview == "sort x; uniq x"
        assert [r.text for r in second.rules] == ["shell(uniq *)"]
        await running
        assert len(here.seen(ApprovalAsked)) == 2
        assert [body.by for body in here.seen(ApprovalGiven)] == ["person", "rule", "person"]


async def test_questions_of_calls_that_run_side_by_side_come_one_by_one(tmp_path: Path) -> None:
    """The answer to the first counts for the second, which is the same."""
    for name in "ab":
        (tmp_path / name).write_text(name)
    step = calls(*(("read", f'{{"path":"{name}"}}') for name in ("a", "a", "b")))
    async with desk(tmp_path, step, answer("Done."), ask=("read(*)",)) as here:
        running = here.start()
        await here.asked()
        await asyncio.sleep(0.1)
        assert len(here.questions.waiting) == 1
        # Which of them asks first is open; each of the two answers counts for all calls that are the same.
        yes = replace(YES, remember=Remember.EXACT)
        asked = [(await here.reply(yes)).arguments["path"] for _ in "ab"]
        assert sorted(asked) == ["a", "b"]
        assert (await running).reason is StopReason.COMPLETED
        assert [body.status for body in here.seen(CallFinished)] == ["ok"] * 3


async def test_an_answer_takes_as_long_as_it_takes(tmp_path: Path) -> None:
    """The limit on seconds stands still while a question is open, and goes on afterwards."""
    limit = 0.8
    steps = [calls(("shell", SHELL % "true")), calls(("shell", SHELL % "sleep 9")), answer("Done.")]
    async with desk(tmp_path, *steps, budgets=replace(Budgets(), seconds=limit)) as here:
        running = here.start()
        await here.asked()
        await asyncio.sleep(2 * limit)
        assert not running.done()
        await here.reply(YES)
        await here.reply(YES)
        finished = await running
        assert finished.reason is StopReason.MAX_SECONDS
        assert limit <= finished.seconds < 2 * limit
        assert here.seen(CallFinished)[0].seconds < limit


async def test_stopping_takes_the_question_back(tmp_path: Path) -> None:
    async with desk(tmp_path, calls(("shell", SHELL % "true"))) as here:
        running = here.start()
        await here.asked()
        here.session.agent.stop(Stop(StopReason.INTERRUPTED))
        assert (await running).reason is StopReason.INTERRUPTED
        assert not here.questions.waiting


async def test_looking_at_jobs_and_git_asks_nobody(tmp_path: Path) -> None:
    step = calls(("job", '{"action":"list"}'), ("job", '{"action":"start","command":"true"}'))
    async with desk(tmp_path, step, answer("Done.")) as here:
        running = here.start()
        assert (await here.reply(YES)).arguments["action"] == "start"
        await running
        assert len(here.seen(ApprovalAsked)) == 1


async def _until(events: AsyncIterator[Event], kind: type[Body]) -> AsyncIterator[Body]:
    """Bodies up to the first of a kind."""
    async for event in events:
        yield event.body
        if isinstance(event.body, kind):
            return


async def test_a_face_that_attaches_later_finds_all_it_needs_to_answer(tmp_path: Path) -> None:
    """By the events of before alone, and by the id in them; `Approvals.pending` has the same."""
    async with desk(tmp_path, calls(("shell", SHELL % "sort -r x")), answer("Done.")) as here:
        running = here.start()
        await here.asked()
        late = here.session.hub.subscribe()
        found = [body async for body in _until(late, ApprovalAsked)]
        asked = found[-1]
        assert isinstance(asked, ApprovalAsked)
        assert (asked.id, asked.name, asked.effect) == ("c0", "shell", "execute")
        assert (asked.preview_kind, asked.preview) == ("command", "sort -r x")
        assert asked.why == "mode default asks before it can run commands"
        assert asked.rules == (SuggestedRule("shell(sort *)", "`sort` with any other words after it"),)
        assert asked.can_keep
        assert asked.policy == "no sandbox: commands can do whatever you can"
        assert [r.call_id for r in here.session.approvals.pending()] == ["c0"]
        assert here.session.approvals.answer(asked.id, YES)
        assert not here.session.approvals.answer(asked.id, YES)
        await running
        assert not here.questions.waiting


async def test_a_new_mode_counts_for_the_next_call_and_run(tmp_path: Path) -> None:
    steps = [calls(("write", '{"path":"a","content":"x"}')), answer("Done."), answer("Again.")]
    async with desk(tmp_path, *steps) as here:
        here.session.approvals.set_mode(Mode.ACCEPT_EDITS)
        assert (await here.start()).reason is StopReason.COMPLETED
        assert not here.seen(ApprovalAsked)
        assert [body.mode for body in here.seen(RunStarted)] == ["accept-edits"]
        here.session.approvals.set_mode(Mode.PLAN)
        await here.start()
        assert [body.mode for body in here.seen(RunStarted)] == ["accept-edits", "plan"]
