"""Another agent behind the interface's driver: one that does its work, and all the ways in which one can fail.

The agent is a real process, `liar.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pool.config.settings import Settings
from pool.events import (
    ApprovalAsked,
    Body,
    CallFinished,
    CallOutput,
    CallProposed,
    ContentDelta,
    Event,
    Notice,
    ReasoningDelta,
    RunFinished,
    RunStarted,
    Steered,
    TodoChanged,
    TodoItem,
)
from pool.facekit.agents import conversation
from pool.facekit.agents.descriptions import AgentDescription
from pool.facekit.agents.driving import AgentDriver
from pool.facekit.agents.translating import UNSAID
from pool.facekit.glance import OUTSIDE
from pool.ports import ApprovalAnswer, ApprovalRequest, Remember
from pool.stops import StopReason

LIAR = Path(__file__).with_name("liar.py")
WAIT_SECONDS = 30.0
SHORT_SECONDS = 0.05

B = TypeVar("B", bound=Body)


@dataclass
class Desk:
    """A face and its person. remember None: the person never answers."""

    driver: AgentDriver
    events: list[Event] = field(default_factory=list[Event])
    earlier: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    failed: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    asked: list[ApprovalRequest] = field(default_factory=list[ApprovalRequest])
    remember: Remember | None = Remember.ONCE
    allows: bool = True
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    waits: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        self.waits.set()
        if self.remember is None:
            await asyncio.Event().wait()
        return ApprovalAnswer(self.allows, "person", remember=self.remember or Remember.ONCE)

    def fail(self, why: str, remedy: str) -> None:
        self.failed.append((why, remedy))
        self.settled.set()

    async def prompt(self, text: str) -> RunFinished:
        async with asyncio.timeout(WAIT_SECONDS):
            finished = await self.driver.submit(text)
        assert finished is not None
        return finished

    def of(self, kind: type[B]) -> list[B]:
        """Bodies of a kind since the last prompt."""
        starts = [n for n, event in enumerate(self.events) if isinstance(event.body, RunStarted)]
        return [event.body for event in self.events[starts[-1] if starts else 0 :] if isinstance(event.body, kind)]

    def all_of(self, kind: type[B]) -> list[B]:
        """Bodies of a kind, of all prompts."""
        return [event.body for event in self.events if isinstance(event.body, kind)]

    async def until(self, test: Callable[[], bool]) -> None:
        """Wait until what was told makes a test true."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not test():
                await asyncio.sleep(0)

    @property
    def said(self) -> str:
        return "".join(body.text for body in self.of(ContentDelta))


@contextlib.asynccontextmanager
async def at_desk(folder: Path, *words: str, program: str = sys.executable, **changes: Any) -> AsyncGenerator[Desk]:
    """A desk at an agent whose session is open, or could not be opened."""
    command = (program, "-I", "-S", str(LIAR), *words)
    agent = AgentDescription("liar", "Liar", command, (("OWN", "1"),), "get it", "say please", LIAR)
    desk: list[Desk] = []
    driver = AgentDriver(
        agent,
        Settings(workspace=folder, **changes),
        _Approver(desk),
        on_event=lambda event: desk[0].events.append(event),
        on_earlier=lambda rows: desk[0].earlier.extend(rows),
        on_open=lambda: desk[0].settled.set(),
        on_failed=lambda why, remedy: desk[0].fail(why, remedy),
    )
    desk.append(Desk(driver))
    driver.start()
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await desk[0].settled.wait()
        desk[0].settled.clear()
        yield desk[0]
    finally:
        await driver.close()


class _Approver:
    def __init__(self, desk: list[Desk]) -> None:
        self._desk = desk

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        return await self._desk[0].ask(request)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\nmore\n")
    (work / "link").symlink_to("/etc/passwd")
    subprocess.run(["git", "init", "-q", work], check=True)
    return work


