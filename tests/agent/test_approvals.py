from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from pool.agent.approvals import Approvals, NobodyThere, Questions, Standing, Unsettled
from pool.agent.rules.kept import KeptApprovals
from pool.agent.rules.ruleset import RuleSet
from pool.agent.rules.syntax import Action, parse_rule
from pool.config.settings import Mode
from pool.events import Body, ModeChanged, Notice
from pool.ports import ApprovalAnswer, ApprovalRequest, Approver, Remember
from pool_tools import Effect

YES, NO, ASKS = "yes", "no", "asks"
Given = Sequence[tuple[Action, str]]


class Bench:
    """Approvals over a checkout, and what they warned of."""

    def __init__(
        self,
        folder: Path,
        mode: Mode = Mode.DEFAULT,
        *given: tuple[Action, str],
        sandboxed: bool = True,
        name: str = "work",
    ) -> None:
        (folder / name).mkdir(exist_ok=True)
        self.warnings: list[str] = []
        self.told: list[Body] = []
        self.questions = Questions()
        self.kept = KeptApprovals(folder / name, folder / "state")
        self.approvals = Approvals(
            mode,
            sandboxed=sandboxed,
            approver=self.questions,
            rules=RuleSet(PurePosixPath(folder / name), [parse_rule(action, text) for action, text in given]),
            kept=self.kept,
            tell=self._told,
        )

    def _told(self, body: Body) -> None:
        self.told.append(body)
        if isinstance(body, Notice):
            self.warnings.append(body.text)

    def shell(self, command: str) -> str:
        return self.judged("shell", Effect.EXECUTE, command=command)

    def judged(self, tool: str, effect: Effect, **args: Any) -> str:
        answer = self.approvals.judge(tool, args, effect)
        return ASKS if isinstance(answer, Unsettled) else YES if answer.allowed else NO

    async def answer(self, command: str, remember: Remember) -> None:
        """Let a person answer the question about a command."""
        question = self.approvals.judge("shell", {"command": command}, Effect.EXECUTE)
        assert isinstance(question, Unsettled)
        asked = request(command, question)
        asking = asyncio.create_task(self.approvals.ask(asked))
        while not self.questions.waiting:
            await asyncio.sleep(0)
        assert self.questions.answer(asked.call_id, ApprovalAnswer(True, "person", remember=remember))
        assert (await asking).allowed


def request(command: str, question: Unsettled, call_id: str = "c1") -> ApprovalRequest:
    return ApprovalRequest(
        call_id,
        "shell",
        {"command": command},
        "execute",
        "command",
        command,
        question.why,
        question.rules,
        can_keep=True,
        lift=question.lift,
    )


CALLS: dict[str, tuple[str, Effect, dict[str, Any]]] = {
    "read": ("read", Effect.READ, {"path": "a"}),
    "write": ("write", Effect.WRITE, {"path": "a", "content": ""}),
    "execute": ("shell", Effect.EXECUTE, {"command": "ls"}),
    "network": ("git", Effect.NETWORK, {"action": "push"}),
    "foreign": ("mcp__docs__search", Effect.FOREIGN, {"query": "x"}),
}


@pytest.mark.parametrize(
    ("mode", "sandboxed", "read", "write", "execute", "network"),
    [
        (Mode.DEFAULT, True, YES, ASKS, ASKS, ASKS),
        (Mode.ACCEPT_EDITS, True, YES, YES, ASKS, ASKS),
        (Mode.AUTO, True, YES, YES, YES, ASKS),
        (Mode.AUTO, False, YES, YES, ASKS, ASKS),
        (Mode.ALLOW_ALL, False, YES, YES, YES, YES),
        (Mode.PLAN, True, YES, NO, NO, NO),
    ],
)
def test_modes(mode: Mode, sandboxed: bool, read: str, write: str, execute: str, network: str, tmp_path: Path) -> None:
    bench = Bench(tmp_path, mode, sandboxed=sandboxed)
    found = {name: bench.judged(tool, effect, **args) for name, (tool, effect, args) in CALLS.items()}
    assert found == {"read": read, "write": write, "execute": execute, "network": network, "foreign": network}


