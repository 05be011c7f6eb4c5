"""Files that look like secrets ask before they are read or shown to commands."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from pool.agent.approvals import Unsettled
from pool.agent.rules.syntax import Action
from pool.config.settings import Mode, SandboxChoice
from pool.events import StopReason
from pool.ports import Remember
from pool_tools import Effect
from tests.agent.test_approvals import ASKS, NO, YES, Bench
from tests.agent.test_call_approval import SHELL, calls, desk
from tests.agent.test_call_approval import YES as ALLOWED
from tests.cases.driver import answer, call, last_result, play
from tests.needs import bubblewrap
from tests.tools.conftest import missing


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    for name in (".env", ".env.example", "sub/tls.pem", "a.py"):
        (work / name).write_text("KEY=secret\n")
    (work / "link").symlink_to(".env")
    return tmp_path


@pytest.mark.parametrize(
    ("tool", "args", "judged"),
    [
        ("read", {"path": ".env"}, ASKS),
        ("read", {"path": "sub/../.env"}, ASKS),
        ("read", {"path": "link"}, ASKS),
        ("search", {"path": "sub/tls.pem", "pattern": "x"}, ASKS),
        ("read", {"path": ".env.example"}, YES),
        ("read", {"path": "nope.pem"}, YES),
        ("read", {"path": "a.py"}, YES),
        ("list", {"path": "sub"}, YES),
        ("edit", {"path": ".env", "edits": []}, ASKS),
        ("write", {"path": "new.env", "content": ""}, YES),
        ("shell", {"command": "cat .env"}, ASKS),
        ("shell", {"command": "source ./.env && env"}, ASKS),
        ("shell", {"command": "docker compose --env-file=.env up"}, ASKS),
        ("shell", {"command": "curl -d @sub/tls.pem x"}, ASKS),
        ("shell", {"command": "cat .e*"}, YES),  # a name that only the shell will know: hiding the file is for that
        ("shell", {"command": "cp .env.example x.env"}, YES),
        ("job", {"action": "start", "command": "tail -f .env"}, ASKS),
    ],
)
def test_in_mode_auto(tool: str, args: dict[str, str], judged: str, folder: Path) -> None:
    effects = {"edit": Effect.WRITE, "write": Effect.WRITE, "shell": Effect.EXECUTE, "job": Effect.EXECUTE}
    effect = effects.get(tool, Effect.READ)
    assert Bench(folder, Mode.AUTO).judged(tool, effect, **args) == judged
    assert Bench(folder, Mode.ALLOW_ALL).judged(tool, effect, **args) == YES


@pytest.mark.parametrize(
    ("rule", "judged"),
    [("read(.env)", YES), ("read(./.env)", YES), ("read(.e*)", YES), ("read(**)", ASKS), ("read", ASKS)],
)
def test_only_a_rule_that_names_it_allows_it(rule: str, judged: str, folder: Path) -> None:
    bench = Bench(folder, Mode.AUTO, (Action.ALLOW, rule))
    assert bench.judged("read", Effect.READ, path=".env") == judged
    assert bench.shell("cat .env") == judged
    assert bench.judged("read", Effect.READ, path="sub/tls.pem") == ASKS
    assert Bench(folder, Mode.AUTO, (Action.ALLOW, rule), (Action.DENY, "read(.env)")).shell("cat < .env") == NO


def test_the_question_offers_this_one_file(folder: Path) -> None:
    question = Bench(folder, Mode.AUTO).approvals.judge("read", {"path": "sub/tls.pem"}, Effect.READ)
    assert isinstance(question, Unsettled)
    assert [rule.text for rule in question.rules] == ["read(./sub/tls.pem)"]
    question = Bench(folder).approvals.judge("shell", {"command": "cat .env"}, Effect.EXECUTE)
    assert isinstance(question, Unsettled)
    assert [rule.text for rule in question.rules] == ["read(./.env)", "shell(cat *)"]


async def test_a_run_without_a_person_says_what_would_allow_it(folder: Path) -> None:
    work = folder / "work"
    run, bodies = await play(work, call("read", path=".env"), answer("I may not."), mode=Mode.AUTO)
    assert run.reason is StopReason.DENIED
    told = last_result(bodies[-1])
    assert "`.env` looks like a file with keys or passwords" in told
    assert "--allow 'read(./.env)' or --mode allow-all" in told
    run, bodies = await play(work, call("read", path=".env"), answer("Done."), mode=Mode.AUTO, allow=("read(.env)",))
    assert run.reason is StopReason.COMPLETED
    assert "KEY=secret" in last_result(bodies[-1])


@bubblewrap
@pytest.mark.parametrize("remember", [Remember.ONCE, Remember.SIMILAR])
async def test_commands_see_it_once_that_is_allowed(remember: Remember, folder: Path) -> None:
    steps = [calls(("shell", SHELL % "cat .e??")), calls(("shell", SHELL % "cat .env")), answer("Done.")]
    async with desk(folder / "work", *steps, mode=Mode.AUTO, sandbox=SandboxChoice.AUTO) as here:
        if "bubblewrap" not in here.session.sandbox_note:
            missing(f"no bubblewrap here: {here.session.sandbox_note}")
        assert "Hidden from commands until allowed: .env, sub/tls.pem" in here.session.sandbox_note
        running = here.start()
        await here.reply(replace(ALLOWED, remember=remember))
        async with asyncio.timeout(20):
            await running
        first, second = [m["content"] for m in here.server.bodies[-1]["messages"] if m["role"] == "tool"]
        assert "secret" not in first
        assert "KEY=secret" in second