async def test_work_is_shown_like_that_of_pools_own_agent(folder: Path) -> None:
    async with at_desk(folder) as desk:
        warning = desk.of(Notice)[0].text
        assert "Liar 7 works outside Pool's sandbox" in warning
        finished = await desk.prompt("edit it")
        assert (finished.reason, finished.detail, finished.answer[:12]) == (StopReason.COMPLETED, "", "I change it.")
        assert [body.text for body in desk.of(ReasoningDelta)] == ["Hm."]
        assert desk.of(TodoChanged)[0].items == (TodoItem("change", "now"),)
        edit, run, unsaid = desk.of(CallFinished)
        assert (unsaid.status, unsaid.text) == ("ok", UNSAID)
        assert (edit.name, edit.status, edit.changes[0].path, run.text) == ("edit", "ok", "a.txt", "line 1\nline 2\n")
        assert "".join(body.text for body in desk.of(CallOutput)) == "line 1\nline 2\n"
        proposed = desk.of(CallProposed)[0]
        assert proposed.preview == "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
        assert "\x1b" not in proposed.title
        assert desk.asked[0].preview == proposed.preview
        assert desk.of(ApprovalAsked)[0].effect == "write"
        glance = desk.driver.glance()
        assert glance is not None
        assert (glance.sandbox, glance.window, glance.own_mode) == (OUTSIDE, 100_000, "Calm")


async def test_answers_reach_as_far_as_the_person_says(folder: Path) -> None:
    async with at_desk(folder) as desk:
        for remember, allows, chosen in (
            (Remember.ONCE, False, "o-reject_once"),
            (Remember.SIMILAR, True, "o-allow_always"),
            (Remember.EXACT, True, "o-allow_once"),
        ):
            desk.remember, desk.allows = remember, allows
            await desk.prompt("edit")
            assert f'"{chosen}"' in desk.said
        desk.allows = False
        await desk.prompt("edit")
        assert '"o-allow_once"' in desk.said
        assert len(desk.asked) == 3


async def test_a_cancel_answers_what_waits(folder: Path) -> None:
    async with at_desk(folder) as desk:
        desk.remember = None
        run = asyncio.create_task(desk.prompt("wait"))
        async with asyncio.timeout(WAIT_SECONDS):
            await desk.waits.wait()
        talk = desk.driver.talk
        assert talk is not None
        talk.queue("odd")
        assert talk.stop()
        assert (await run).reason is StopReason.INTERRUPTED
        assert desk.said == "cancelled"
        assert talk.queued() == ("odd",)


async def test_an_agent_that_does_not_hear_a_cancel_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "CANCEL_SECONDS", SHORT_SECONDS)
    async with at_desk(folder) as desk:
        run = asyncio.create_task(desk.prompt("deaf"))
        while desk.said != "no":
            await asyncio.sleep(0)
        assert desk.driver.talk is not None
        desk.driver.talk.stop()
        assert (await run).reason is StopReason.INTERRUPTED
        assert "did not stop" in desk.of(Notice)[0].text


async def test_files_are_those_of_the_workspace(folder: Path) -> None:
    async with at_desk(folder) as desk:
        await desk.prompt("files")
        assert desk.said == "one;no -32600;no -32600;done;no -32600;no -32601;"
        assert (folder / "new" / "b.txt").read_text() == "made\n"
        assert "bad" not in (folder / ".git" / "config").read_text()


async def test_rubbish_is_passed_over(folder: Path) -> None:
    async with at_desk(folder) as desk:
        assert (await desk.prompt("odd")).reason is StopReason.COMPLETED
        assert desk.said == "[image]"
        assert desk.failed == []


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        ("die", "it ended with status 3; it wrote: Error: no luck"),
        ("huge", "it sent a message of more than 33,554,432 bytes"),
        ("flood", "201 lines to its output that are no messages"),
    ],
)
async def test_an_agent_that_fails_is_told_with_its_reason_and_can_be_started_again(
    folder: Path, prompt: str, why: str
) -> None:
    async with at_desk(folder) as desk:
        finished = await desk.prompt(prompt)
        assert finished.reason is StopReason.SERVER_FAILED
        assert why in finished.detail
        assert why in desk.failed[0][0]
        assert desk.failed[0][1] == "/new starts it again"
        assert (await desk.prompt("odd")).reason is StopReason.SERVER_FAILED
        await desk.driver.close()
        desk.settled.clear()
        desk.driver.start()
        await desk.settled.wait()
        assert (await desk.prompt("odd")).reason is StopReason.COMPLETED