@pytest.mark.parametrize("mode", list(Mode))
def test_deny_holds_in_every_mode(mode: Mode, tmp_path: Path) -> None:
    denied = ["shell(curl *)", "write(secret/**)", "read(.env)", "git(push)"]
    allowed = ["shell(*)", "write", "read", "git"]
    bench = Bench(tmp_path, mode, *((Action.DENY, t) for t in denied), *((Action.ALLOW, t) for t in allowed))
    assert bench.shell("ls; curl x") == NO
    assert bench.judged("edit", Effect.WRITE, path="secret/x") == NO
    assert bench.judged("read", Effect.READ, path="sub/.env") == NO
    assert bench.judged("git", Effect.NETWORK, action="push", name="origin") == NO
    answer = bench.approvals.judge("shell", {"command": "curl x"}, Effect.EXECUTE)
    assert isinstance(answer, ApprovalAnswer)
    assert "deny shell(curl *)" in answer.reason


def test_what_may_be_denied_asks_even_where_all_is_allowed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Mode.ALLOW_ALL, (Action.DENY, "shell(curl *)"), (Action.ASK, "shell(git *)"))
    assert bench.shell("$x y") == ASKS
    assert bench.shell("cat x | bash") == ASKS
    assert bench.shell("python -c 'x'") == YES  # which commands run is clear; what they do is the sandbox's business
    assert bench.shell("git push") == YES  # the mode without questions has none but these


def test_rules_that_ask_and_allow(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Mode.AUTO, (Action.ASK, "shell(git push *)"), (Action.ASK, "read(big/*)"))
    assert bench.shell("ls") == YES
    assert bench.shell("git push") == ASKS
    assert bench.shell("ls (") == ASKS  # it may hide what the rule is about
    assert bench.judged("read", Effect.READ, path="big/x") == ASKS
    bench = Bench(tmp_path, Mode.DEFAULT, (Action.ALLOW, "shell(ls *)"))
    assert bench.shell("ls -l") == YES
    assert bench.shell("ls; make") == ASKS
    assert Bench(tmp_path, Mode.PLAN, (Action.ALLOW, "shell(ls *)")).shell("ls") == NO


async def test_once_is_for_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    await bench.answer("make all", Remember.ONCE)
    assert bench.shell("make all") == ASKS


