"""The shell tool against faults that other agents were reported for; each test bears the name of its case."""

from __future__ import annotations

import asyncio
import itertools
import os
import resource
import subprocess
import time
from pathlib import Path

import pytest

from pool_tools.colours import plain_text
from pool_tools.supervisor import processes

from .conftest import Desk

KEY = "sk-not-for-children"
NAPS = itertools.count()


def alive(needle: str) -> list[str]:
    """Command lines of living processes that hold needle."""
    lines: list[str] = []
    for pid in processes():
        try:
            lines.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return [line for line in lines if needle in line and "pytest" not in line]


@pytest.fixture
def nap() -> str:
    """A `sleep` that no other test has running."""
    return f"sleep {300 + os.getpid() % 1000}.{next(NAPS):03}"


def gone(needle: str, seconds: float = 2.0) -> bool:
    end = time.monotonic() + seconds
    while alive(needle):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def git(folder: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True)


def repository(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "config", "user.name", "T")
    git(folder, "config", "user.email", "t@example.org")


async def test_shell_01_background_child_keeps_the_pipe_open(either: Desk, nap: str) -> None:
    began = time.monotonic()
    result = await either.call("shell", command=f"{nap} & echo started")
    assert time.monotonic() - began < 2
    assert result.ok
    assert "started" in result.text
    assert "left running and ended with the call: " in result.text
    assert gone(nap)


async def test_of_many_processes_left_running_some_are_named(desk: Desk) -> None:
    command = "for i in $(seq 30); do cp $(command -v sleep) p$i; ./p$i 60 & done; sleep 0.2"
    for name, args in (("shell", {}), ("job", {"action": "start"})):
        text = (await desk.call(name, command=command, **args)).text
        assert "left running and ended with the" in text
        assert " and 20 more]" in text


async def test_shell_01_daemons_end_too(either: Desk, nap: str) -> None:
    await either.call("shell", command=f"setsid -f {nap}1; (setsid {nap}2 &); nohup {nap}3 & echo ok")
    assert gone(nap)


async def test_shell_02_time_limit_ends_the_whole_tree(either: Desk, nap: str) -> None:
    began = time.monotonic()
    command = f"echo begun; bash -c 'trap \"\" TERM; while :; do {nap}; done' & wait"
    result = await either.call("shell", command=command, timeout=1)
    assert time.monotonic() - began < 4
    assert not result.ok
    assert result.data["timed_out"]
    assert "timed out after 1 s" in result.text
    assert "begun" in result.text
    assert gone(nap)


async def test_shell_02_command_that_ignores_sigterm(either: Desk) -> None:
    result = await either.call("shell", command="trap '' TERM; while :; do sleep 0.1; done", timeout=1)
    assert result.data["timed_out"]
    assert result.data["seconds"] < 4


async def test_shell_03_git_wants_an_editor(either: Desk, nap: str) -> None:
    repository(either.folder)
    git(either.folder, "config", "core.editor", nap)
    result = await either.call("shell", command="echo x > c.txt; git add c.txt; git commit")
    assert not result.ok
    assert "No editor here" in result.text
    assert gone(nap)


async def test_shell_04_password_prompt_has_no_terminal(either: Desk) -> None:
    command = "python3 -c 'import getpass; getpass.getpass()'; echo ended $?; true < /dev/tty"
    result = await either.call("shell", command=command, timeout=10)
    assert not result.data["timed_out"]
    assert "ended 1" in result.text
    assert not result.ok


async def test_shell_05_input_is_at_its_end(either: Desk) -> None:
    result = await either.call("shell", command="read -p 'ok? ' x; echo got:$x; cat; echo end", timeout=10)
    assert result.text.splitlines()[1:] == ["got:", "end"]


async def test_shell_06_no_pager(either: Desk, nap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "less")
    repository(either.folder)
    git(either.folder, "config", "core.pager", nap)
    for number in range(12):
        git(either.folder, "commit", "-q", "--allow-empty", "-m", f"commit {number}")
    result = await either.call("shell", command="git log | tail -3; git log --oneline", timeout=10)
    assert result.ok
    assert "commit 3" in result.text
    assert gone(nap)


