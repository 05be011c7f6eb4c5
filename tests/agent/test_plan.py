"""Plan mode: nothing is changed before the user has approved the plan, with what was edited in it."""

from __future__ import annotations

from pathlib import Path

from pool.agent.commands import Action, execute
from pool.agent.commands.kinds import ActionKind
from pool.agent.control import Conversation
from pool.agent.plan import ASK, CARRY_OUT
from pool.config.settings import Mode
from pool.events import CallFinished, ModeChanged, PlanDecided, PlanProposed, RunFinished
from tests.cases.driver import Driver, ModelServer, answer, call, driving, last_user

PLAN = "1. Write a.txt\n2. Read it"


def bodies(driver: Driver, *kinds: type) -> list[object]:
    return [e.body for e in driver.events if isinstance(e.body, kinds)]


async def test_a_plan_is_edited_approved_and_carried_out(tmp_path: Path) -> None:
    steps = (
        *(call("write", "c1", path="a.txt", content="early\n"), answer(PLAN)),
        *(call("write", "c2", path="a.txt", content="late\n"), answer("Done.")),
    )
    async with ModelServer(*steps) as server, driving(server.url, tmp_path / "w", mode=Mode.ACCEPT_EDITS) as driver:
        talk = Conversation(driver.session)
        begun = await execute("/plan make a file", talk)
        assert begun.action == Action(ActionKind.SUBMIT, "make a file")
        run = await driver.run("make a file")
        assert last_user(server.bodies[0]) == f"make a file\n\n{ASK}"
        assert [(c.name, c.status) for c in run.of(CallFinished)] == [("write", "denied")]
        assert not (tmp_path / "w" / "a.txt").exists()
        assert isinstance(run.events[-1].body, RunFinished)
        assert run.of(PlanProposed) == [PlanProposed(PLAN, "accept-edits")]

        shown = await execute("/plan", talk)
        assert shown.lines[-2:] == tuple(PLAN.split("\n"))
        assert shown.ask is not None
        assert shown.ask.choices[0].line == "/plan approve accept-edits"
        assert (await execute("/plan edit", talk)).action == Action(ActionKind.EDIT_PLAN, PLAN)
        edited = await execute(f"/plan edited {PLAN}\n3. Say so", talk)
        assert edited.lines[-1] == "3. Say so"
        approved = await execute("/plan approve", talk)
        assert approved.action is not None
        prompt = f"{CARRY_OUT}\n\n{PLAN}\n3. Say so"
        assert approved.action == Action(ActionKind.SUBMIT, prompt)
        assert talk.status().mode is Mode.ACCEPT_EDITS
        await driver.run(prompt)
        assert last_user(server.bodies[2]) == prompt
        assert (tmp_path / "w" / "a.txt").read_text() == "late\n"
        assert server.complaints == []
    assert bodies(driver, PlanDecided) == [
        PlanDecided("edited", f"{PLAN}\n3. Say so", "accept-edits"),
        PlanDecided("approved", f"{PLAN}\n3. Say so", "accept-edits"),
    ]
    assert [b.mode for b in bodies(driver, ModeChanged) if isinstance(b, ModeChanged)] == ["plan", "accept-edits"]


async def test_a_plan_waits_through_a_resume_and_asking_for_changes_makes_a_new_one(tmp_path: Path) -> None:
    async with ModelServer(answer(PLAN), answer("1. Another"), answer("Hm.")) as server:
        async with driving(server.url, tmp_path / "w", mode=Mode.PLAN) as driver:
            await driver.run()
            session = driver.session.hub.session
        async with driving(server.url, tmp_path / "w", mode=Mode.PLAN, resume=session) as driver:
            talk = Conversation(driver.session)
            plan = driver.session.work.plan
            assert plan.waiting == PLAN
            await driver.run("Not so.")
            assert plan.waiting == "1. Another"
            assert (await execute("/plan approve plan", talk)).ok is False
            assert (await execute("/plan drop", talk)).ok
            for line in ("/plan drop", "/plan edit", "/plan approve", "/plan approve auto now"):
                assert not (await execute(line, talk)).ok, line
            plan.restore(PLAN)
            talk.set_mode(Mode.AUTO)
            await driver.run("Something else.")
            assert plan.waiting == ""
    assert server.complaints == []


async def test_a_run_that_ends_badly_proposes_nothing(tmp_path: Path) -> None:
    steps = (answer("Could not do it: no."),)
    async with ModelServer(*steps) as server, driving(server.url, tmp_path / "w", mode=Mode.PLAN) as driver:
        run = await driver.run()
    assert run.of(PlanProposed) == []
    assert driver.session.work.plan.waiting == ""


async def test_a_compaction_says_of_plan_mode_what_holds_now(tmp_path: Path) -> None:
    async with (
        ModelServer(answer(PLAN), answer("An account.")) as server,
        driving(server.url, tmp_path / "w", mode=Mode.PLAN) as driver,
    ):
        talk = Conversation(driver.session)
        await driver.run("First.")
        await driver.session.agent.compact()
        planning = driver.session.agent.history.messages[1].message.content
        server.bodies.clear()
        server.steps = [answer("An account.")]
        talk.set_mode(Mode.AUTO)
        await driver.session.agent.compact()
        after = driver.session.agent.history.messages[1].message.content
    assert planning.startswith("First.\n\n")
    assert planning.count(ASK) == 1
    assert ASK not in after
    assert server.complaints == []
