"""Signed commits with real keys: hooks inside, the signature outside after an answer, and never a commit without it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pool_tools import Effect, ToolError, ToolResult
from pool_tools.api import Confirm, Step
from pool_tools.commands import Commands
from pool_tools.git.tool import GitTool

from ..conftest import Desk
from .conftest import run_git

UNTIL_SECONDS = 10.0
pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen here")


one_tier = pytest.mark.parametrize("repo", ["none"], indirect=True)
"""For what is the same in each."""


class Signer:
    """A git tool whose steps are answered: reason "" approves."""

    def __init__(self, desk: Desk, reason: str = "") -> None:
        self.desk = desk
        self.reason = reason
        self.steps: list[Step] = []
        self.left = [""]
        self._commands = Commands(desk.workspace, desk.sandbox)
        self._tool = GitTool(self._commands)

    async def confirm(self, step: Step) -> str:
        self.steps.append(step)
        return self.reason

    async def commit(self, confirm: Confirm | None = None, **args: object) -> ToolResult:
        given = {"action": "commit", "message": "second: ü\n\nand why", "all": True, **args}
        try:
            return await self._tool.run_steps(given, lambda _: None, confirm or self.confirm)
        finally:
            self.left = sorted(path.name for path in self._commands.scratch().folder.glob(f"*-{'?' * 16}"))
            await self._commands.close()

    async def refused(self, confirm: Confirm | None = None) -> str:
        with pytest.raises(ToolError) as error:
            await self.commit(confirm)
        assert subjects(self.desk.folder) == ["first"]
        assert not (self.desk.folder / ".git/index.lock").exists()
        return str(error.value)


def subjects(folder: Path) -> list[str]:
    return run_git(folder, "log", "--format=%s").splitlines()


def verified(folder: Path) -> str:
    """What git says of HEAD's signature; it raises if that is bad."""
    done = subprocess.run(["git", "verify-commit", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    return done.stderr + done.stdout


@pytest.fixture
def key(own_home: Path) -> Path:
    """An ssh key in the home, which the sandbox hides, and settings that ask for signatures."""
    path = own_home / ".ssh/id_signing"
    path.parent.mkdir(mode=0o700)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    public = path.with_suffix(".pub").read_text().split()
    (own_home / "allowed").write_text(f"t@example.org {' '.join(public[:2])}\n")
    with (own_home / ".gitconfig").open("a") as file:
        file.write(f"[commit]\n\tgpgsign = true\n[gpg]\n\tformat = ssh\n[user]\n\tsigningkey = {path}.pub\n")
        file.write(f'[gpg "ssh"]\n\tallowedSignersFile = {own_home}/allowed\n')
    return path


@pytest.fixture
def signer(repo: Desk, key: Path) -> Signer:
    repo.file("a.txt", "one\nTWO\n")
    return Signer(repo)


def hook(folder: Path, name: str, script: str) -> None:
    path = folder / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


async def test_a_commit_is_signed_after_an_answer_and_verifies(repo: Desk, signer: Signer) -> None:
    hook(
        repo.folder, "pre-commit", 'cat "$HOME/.ssh/id_signing" > stolen 2>/dev/null; echo hook >> a.txt; git add a.txt'
    )
    hook(repo.folder, "commit-msg", 'echo "Hooked: yes" >> "$1"')
    done = await signer.commit()
    assert done.data["signed"]
    assert "signed outside the sandbox" in done.text
    assert 'Good "git" signature for t@example.org' in verified(repo.folder)
    assert done.data["commit"] == run_git(repo.folder, "rev-parse", "HEAD").strip()
    assert run_git(repo.folder, "show", "HEAD:a.txt") == "one\nTWO\nhook\n"
    assert run_git(repo.folder, "log", "-1", "--format=%B").rstrip() == "second: ü\n\nand why\nHooked: yes"
    assert run_git(repo.folder, "status", "--porcelain", "--untracked-files=no") == ""
    (step,) = signer.steps
    assert (step.gravity, step.args["action"]) == (Effect.NETWORK, "sign")
    for shown in ("second: ü", "Hooked: yes", "a.txt | 3", "author T <t@example.org>", "user.signingkey="):
        assert shown in step.preview.body
    if repo.sandbox.name != "none":
        assert repo.bytes_of("stolen") == b""
    assert not any(signer.left)


@one_tier
async def test_only_some_files_and_a_merge(repo: Desk, signer: Signer) -> None:
    repo.file("b.txt", "b\n")
    run_git(repo.folder, "add", "b.txt")
    done = await signer.commit(all=False, paths=["a.txt"])
    assert done.data["signed"]
    assert run_git(repo.folder, "status", "--porcelain") == "A  b.txt\n"
    verified(repo.folder)
    run_git(repo.folder, "-c", "commit.gpgsign=false", "commit", "-qm", "b")
    run_git(repo.folder, "switch", "-qc", "other", "HEAD~2")
    run_git(repo.folder, "-c", "commit.gpgsign=false", "commit", "-q", "--allow-empty", "-m", "theirs")
    run_git(repo.folder, "merge", "-q", "--no-commit", "--no-ff", "main")
    await signer.commit(all=False)
    assert len(run_git(repo.folder, "log", "-1", "--format=%P").split()) == 2
    verified(repo.folder)


@one_tier
async def test_the_first_commit_of_a_repository(folder: Path, repo: Desk, signer: Signer) -> None:
    shutil.rmtree(folder / ".git")
    run_git(folder, "init", "-q", "--object-format=sha256")
    run_git(folder, "add", "a.txt")
    await signer.commit(all=False)
    verified(folder)


async def test_without_approval_there_is_no_commit_and_the_reason_is_told(repo: Desk, signer: Signer) -> None:
    staged = run_git(repo.folder, "status", "--porcelain")
    signer.reason = "Not with this message."
    said = await signer.refused()
    assert "it was denied. Not with this message." in said
    assert "signing was not switched off" in said
    assert run_git(repo.folder, "status", "--porcelain") == staged


async def test_the_tool_alone_asks_nobody_and_signs_nothing(repo: Desk, signer: Signer) -> None:
    said = await repo.refused("git", action="commit", message="x", all=True)
    assert "Nobody can be asked here." in said
    assert subjects(repo.folder) == ["first"]


async def test_programs_of_the_checkout_never_sign(repo: Desk, signer: Signer, tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    evil = repo.file("evil.sh", f"#!/bin/sh\ntouch {trace} {repo.folder}/ran\nexit 1\n")
    evil.chmod(0o755)
    for setting in ("gpg.program", "gpg.ssh.program", "gpg.openpgp.program", "gpg.ssh.defaultKeyCommand"):
        run_git(repo.folder, "config", setting, str(evil))
    run_git(repo.folder, "config", "gpg.format", "openpgp")
    run_git(repo.folder, "config", "user.signingkey", "evil")
    hook(repo.folder, "reference-transaction", f"touch {trace}-hook 2>/dev/null")
    await signer.commit()
    assert not trace.exists()
    assert not (repo.folder / "ran").exists()
    assert "evil" not in signer.steps[0].preview.body.split("Signed with:")[1]
    for setting in ("gpg.program", "gpg.ssh.program", "gpg.openpgp.program", "gpg.ssh.defaultKeyCommand"):
        run_git(repo.folder, "config", "--unset", setting)
    assert "Good" in verified(repo.folder)


async def test_programs_on_a_path_into_the_checkout_never_sign(
    repo: Desk, signer: Signer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = repo.file("venv/bin/ssh-keygen", f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    await signer.commit()
    assert not (tmp_path / "ran").exists()


@one_tier
async def test_settings_that_commands_can_write_are_not_trusted(repo: Desk, signer: Signer, own_home: Path) -> None:
    (own_home / ".gitconfig").rename(repo.folder / "gitconfig")
    (own_home / ".gitconfig").symlink_to(repo.folder / "gitconfig")
    assert "not trusted to sign" in await signer.refused()
    assert not signer.steps


async def test_a_branch_that_moved_meanwhile_is_not_overwritten(repo: Desk, signer: Signer) -> None:
    first = run_git(repo.folder, "rev-parse", "HEAD").strip()
    made = run_git(repo.folder, "commit-tree", "-m", "theirs", "-p", first, f"{first}^{{tree}}").strip()

    async def confirm(step: Step) -> str:
        run_git(repo.folder, "update-ref", "refs/heads/main", made)
        return ""

    with pytest.raises(ToolError):
        await signer.commit(confirm)
    assert run_git(repo.folder, "rev-parse", "HEAD").strip() == made


async def test_a_hook_that_refuses_and_nothing_to_commit_ask_nobody(repo: Desk, signer: Signer) -> None:
    hook(repo.folder, "pre-commit", "echo tests fail; exit 1")
    assert "tests fail" in await signer.refused()
    (repo.folder / ".git/hooks/pre-commit").unlink()
    run_git(repo.folder, "checkout", "-q", "a.txt")
    assert "nothing to commit" in await signer.refused()
    assert not signer.steps


@one_tier
async def test_a_signing_program_that_fails_is_told(repo: Desk, signer: Signer, key: Path) -> None:
    key.unlink()
    said = await signer.refused()
    assert "could not be signed" in said
    assert "signing was not switched off" in said


@one_tier
async def test_SHELL_13_a_program_that_wants_a_terminal_fails_at_once(
    repo: Desk, signer: Signer, own_home: Path
) -> None:
    program = own_home / "sign.sh"
    program.write_text("#!/bin/sh\nread x </dev/tty || exit 1\n")
    program.chmod(0o755)
    with (own_home / ".gitconfig").open("a") as file:
        file.write(f'[gpg "ssh"]\n\tprogram = {program}\n')
    async with asyncio.timeout(UNTIL_SECONDS):
        assert "signing was not switched off" in await signer.refused()
    assert len(signer.steps) == 1


async def test_interrupted_while_it_waits_git_leaves_no_lock(repo: Desk, signer: Signer) -> None:
    asked = asyncio.Event()

    async def confirm(step: Step) -> str:
        asked.set()
        await asyncio.Event().wait()
        return ""

    running = asyncio.create_task(signer.commit(confirm))
    async with asyncio.timeout(UNTIL_SECONDS):
        await asked.wait()
    running.cancel()
    await asyncio.wait({running})
    assert running.cancelled()
    assert not (repo.folder / ".git/index.lock").exists()
    assert subjects(repo.folder) == ["first"]
    assert not any(signer.left)


@one_tier
async def test_openpgp(repo: Desk, own_home: Path) -> None:
    if shutil.which("gpg") is None:
        pytest.skip("no gpg here")
    home = own_home / ".gnupg"
    home.mkdir(mode=0o700)
    command = [
        "gpg",
        "--batch",
        "--quiet",
        "--passphrase",
        "",
        "--quick-gen-key",
        "T <t@example.org>",
        "ed25519",
        "sign",
    ]
    try:
        subprocess.run(command, check=True, capture_output=True)
        with (own_home / ".gitconfig").open("a") as file:
            file.write("[commit]\n\tgpgsign = true\n")
        repo.file("a.txt", "one\nTWO\n")
        await Signer(repo).commit()
        assert "Good signature" in verified(repo.folder)
    finally:
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], check=False, capture_output=True)
