"""Unconfined commands that one kept process forks."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pool_tools.process import run_command
from pool_tools.sandbox.base import NoSandbox
from pool_tools.supervisor import processes


@pytest.fixture
def sandbox() -> Iterator[NoSandbox]:
    kept = NoSandbox(kept=True)
    yield kept
    kept.close()
    assert servers() == []


async def said(sandbox: NoSandbox, folder: Path, command: str) -> tuple[int | None, str]:
    output: list[bytes] = []
    argv = ("sh", "-c", command)
    ended = await run_command(argv, folder, {**os.environ, "WORD": "ä b"}, sandbox, 20, output.append)
    return ended.status, b"".join(output).decode()


def servers() -> list[int]:
    own = os.getpid()
    children = [pid for pid, (parent, _) in processes().items() if parent == own]
    return [pid for pid in children if b"forkserver" in Path(f"/proc/{pid}/cmdline").read_bytes()]


async def test_commands_have_their_folder_and_environment_and_one_server(sandbox: NoSandbox, tmp_path: Path) -> None:
    for status in (0, 3):
        assert await said(sandbox, tmp_path, f'pwd; echo "$WORD" >&2; exit {status}') == (status, f"{tmp_path}\nä b\n")
    assert len(servers()) == 1


async def test_a_server_that_was_killed_is_started_anew(sandbox: NoSandbox, tmp_path: Path) -> None:
    assert await said(sandbox, tmp_path, "true") == (0, "")
    os.kill(servers()[0], signal.SIGKILL)
    assert await said(sandbox, tmp_path, "echo again") == (0, "again\n")


async def test_a_folder_that_is_gone(sandbox: NoSandbox, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert await said(sandbox, gone, "true") == (None, f"{gone}: No such file or directory\n")


async def test_without_process_descriptors_each_command_has_an_interpreter(
    sandbox: NoSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_pid: int) -> int:
        raise OSError("none here")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    assert await said(sandbox, tmp_path, "echo still") == (0, "still\n")
    assert servers() == []


@pytest.mark.parametrize("program", ["sh", "/bin/sh"])
async def test_a_command_has_nothing_of_the_server(sandbox: NoSandbox, tmp_path: Path, program: str) -> None:
    """A program by its whole path is started another way than one that is looked for; both begin alike."""
    output: list[bytes] = []
    # The last by the shell itself, which blocks signals for a moment while it starts a program.
    asked = (
        "readlink /proc/$$/fd/0; ls /proc/$$/fd; cut -d' ' -f1,6 /proc/$$/stat; "
        'while read -r line; do case $line in SigBlk*|SigCgt*) echo "$line";; esac; done </proc/$$/status'
    )
    ended = await run_command((program, "-c", asked), tmp_path, dict(os.environ), sandbox, 20, output.append)
    stdin, *descriptors, ids, blocked, caught = b"".join(output).decode().splitlines()
    assert (ended.status, ended.left, stdin, descriptors) == (0, (), "/dev/null", ["0", "1", "2"])
    pid, session = ids.split()
    assert pid == session
    assert int(blocked.split()[1], 16) == 0
    assert not int(caught.split()[1], 16) & (1 << (signal.SIGTERM - 1) | 1 << (signal.SIGHUP - 1))


async def test_a_program_that_cannot_be_started_is_named(sandbox: NoSandbox, tmp_path: Path) -> None:
    output: list[bytes] = []
    for name, why in (("gone", "No such file or directory"), ("text", "Permission denied")):
        (tmp_path / "text").write_text("no program")
        output.clear()
        ended = await run_command((f"{tmp_path}/{name}",), tmp_path, {}, sandbox, 20, output.append)
        assert (ended.status, b"".join(output).decode()) == (127, f"{tmp_path}/{name}: {why}\n")