async def test_exact_is_for_the_same_call_in_this_session(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    await bench.answer("make all", Remember.EXACT)
    assert bench.shell("make all") == YES
    assert bench.shell("make all install") == ASKS
    assert bench.shell("make  all") == ASKS
    assert Bench(tmp_path).shell("make all") == ASKS


async def test_similar_is_for_the_rules_that_were_shown_in_this_session(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    question = bench.approvals.judge("shell", {"command": "git log -3 | head"}, Effect.EXECUTE)
    assert isinstance(question, Unsettled)
    assert [r.text for r in question.rules] == ["shell(git log *)", "shell(head *)"]
    assert "git log" in question.rules[0].covers
    await bench.answer("git log -3 | head", Remember.SIMILAR)
    assert bench.shell("git log --oneline; head x") == YES
    assert bench.shell("git log; curl x") == ASKS
    assert Bench(tmp_path).shell("git log") == ASKS


async def test_always_survives_a_restart_and_is_for_this_checkout(tmp_path: Path) -> None:
    await Bench(tmp_path).answer("git log", Remember.ALWAYS)
    await Bench(tmp_path).answer("python -c 'x'", Remember.ALWAYS)  # no rule would do: exactly this is kept
    later = Bench(tmp_path)
    assert later.shell("git log -5") == YES
    assert later.shell("python -c 'x'") == YES
    assert later.shell("python -c 'y'") == ASKS
    assert Bench(tmp_path, name="other").shell("git log") == ASKS
    assert Bench(tmp_path, Mode.ALLOW_ALL, (Action.DENY, "shell(git *)")).shell("git log") == NO


async def test_rules_in_force_say_where_they_come_from(tmp_path: Path) -> None:
    await Bench(tmp_path).answer("git log", Remember.ALWAYS)
    bench = Bench(tmp_path, Mode.DEFAULT, (Action.DENY, "shell(curl *)"))
    await bench.answer("make all", Remember.SIMILAR)
    await bench.answer("sort x", Remember.ALWAYS)
    assert bench.approvals.standing() == (
        Standing("deny shell(curl *)", "settings"),
        Standing("allow shell(git log *)", "kept"),
        Standing("allow shell(make all *)", "session"),
        Standing("allow shell(sort *)", "kept"),
    )


async def test_an_exact_yes_does_not_outlast_a_deny(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    await bench.answer("make all", Remember.EXACT)
    bench.approvals.rules.add([parse_rule(Action.DENY, "shell(make *)")])
    assert bench.shell("make all") == NO


async def test_a_disk_that_fails_costs_only_the_keeping(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    (tmp_path / "state").write_text("no folder")
    await bench.answer("git log", Remember.ALWAYS)
    assert bench.shell("git log -1") == YES
    assert "for this session only" in bench.warnings[0]


def test_a_damaged_file_is_told_and_not_used(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.kept.path.parent.mkdir(parents=True)
    bench.kept.path.write_text("{")
    again = Bench(tmp_path)
    assert bench.kept.path.name in again.warnings[0]
    assert again.shell("git log") == ASKS


async def test_the_first_answer_counts() -> None:
    questions = Questions()
    asking = asyncio.create_task(questions.ask(request("ls", Unsettled("why"))))
    await asyncio.sleep(0)
    assert [r.preview for r in questions.waiting] == ["ls"]
    assert questions.answer("c1", ApprovalAnswer(False, "person", "not now"))
    assert not questions.answer("c1", ApprovalAnswer(True, "program"))
    assert await asking == ApprovalAnswer(False, "person", "not now")
    assert not questions.answer("c1", ApprovalAnswer(True, "program"))
    assert not questions.waiting


async def test_a_question_that_is_taken_back_is_gone() -> None:
    questions = Questions()
    asking = asyncio.create_task(questions.ask(request("ls", Unsettled("why"))))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait([asking])
    assert not questions.waiting
    assert not questions.answer("c1", ApprovalAnswer(True, "person"))


async def test_without_a_person_the_answer_names_what_would_allow_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    nobody: Approver = NobodyThere()
    for command, flags in [
        ("git log | head", "--allow 'shell(git log *)' --allow 'shell(head *)'"),
        ("python -c 'x'", "--mode auto or --mode allow-all"),
    ]:
        question = bench.approvals.judge("shell", {"command": command}, Effect.EXECUTE)
        assert isinstance(question, Unsettled)
        answer = await nobody.ask(request(command, question))
        assert not answer.allowed
        assert flags in answer.reason


async def test_anybody_may_answer_by_id_and_the_first_counts(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    question = bench.approvals.judge("shell", {"command": "make"}, Effect.EXECUTE)
    assert isinstance(question, Unsettled)
    asking = asyncio.create_task(bench.approvals.ask(request("make", question)))
    await asyncio.sleep(0)
    assert [r.preview for r in bench.approvals.pending()] == ["make"]
    assert not bench.approvals.answer("c2", ApprovalAnswer(True, "program"))
    assert bench.approvals.answer("c1", ApprovalAnswer(True, "program", remember=Remember.EXACT))
    assert not bench.approvals.answer("c1", ApprovalAnswer(False, "person"))
    assert not bench.approvals.pending()
    assert (await asking).by == "program"
    assert not bench.approvals.answer("c1", ApprovalAnswer(False, "person"))
    await asyncio.sleep(0)
    assert not bench.questions.waiting  # the face's own question is taken back
    assert bench.shell("make") == YES


async def test_a_face_that_fails_denies(tmp_path: Path) -> None:
    class Broken:
        async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
            raise RuntimeError("no terminal")

    bench = Bench(tmp_path)
    approvals = Approvals(
        Mode.DEFAULT,
        sandboxed=True,
        approver=Broken(),
        rules=bench.approvals.rules,
        kept=bench.kept,
        tell=bench.told.append,
    )
    answer = await approvals.ask(request("ls", Unsettled("why")))
    assert not answer.allowed
    assert bench.told == [Notice("warning", "who was to answer failed: RuntimeError('no terminal')")]


def test_a_new_mode_holds_from_the_next_call_on_and_is_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Mode.DEFAULT)
    followed: list[Mode] = []
    bench.approvals.follow_mode(followed.append)
    assert bench.shell("make") == ASKS
    bench.approvals.set_mode(Mode.AUTO)
    assert bench.shell("make") == YES
    bench.approvals.set_mode(Mode.AUTO)
    bench.approvals.set_mode(Mode.PLAN)
    assert bench.shell("make") == NO
    assert followed == [Mode.DEFAULT, Mode.AUTO, Mode.PLAN]
    assert bench.told == [ModeChanged("auto", "default"), ModeChanged("plan", "auto")]


def test_plan_runs_commands_only_where_they_can_change_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Mode.PLAN, (Action.DENY, "shell(curl *)"))
    assert bench.shell("git log") == NO
    bench.approvals.read_only_sandbox = lambda: True
    assert bench.shell("git log") == YES
    assert bench.shell("curl x") == NO
    assert bench.judged("write", Effect.WRITE, path="a") == NO
    assert bench.judged("git", Effect.NETWORK, action="push") == NO
