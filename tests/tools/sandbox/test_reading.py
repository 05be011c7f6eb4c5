"""Commands that write nothing, for as long as they are asked to, in both tiers."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pool_tools.commands import Commands
from pool_tools.sandbox.base import Access, CanOnlyRead, NoSandbox, Policy
from pool_tools.sandbox.gitrestore import GitGuard
from pool_tools.sandbox.probe import TIERS, probe
from pool_tools.sandbox.trial import only_reads

from ..conftest import Desk, make_desk, missing


@pytest.fixture(params=TIERS)
def desk(request: pytest.FixtureRequest, folder: Path) -> Iterator[Desk]:
    found = probe(Policy((folder,)), tiers=(request.param,))
    if found.tier != request.param:
        missing(f"no {request.param} here: {found.reason}")
    yield from make_desk(folder, found.sandbox)


async def test_commands_only_read_while_they_are_asked_to(desk: Desk) -> None:
    reading = True
    desk.toolbox.read_only_when(lambda: reading)
    desk.file("a.txt", "as it was\n")
    assert desk.toolbox.only_reading()
    for command in ("echo x > a.txt", "rm a.txt", "touch new", "mkdir new", "git init -q new", "mv a.txt b.txt"):
        tried = await desk.call("shell", command=command)
        assert not tried.ok, command
        assert "commands only read now" in tried.text, tried.text
    seen = await desk.call("shell", command="cat a.txt; echo kept > $TMPDIR/note")
    assert seen.ok, seen.text
    assert "as it was" in seen.text
    reading = False
    assert not desk.toolbox.only_reading()
    written = await desk.call("shell", command="cat $TMPDIR/note > a.txt")
    assert written.ok, written.text
    assert desk.bytes_of("a.txt") == b"kept\n"
    assert sorted(path.name for path in desk.folder.iterdir()) == ["a.txt"]


async def test_a_linked_worktree_can_be_asked_while_commands_only_read(desk: Desk, tmp_path: Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    steps = (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "x"), ("worktree", "add", "-q", str(desk.folder)))
    for args in steps:
        subprocess.run(["git", *identity, *args], cwd=main, check=True, capture_output=True)
    desk.toolbox.read_only_when(lambda: True)
    seen = await desk.call("shell", command="git log --format=%s; git commit -q --allow-empty -m y && echo made")
    assert "\nx\n" in seen.text, seen.text
    assert "made" not in seen.text


async def test_commands_that_only_read_have_no_network(folder: Path) -> None:
    listener = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    found = probe(Policy((folder,), network=True))
    if found.tier == "none":
        missing(found.reason)
    desks = make_desk(folder, found.sandbox)
    desk = next(desks)
    reading = False
    desk.toolbox.read_only_when(lambda: reading)
    reach = f": <>/dev/tcp/127.0.0.1/{port}"
    async with listener:
        assert (await desk.call("shell", command=reach)).ok
        reading = True
        assert not (await desk.call("shell", command=reach)).ok
        missed = await desk.call("shell", command="echo 'curl: (6) Could not resolve host: example.org'; exit 6")
        assert "missed_network" not in missed.data
    assert next(desks, None) is None


async def test_git_reads_in_a_folder_that_cannot_be_written(desk: Desk) -> None:
    done = await desk.call("shell", command="git init -q && echo x > a && git add a")
    assert done.ok, done.text
    desk.toolbox.read_only_when(lambda: True)
    assert "A  a" in (await desk.call("shell", command="git status --short")).text
    assert "a" in (await desk.call("git", action="status")).text
    assert not (await desk.call("shell", command="git rm -qf a")).ok
    assert desk.bytes_of("a") == b"x\n"


def test_a_policy_that_only_reads_is_probed_as_such(folder: Path) -> None:
    found = probe(Policy((folder,), Access.READ_ONLY))
    if found.tier == "none":
        missing(found.reason)
    assert only_reads(found.sandbox, folder, {})
    assert not isinstance(found.sandbox.guard, GitGuard), "nothing can be changed, so nothing is to be put back"
    found.sandbox.close()


def test_a_sandbox_that_lets_commands_write_is_noticed(folder: Path) -> None:
    assert not only_reads(NoSandbox(), folder, {})
    assert list(folder.iterdir()) == []


def test_without_a_sandbox_nothing_only_reads(folder: Path) -> None:
    from pool_tools.workspace import Workspace

    workspace = Workspace(folder)
    commands = Commands(workspace, NoSandbox())
    commands.read_only_when(lambda: True)
    assert not isinstance(commands.sandbox, CanOnlyRead)
    assert not commands.only_reading()
    workspace.close()