async def test_a_login_is_offered_and_taken(folder: Path) -> None:
    async with at_desk(folder, "login") as desk:
        why, remedy = desk.failed[0]
        assert why == "Liar wants a login: Authentication required"
        assert remedy == "say please; or /login key (API key); then /new"
        assert not (await desk.driver.execute("/login none")).ok
        assert (await desk.driver.execute("/login key")).ok
        assert (await desk.prompt("odd")).reason is StopReason.COMPLETED


async def test_commands_are_the_agents_and_a_few_of_pools(folder: Path) -> None:
    async with at_desk(folder) as desk:
        assert desk.driver.command_offers("/rev") == [("/review", "reads")]
        action = (await desk.driver.execute("/review all")).action
        assert action is not None
        assert (action.kind.value, action.value) == ("submit", "/review all")
        assert not (await desk.driver.execute("/undo")).ok
        assert desk.driver.command_offers("/option model ") == [
            ("/option model small", "Small"),
            ("/option model big", "Big"),
        ]
        await desk.driver.execute("/option model big")
        await desk.driver.execute("/option loud on")
        settings = (await desk.driver.execute("/option")).rows
        assert settings is not None
        assert settings.rows == (("model", "big", "small, big"), ("loud", "on", "on, off"))
        assert not (await desk.driver.execute("/option none")).ok
        await desk.driver.execute("/mode wild")
        glance = desk.driver.glance()
        assert glance is not None
        assert glance.own_mode == "wild"


@pytest.mark.parametrize(("word", "method"), [("steers", "_poolside/session_steer"), ("injects", "_session/steering")])
async def test_words_reach_a_run_where_the_agent_takes_them(folder: Path, word: str, method: str) -> None:
    async with at_desk(folder, word) as desk:
        talk = desk.driver.talk
        assert talk is not None
        assert desk.driver.steers
        assert not talk.steer("too early")
        run = asyncio.create_task(desk.prompt("listen"))
        await desk.until(lambda: desk.said == "? ")
        assert not talk.steer("/review")
        assert talk.steer("odd first")
        assert talk.waiting_steering() == ("odd first",)
        await desk.until(lambda: desk.said.endswith("; ? "))
        await desk.until(lambda: desk.of(Steered) == [Steered("odd first")])
        assert talk.steer("odd second")
        # What the run did not take is worked after it.
        await run
        assert [body.prompt for body in desk.all_of(RunStarted)] == ["listen", "odd second"]
        assert f"{method} odd second" in "".join(body.text for body in desk.all_of(ContentDelta))
        assert talk.waiting_steering() == talk.queued() == ()


async def test_an_earlier_session_is_told_again_and_gone_on_with(folder: Path) -> None:
    async with at_desk(folder, "keeps", continue_last=True) as desk:
        assert [row["type"] for row in desk.earlier] == [
            *("message.added", "message.added", "call.proposed", "call.finished", "message.added", "todo.changed")
        ]
        assert json.loads(desk.earlier[0]["text"])["content"] == "Mend it."
        assert desk.of(ContentDelta) == []
        asked = (await desk.driver.execute("/resume")).ask
        assert asked is not None
        assert asked.choices[0].line == "/resume old"
        assert "\x1b" not in asked.choices[0].label
        assert not any("far" in choice.line for choice in asked.choices)
        action = (await desk.driver.execute("/resume old")).action
        assert action is not None
        assert (action.kind.value, action.value) == ("resume", "old")
        assert (await desk.prompt("odd")).reason is StopReason.COMPLETED
    async with at_desk(folder, resume="old") as desk:
        assert desk.failed == [("Liar cannot go on with an earlier session", "/new begins one")]


async def test_all_that_an_agent_started_ends_with_it(folder: Path) -> None:
    async with at_desk(folder) as desk:
        await desk.prompt("child")
        pid = int(desk.said)
        os.kill(pid, 0)
    while _lives(pid):
        # Its new parent may take a moment to reap it.
        await asyncio.sleep(0)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_a_program_that_is_not_there_is_said_to_be_missing(folder: Path) -> None:
    async with at_desk(folder, program="no-such-agent") as desk:
        assert desk.failed == [("Liar is not installed: there is no program 'no-such-agent'", "get it")]
