"""Every way in which a call is denied tells the model why, and what of it the user can lift."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pool.config.settings import Mode
from pool.events import ApprovalGiven, CallFinished, StopReason
from pool.ports import ApprovalAnswer
from tests.agent.test_call_approval import calls, desk
from tests.cases.driver import answer, call, last_result, last_user, play


@dataclass(frozen=True)
class Denied:
    """A call that is denied in a run without a person, and what the model must be told."""

    tool: str
    args: dict[str, Any]
    said: tuple[str, ...]
    mode: Mode = Mode.DEFAULT
    settings: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    by: str = "rule"


DENIED = {
    "a deny rule": Denied(
        "shell",
        {"command": "ls; curl x"},
        ("`deny shell(curl *)`", "`curl x`", "until the user takes the rule away"),
        Mode.ALLOW_ALL,
        {"deny": ("shell(curl *)",)},
    ),
    "what may be denied": Denied(
        "shell",
        {"command": "$x y"},
        ("it may hide what a rule is about", "Written so that it is clear which command runs"),
        Mode.ALLOW_ALL,
        {"deny": ("shell(curl *)",)},
    ),
    "a rule that asks": Denied(
        "write",
        {"path": "a.lock", "content": "x"},
        ("`ask write(*.lock)`", "--mode allow-all, or by taking the rule away"),
        Mode.ACCEPT_EDITS,
        {"ask": ("write(*.lock)",)},
    ),
    "the mode, for an edit": Denied(
        "write",
        {"path": "src/a", "content": "x"},
        ("mode default asks before it can change files", "--allow 'write(src/**)' or --mode accept-edits"),
    ),
    "the mode, for a command": Denied(
        "shell",
        {"command": "make all"},
        ("mode default asks before it can run commands", "--allow 'shell(make all *)' or --mode allow-all"),
    ),
    "the mode, for a command that no rule can be made for": Denied(
        "shell", {"command": "$(cat x)"}, ("mode default asks", "The user can allow it with --mode allow-all.")
    ),
    "a command in mode auto without a sandbox": Denied(
        "shell",
        {"command": "make all"},
        ("no sandbox confines this command", "--allow 'shell(make all *)' or --mode allow-all"),
        Mode.AUTO,
    ),
    "leaving the sandbox": Denied(
        "git",
        {"action": "push", "name": "origin"},
        ("it leaves the sandbox, with the user's own rights", "--allow 'git(push origin *)' or --mode allow-all"),
        Mode.AUTO,
    ),
    "secrets": Denied(
        "read",
        {"path": ".env"},
        ("`.env` looks like a file with keys or passwords", "--allow 'read(./.env)' or --mode allow-all"),
        Mode.AUTO,
    ),
    "plan mode, for an edit": Denied(
        "write",
        {"path": "a", "content": "x"},
        ("Plan mode is read-only", "The user can change the mode."),
        Mode.PLAN,
        by="mode",
    ),
    "plan mode, for a command that nothing confines": Denied(
        "shell", {"command": "ls"}, ("Plan mode is read-only",), Mode.PLAN, by="mode"
    ),
}


@pytest.mark.parametrize("denied", DENIED.values(), ids=DENIED)
async def test_the_model_is_told_why_and_what_would_lift_it(denied: Denied, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("K=1")
    step = call(denied.tool, **denied.args)
    run, bodies = await play(tmp_path, step, answer("I could not."), mode=denied.mode, **denied.settings)
    told = last_result(bodies[-1])
    for part in (f"{denied.tool} was not run: it was denied.", *denied.said):
        assert part in told
    (finished,) = run.of(CallFinished)
    assert (finished.status, finished.data) == ("denied", {"denied_by": denied.by})
    (given,) = run.of(ApprovalGiven)
    assert (given.allowed, given.by) == (False, denied.by)
    assert given.reason in told
    assert sorted(path.name for path in tmp_path.iterdir()) == [".env"]


@pytest.mark.parametrize(("reason", "said"), [("Not on a Friday.", "Not on a Friday."), ("", "No reason was given.")])
async def test_a_persons_no_reaches_the_model(reason: str, said: str, tmp_path: Path) -> None:
    async with desk(tmp_path, calls(("shell", '{"command":"make"}')), answer("I will not.")) as here:
        running = here.start()
        await here.reply(ApprovalAnswer(False, "person", reason))
        async with asyncio.timeout(10):
            await running
        assert last_result(here.server.bodies[-1]) == f"shell was not run: it was denied. {said}"


async def test_a_run_that_ends_by_denials_is_closed_by_the_model(tmp_path: Path) -> None:
    tries = [call("shell", command=f"make part{n}") for n in range(3)]
    run, bodies = await play(tmp_path, *tries, answer("Nothing was made."), mode=Mode.PLAN)
    assert run.finished.reason is StopReason.DENIED
    assert run.finished.answer == "Nothing was made."
    assert "3 calls in a row were denied" in last_user(bodies[-1])
    assert len(bodies) == len(tries) + 1
