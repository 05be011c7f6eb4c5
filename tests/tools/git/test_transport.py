"""fetch and push against real repositories on this machine; `file` stands in for https and ssh."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pool_tools import ToolError, ToolResult
from pool_tools.commands import Commands
from pool_tools.git.tool import GitTool
from pool_tools.git.transport import Transport

from ..conftest import Desk
from .conftest import run_git


class Remote:
    """A bare repository, and a git tool that may use it."""

    def __init__(self, desk: Desk, path: Path, protocols: tuple[str, ...] = ("file",)) -> None:
        self.path = path
        self._commands = Commands(desk.workspace, desk.sandbox)
        self._tool = GitTool(self._commands, Transport(protocols))

    async def call(self, **args: Any) -> ToolResult:
        try:
            return await self._tool.run(args, lambda _: None)
        finally:
            await self._commands.close()

    async def refused(self, **args: Any) -> str:
        with pytest.raises(ToolError) as error:
            await self.call(**args)
        return str(error.value)

    def refs(self) -> Mapping[str, str]:
        lines = run_git(self.path, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(tuple(line.split(" ")) for line in lines)  # type: ignore[misc]  # two words a line


@pytest.fixture
def remote(repo: Desk, tmp_path: Path) -> Remote:
    path = tmp_path / "remote.git"
    run_git(tmp_path, "init", "-q", "--bare", str(path))
    run_git(repo.folder, "remote", "add", "origin", str(path))
    return Remote(repo, path)


def head(folder: Path, rev: str = "HEAD") -> str:
    return run_git(folder, "rev-parse", rev).strip()


async def test_push_sends_the_branch_and_notes_it(repo: Desk, remote: Remote) -> None:
    config = (repo.folder / ".git/config").read_bytes()
    pushed = await remote.call(action="push")
    assert pushed.text.startswith("Pushed main")
    assert remote.refs() == {"refs/heads/main": head(repo.folder)}
    assert head(repo.folder, "refs/remotes/origin/main") == head(repo.folder)
    assert (repo.folder / ".git/config").read_bytes() == config
    assert "[up to date]" in (await remote.call(action="push")).text


async def test_push_that_would_lose_commits_is_refused(repo: Desk, remote: Remote) -> None:
    await remote.call(action="push")
    run_git(repo.folder, "commit", "-q", "--amend", "-m", "other")
    assert "rejected" in await remote.refused(action="push")
    assert remote.refs()["refs/heads/main"] != head(repo.folder)


async def test_fetch_brings_commits_branches_and_tags(repo: Desk, remote: Remote, tmp_path: Path) -> None:
    await remote.call(action="push")
    other = tmp_path / "other"
    run_git(tmp_path, "clone", "-q", str(remote.path), str(other))
    (other / "b.txt").write_text("b\n")
    run_git(other, "add", "b.txt")
    run_git(other, "commit", "-qm", "theirs")
    run_git(other, "tag", "v1")
    run_git(
        other, "push", "-q", "origin", "main", "main:refs/heads/same", f"{head(other, 'HEAD~1')}:refs/heads/old", "v1"
    )
    before = run_git(repo.folder, "status", "--porcelain"), head(repo.folder)
    fetched = await remote.call(action="fetch")
    assert set(fetched.data["updated"]) == {
        "refs/remotes/origin/main", "refs/remotes/origin/same", "refs/remotes/origin/old", "refs/tags/v1",
    }  # fmt: skip
    assert head(repo.folder, "origin/main") == head(other)
    assert run_git(repo.folder, "show", "origin/main:b.txt") == "b\n"
    assert run_git(repo.folder, "fsck", "--connectivity-only") == ""
    assert (run_git(repo.folder, "status", "--porcelain"), head(repo.folder)) == before
    assert "nothing new" in (await remote.call(action="fetch")).text
    status = await remote.call(action="log", rev="HEAD..origin/main")
    assert "theirs" in status.text


async def test_the_pre_push_hook_runs_inside_and_can_refuse(repo: Desk, remote: Remote) -> None:
    hook = repo.folder / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ncat > pushed\necho "$1 $2" >> pushed\n[ ! -e stop ] || { echo tests fail; exit 1; }\n')
    hook.chmod(0o755)
    repo.file("stop")
    said = await remote.refused(action="push")
    assert "tests fail" in said
    assert "Nothing was pushed" in said
    assert remote.refs() == {}
    (repo.folder / "stop").unlink()
    await remote.call(action="push")
    sha = head(repo.folder)
    assert repo.bytes_of("pushed").decode().splitlines() == [
        f"refs/heads/main {sha} refs/heads/main {'0' * 40}",
        f"origin {remote.path}",
    ]


async def test_nothing_of_the_checkout_runs_outside(repo: Desk, remote: Remote, tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    program = tmp_path / "evil.sh"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {trace}\nexit 1\n')
    program.chmod(0o755)
    for setting in ("core.sshCommand", "remote.origin.uploadpack", "remote.origin.receivepack", "core.fsmonitor",
                    "core.alternateRefsCommand", "credential.helper", "core.gitProxy"):  # fmt: skip
        run_git(repo.folder, "config", setting, str(program))
    for name in ("reference-transaction", "pre-auto-gc", "post-update"):
        hook = repo.folder / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {trace}-{name}\n")
        hook.chmod(0o755)
    await remote.call(action="push")
    await remote.call(action="fetch")
    assert not trace.exists(), trace.read_text()


@pytest.mark.parametrize(
    "address", ["ext::sh -c 'touch ran'", "git://example.org/x", "http://example.org/x", "/tmp/x", "file:///tmp/x"]
)
async def test_only_https_and_ssh(repo: Desk, address: str) -> None:
    run_git(repo.folder, "remote", "add", "origin", address)
    for action in ("push", "fetch"):
        assert "is not https or ssh" in await repo.refused("git", action=action)
    assert not (repo.folder / "ran").exists()


async def test_settings_that_commands_can_write_are_not_followed_outside(
    repo: Desk, remote: Remote, own_home: Path
) -> None:
    (own_home / ".gitconfig").rename(repo.folder / "gitconfig")
    (own_home / ".gitconfig").symlink_to(repo.folder / "gitconfig")
    for action in ("push", "fetch"):
        assert "lies in the workspace" in await remote.refused(action=action)
    assert remote.refs() == {}


async def test_no_remote_and_no_branch(repo: Desk, remote: Remote) -> None:
    assert "No such remote" in await remote.refused(action="fetch", name="upstream")
    assert "There is no local branch nope" in await remote.refused(action="push", rev="nope")


async def test_a_login_in_an_address_is_not_told(repo: Desk) -> None:
    run_git(repo.folder, "remote", "add", "origin", "http://me:secret@example.org/x")
    assert "secret" not in await repo.refused("git", action="push")


async def test_a_transport_that_hangs_is_ended(repo: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    writers: list[asyncio.StreamWriter] = []
    silent = await asyncio.start_server(lambda _reader, writer: writers.append(writer), "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    run_git(repo.folder, "remote", "add", "origin", f"git://127.0.0.1:{port}/x")
    commands = Commands(repo.workspace, repo.sandbox)
    tool = GitTool(commands, Transport(("git",), limit=1.0))
    with pytest.raises(ToolError, match="took longer than 1 s"):
        await tool.run({"action": "fetch"}, lambda _: None)
    silent.close()
    for writer in writers:
        writer.close()
        await writer.wait_closed()
    assert not list(Path(tempfile.gettempdir()).glob("transport-*"))


def test_the_preview_says_that_it_is_outside(repo: Desk) -> None:
    tool = next(t for t in repo.toolbox.tools if t.spec.name == "git")
    preview = tool.preview({"action": "push", "rev": "main"})
    assert preview.body == "git push origin main"
    assert "outside the sandbox" in preview.title