async def test_shell_07_endless_output_in_bounded_memory(either: Desk) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    one_line = "head -c 100000000 /dev/zero | tr '\\0' 'x'; echo; echo TAIL-OUT"
    result = await either.call("shell", command=one_line)
    assert "TAIL-OUT" in result.text
    assert "characters" in result.text
    assert len(result.text) < 20_000
    assert result.data["truncated"]
    assert result.data["output_bytes"] == 100_000_010
    endless = await either.call("shell", command="echo HEAD; yes", timeout=1)
    assert endless.text.splitlines()[1] == "HEAD"
    assert endless.data["timed_out"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


async def test_shell_08_progress_bar(either: Desk) -> None:
    frames = "for i in $(seq 100); do printf '\\r\\033[32m %d%%\\033[0m' $i; sleep 0.003; done; printf '\\nok\\n'"
    result = await either.call("shell", command=frames)
    assert result.text.splitlines()[1:] == [" 100%", "ok"]
    screen = "".join(either.live)
    assert screen.count("%") < 50
    assert "\x1b" not in plain_text(screen)
    assert screen.count("\n") == 2
    assert plain_text(screen).endswith(" 100%\nok\n")


async def test_shell_09_standard_error_first(either: Desk) -> None:
    result = await either.call("shell", command="head -c 1000000 /dev/zero | tr '\\0' 'e' >&2; echo TAIL-OUT")
    assert "TAIL-OUT" in result.text
    assert "eee" in result.text


async def test_shell_10_one_rule_for_the_folder(either: Desk) -> None:
    either.file("sub/x.txt")
    root = str(either.folder)
    first = await either.call("shell", command="cd sub && export A=1 && pwd")
    second = await either.call("shell", command="pwd; echo A=$A")
    third = await either.call("shell", command="cd sub; rmdir ../sub; sleep 9", timeout=1)
    fourth = await either.call("shell", command="pwd; echo A=$A")
    assert first.text.splitlines()[1] == f"{root}/sub"
    assert [r.text.splitlines()[1:] for r in (second, fourth)] == [[root, "A="], [root, "A="]]
    assert third.data["timed_out"]
    for result in (first, second, third, fourth):
        assert result.text.splitlines()[0].endswith(f"in {root}")


async def test_shell_11_no_key_in_the_environment(either: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POOL_API_KEY", "OPENAI_API_KEY", "HF_TOKEN", "LC_SECRET", "GIT_DIR", "LD_PRELOAD", "BASH_ENV"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("UV_CACHE_DIR", f"https://user:{KEY}@example.org/")
    result = await either.call("shell", command="env; tr '\\0' '\\n' < /proc/self/environ; set")
    assert "HOME=" in result.text
    assert KEY not in result.text


async def test_shell_11_parent_environment_is_out_of_reach(confined: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    result = await confined.call("shell", command=f"cat /proc/{os.getpid()}/environ; cat /proc/[0-9]*/environ | wc -l")
    assert "No such file" in result.text


async def test_shell_12_failure_is_told(either: Desk) -> None:
    result = await either.call("shell", command="echo partial; exit 3")
    assert not result.ok
    assert result.text.startswith("exit 3 after")
    assert "partial" in result.text
    assert result.data["exit_status"] == 3
    killed = await either.call("shell", command="kill -SEGV $$")
    assert killed.text.startswith("exit 139 (SIGSEGV)")


async def test_shell_13_signing_fails_at_once(either: Desk) -> None:
    repository(either.folder)
    either.file("sign.sh", "#!/bin/sh\nread x < /dev/tty || exit 1\n").chmod(0o755)
    git(either.folder, "config", "commit.gpgsign", "true")
    git(either.folder, "config", "gpg.program", str(either.folder / "sign.sh"))
    result = await either.call("shell", command="git commit --allow-empty -m x", timeout=10)
    assert not result.data["timed_out"]
    assert not result.ok
    assert "Signing needs the user" in result.text


async def test_shell_14_server_in_the_foreground(either: Desk, nap: str) -> None:
    task = asyncio.ensure_future(
        either.call(
            "shell",
            command=f"python3 -u -m http.server 0 --bind 127.0.0.1 --directory /{nap.replace(' ', '')}",
            timeout=3,
        )
    )
    while not either.live and not task.done():
        await asyncio.sleep(0.05)
    assert not task.done()
    assert "Serving HTTP" in "".join(either.live)
    result = await task
    assert result.data["timed_out"]
    assert "Serving" in result.text
    assert gone(nap.replace(" ", ""))


async def test_interrupt_ends_everything_within_a_second(either: Desk, nap: str) -> None:
    task = asyncio.ensure_future(either.call("shell", command=f"trap '' TERM; {nap}1 & {nap}2"))
    while sum(line.startswith("sleep") for line in alive(nap)) < 2:
        await asyncio.sleep(0.02)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 1
    assert gone(nap)


async def test_closing_the_toolbox_ends_running_commands(either: Desk, nap: str) -> None:
    task = asyncio.ensure_future(either.call("shell", command=nap))
    while not alive(nap):
        await asyncio.sleep(0.02)
    await either.toolbox.close()
    assert task.cancelled()
    assert gone(nap)
