"""The guard of an agent that was killed while a command ran: the next one finishes what it could not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool_tools.sandbox.gitjournal import ENDED, RUNNING, State, decode, encode
from pool_tools.sandbox.gitorders import Kind, Order
from pool_tools.sandbox.gitrestore import GitGuard, finish_checks

from .test_gitrestore import git, pwn, repository

_AGENT = """
import sys, pathlib
from pool_tools.sandbox.gitrestore import GitGuard
work, journals = map(pathlib.Path, sys.argv[1:3])
guard = GitGuard((work,), (lambda: [work / ".git/config"]) if sys.argv[3:] else tuple, journals)
guard.before()
print("running", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return repository(tmp_path / "work")


@pytest.fixture
def journals(tmp_path: Path) -> Path:
    return tmp_path / "state/unfinished/x"


def agent(work: Path, journals: Path, *more: str) -> subprocess.Popen[bytes]:
    """An agent in whose sandbox a command has started."""
    line = [sys.executable, "-c", _AGENT, str(work), str(journals), *more]
    started = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert started.stdout is not None
    assert started.stdout.readline() == b"running\n"
    return started


@pytest.fixture
def running(work: Path, journals: Path) -> Iterator[subprocess.Popen[bytes]]:
    with agent(work, journals) as process:
        yield process
        process.kill()


def test_what_changed_when_the_agent_was_killed_is_put_back_once(
    work: Path, journals: Path, running: subprocess.Popen[bytes]
) -> None:
    before = (work / ".git/config").read_bytes()
    pwn(work / ".git/config")
    hook = work / ".git/hooks/pre-commit"
    hook.write_text("touch pwned")
    pwn(repository(work / "new") / ".git/config")
    assert finish_checks((work,), journals) == (), "its owner lives"
    running.send_signal(signal.SIGKILL)
    running.wait()
    told = " ".join(finish_checks((work,), journals))
    for part in (".git/config was changed and has been put back; what it was is now config.held-back", "pre-commit",
                 "core.fsmonitor in new/.git/config"):  # fmt: skip
        assert part in told
    assert (work / ".git/config").read_bytes() == before
    assert b"pwned" in (work / ".git/config.held-back").read_bytes(), "it may be the user's"
    assert not hook.exists()
    assert finish_checks((work,), journals) == ()
    assert os.listdir(journals) == []


def test_what_was_mounted_is_not_the_commands_doing(work: Path, journals: Path) -> None:
    with agent(work, journals, "mounted") as process:
        process.kill()
    pwn(work / ".git/config")
    assert finish_checks((work,), journals) == ()


def test_an_agent_killed_between_commands_leaves_nothing_to_do(work: Path, journals: Path) -> None:
    guard = GitGuard((work,), journals=journals)
    guard.before()
    (folder,) = journals.iterdir()
    kept = folder / RUNNING
    inode = kept.stat().st_ino
    assert (kept.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    assert guard.after() == ()
    guard.before()
    assert kept.stat().st_ino == inode, "it is written anew only where something differs"
    assert guard.after() == ()
    git(work, "config", "a.b", "c")
    assert os.listdir(folder) == [ENDED]
    guard.before()
    assert kept.stat().st_ino != inode
    assert b"config" in kept.read_bytes()
    guard.after()
    guard.close()
    assert os.listdir(journals) == []


def test_commands_run_where_nothing_can_be_written_down(work: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    guard = GitGuard((work,), journals=tmp_path / "file/x")
    guard.before()
    pwn(work / ".git/config")
    assert len(guard.after()) == 1
    guard.close()


_paths = st.binary(min_size=1, max_size=20).map(lambda b: Path("/", os.fsdecode(b.replace(b"\0", b""))))
_orders = st.builds(
    Order,
    st.tuples(st.integers(), st.integers()),
    st.sampled_from(Kind),
    st.none() | st.binary(),
    st.integers(0, 0o7777),
)


@given(
    st.builds(
        State,
        st.dictionaries(_paths, _orders, max_size=3),
        st.sets(_paths, max_size=3),
        st.dictionaries(_paths, st.none() | _orders, max_size=3),
    ),
    st.frozensets(_paths, max_size=3),
)
def test_what_is_written_down_is_read_back(state: State, skipped: frozenset[Path]) -> None:
    assert decode(encode(state, skipped)) == (state, skipped)


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"7", b"{}", b'{"version": 2}', b"\xff", b"[" * 9_999,
     b'{"version": 1, "marks": [["/x", [[], "NO", null, 0]]], "folders": [], "orders": [], "skipped": []}',
     b'{"version": 1, "marks": 7, "folders": [], "orders": [], "skipped": []}'],
)  # fmt: skip
def test_what_is_no_journal_is_not_obeyed(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # of whatever part
        decode(data)
