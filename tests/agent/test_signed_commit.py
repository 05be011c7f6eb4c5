"""A signed commit through the whole agent: an approval of its own, in mode auto too, that rules and flags can give."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pool.config.settings import Mode
from pool.events import ApprovalAsked, ApprovalGiven, CallFinished, StopReason
from pool.ports import ApprovalAnswer
from tests.agent.test_call_approval import YES, calls, desk
from tests.cases.driver import answer, call, last_result, play

COMMIT = '{"action":"commit","message":"second","all":true}'
pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen here")


def git(folder: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a change, whose user signs with an ssh key."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / "key")], check=True)
    (home / ".gitconfig").write_text(
        f"[user]\n\tname = T\n\temail = t@example.org\n\tsigningkey = {home}/key.pub\n[gpg]\n\tformat = ssh\n"
    )
    git(work, "init", "-q")
    (work / "a.txt").write_text("one\n")
    git(work, "add", "a.txt")
    git(work, "commit", "-qm", "first")
    with (home / ".gitconfig").open("a") as file:
        file.write("[commit]\n\tgpgsign = true\n")
    (work / "a.txt").write_text("two\n")
    return work


async def test_it_is_asked_for_by_an_id_of_its_own(repo: Path) -> None:
    async with desk(repo, calls(("git", COMMIT)), answer("Done.")) as here:
        running = here.start()
        first = await here.reply(YES)
        second = await here.asked()
        assert (first.call_id, second.call_id, second.effect) == ("c0", "c0.1", "network")
        assert not here.questions.answer("c0", YES)  # a late second click on the first question signs nothing
        assert [r.text for r in second.rules] == ["git(sign *)"]
        assert "outside the sandbox" in second.policy
        assert "second" in second.preview
        await here.reply(YES)
        assert (await running).reason is StopReason.COMPLETED
        assert [body.id for body in here.seen(ApprovalAsked)] == ["c0", "c0.1"]
        assert [body.id for body in here.seen(ApprovalGiven)] == ["c0", "c0.1"]
    assert "gpgsig" in git(repo, "cat-file", "commit", "HEAD")


async def test_a_no_is_a_denial_with_its_reason(repo: Path) -> None:
    async with desk(repo, calls(("git", COMMIT)), answer("I could not."), mode=Mode.ACCEPT_EDITS) as here:
        running = here.start()
        await here.reply(YES)
        await here.reply(ApprovalAnswer(False, "person", "I sign myself."))
        assert (await running).reason is StopReason.DENIED
        assert here.seen(CallFinished)[0].status == "denied"
        assert "I sign myself." in last_result(here.server.bodies[-1])
    assert git(repo, "log", "--format=%s") == "first\n"


async def test_without_a_person_only_a_rule_lets_it_sign(repo: Path) -> None:
    commit = call("git", action="commit", message="second", all=True)
    rules = ("git(commit *)",)
    run, bodies = await play(repo, commit, answer("I could not."), mode=Mode.DEFAULT, allow=rules)
    assert run.reason is StopReason.DENIED
    assert "--allow 'git(sign *)'" in last_result(bodies[-1])
    assert git(repo, "log", "--format=%s") == "first\n"
    run, _ = await play(repo, commit, answer("Done."), mode=Mode.DEFAULT, allow=(*rules, "git(sign)"))
    assert run.reason is StopReason.COMPLETED
    assert git(repo, "log", "--format=%s") == "second\nfirst\n"
