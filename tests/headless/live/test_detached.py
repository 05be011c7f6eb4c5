"""Runs that outlive what started them, with real processes, sockets and signals."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pool.cli.attach import main as attach
from pool.events import CallFinished, Event, RunFinished, RunStarted, Steered
from pool.facekit.live.finding import NoSuchRun, by_id
from pool.facekit.live.lines import LinkProblem, connect, line_of, read_line, row_of
from pool.facekit.live.peers import refused
from pool.facekit.live.place import (
    LiveRecord,
    Place,
    PlaceError,
    live_folder,
    live_records,
    short_name,
    socket_of,
)
from pool.facekit.live.remote import RemoteConversation, status_of
from pool.headless.live.ps import Living, age_words, living, table
from pool.headless.live.stop import main as stop
from pool.ports import ApprovalAnswer
from pool.sessions.log import read_rows
from pool.sessions.store import sessions_folder
from pool.sim.process import RunningSim, running
from pool.sim.settings import SimSettings

LIMIT_SECONDS = 30
TASK = "make the failing tests pass"
QUESTION = "What are you?"


@pytest.fixture(scope="module")
def sim() -> Iterator[RunningSim]:
    with running(SimSettings(port=0)) as server:
        yield server


@pytest.fixture(scope="module")
def slow() -> Iterator[RunningSim]:
    """It takes some seconds for each reply."""
    with running(SimSettings(port=0, rate=25)) as server:
        yield server


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield
    for record in live_records():
        os.kill(record.pid, signal.SIGKILL)


def command(url: str, *args: str, mode: str = "allow-all") -> list[str]:
    return [sys.executable, "-m", "pool", "run", "--base-url", url, "--sandbox", "off", "--mode", mode, *args]


def detach(url: str, folder: Path, *args: str, mode: str = "allow-all") -> LiveRecord:
    line = command(url, "--detach", *args, mode=mode)
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    return by_id(done.stdout.strip())


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def logged(session: str) -> list[dict[str, Any]]:
    return read_rows((sessions_folder() / f"{session}.jsonl").read_bytes())[0]


def ended(session: str) -> dict[str, Any]:
    return next(row for row in reversed(logged(session)) if row["type"] == "run.finished")


def test_a_detached_run_has_a_session_of_its_own_and_takes_no_notice_of_a_hang_up(
    slow: RunningSim, tmp_path: Path
) -> None:
    record = detach(slow.url, tmp_path, QUESTION)
    assert os.getsid(record.pid) == record.pid != os.getsid(0)
    assert Path(f"/proc/{record.pid}/fd/0").readlink() == Path(os.devnull)
    os.kill(record.pid, signal.SIGHUP)
    (one,) = asyncio.run(living())
    assert (one.session, one.state, one.turns, one.workspace, one.detached) == (
        *(record.session, "working", 1, str(tmp_path), True),
    )
    assert socket_of(record).stat().st_mode & 0o777 == 0o600
    assert live_folder().stat().st_mode & 0o777 == 0o700
    until(lambda: not live_records())
    assert ended(record.session)["reason"] == "completed"
    until(lambda: not list(live_folder().iterdir()))


def test_an_approval_waits_until_somebody_answers_and_the_face_sees_all(sim: RunningSim, tmp_path: Path) -> None:
    told = tmp_path / "told"
    record = detach(sim.url, tmp_path, "--notify", f'echo "$POOL_EVENT $POOL_ASKED" >>{told}', TASK, mode="default")
    until(lambda: asyncio.run(status_of(record)).state == "waits")

    async def face() -> list[Event]:
        async with await RemoteConversation.attach(record) as run:
            assert run.busy
            assert run.status.waits_for == "approval of shell"
            assert "pool-docs" in [name for name, _ in run.status.skills]
            seen: list[Event] = []

            async def follow() -> None:
                async for event in run.events():
                    seen.append(event)
                    if [e.body.type for e in seen].count(RunFinished.type) == 2:
                        return

            following = asyncio.create_task(follow())
            while not (run.caught_up and run.pending()):
                await asyncio.sleep(0.01)
            asked = run.pending()[0].call_id
            assert run.steer("mind the time")
            assert run.answer(asked, ApprovalAnswer(False, "person", "not now"))
            assert not run.answer(asked, ApprovalAnswer(True, "person"))
            while run.busy:
                await asyncio.sleep(0.01)
            assert not run.steer("too late")
            run.submit(QUESTION)
            await following
            return seen

    bodies = [event.body for event in asyncio.run(face())]
    assert isinstance(bodies[0], RunStarted)
    assert [b.text for b in bodies if isinstance(b, Steered)] == ["mind the time"]
    assert [b.status for b in bodies if isinstance(b, CallFinished)] == ["denied"]
    until(lambda: not live_records())
    assert ended(record.session)["reason"] == "completed"
    words = told.read_text().splitlines()
    assert words[0].startswith("asked shell: ")
    assert [line.split()[0] for line in words[1:]] == ["finished", "finished"]


def test_stop_ends_a_run_in_order_and_now_kills_one_that_hangs(
    slow: RunningSim, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = detach(slow.url, tmp_path, QUESTION)
    assert stop([record.session[-8:]]) == 0
    assert ended(record.session)["reason"] == "interrupted"
    monkeypatch.setattr("pool.headless.live.stop.NOW_SECONDS", 0.5)
    record = detach(slow.url, tmp_path, QUESTION)
    os.kill(record.pid, signal.SIGSTOP)
    monkeypatch.setattr("pool.facekit.live.remote.STATUS_SECONDS", 0.2)
    assert asyncio.run(living())[0].state == "silent"
    assert stop(["--now", record.session]) == 0
    assert live_records() == []
    assert stop([record.session]) == 2
    assert attach(["nothing"]) == 2
    assert "no live run" in capsys.readouterr().err


def test_what_a_killed_process_leaves_is_taken_away(slow: RunningSim, tmp_path: Path) -> None:
    record = detach(slow.url, tmp_path, QUESTION)
    os.kill(record.pid, signal.SIGKILL)
    until(lambda: not live_records())
    assert not socket_of(record).exists()
    with pytest.raises(NoSuchRun):
        by_id(record.session)


def test_a_run_that_cannot_begin_says_so_with_its_code(tmp_path: Path) -> None:
    line = command("http://127.0.0.1:9", "--detach", "--wait-server", "0", "-o", "json", QUESTION)
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert done.returncode == 75
    assert json.loads(done.stdout)["reason"] == "server_failed"
    assert "refused" in done.stderr
    until(lambda: not list(live_folder().iterdir()))


def test_a_followed_run_prints_what_a_plain_one_does_and_goes_on_when_the_terminal_goes(
    slow: RunningSim, sim: RunningSim, tmp_path: Path
) -> None:
    (tmp_path / "form.json").write_text('{"type": "number", "exclusiveMinimum": 0}')
    line = command(sim.url, "--on-hangup", "detach", "-o", "json", "--artifacts", "left", QUESTION)
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    result = json.loads(done.stdout)
    assert (done.returncode, result["type"], result["reason"]) == (0, "run.result", "completed")
    assert (tmp_path / "left" / "answer.md").read_text() == f"{result['answer']}\n"
    until(lambda: not live_records())
    line = command(sim.url, "--detach", "--output-schema", "form.json", "--artifacts", "form", QUESTION)
    subprocess.run(line, cwd=tmp_path, check=True, capture_output=True, timeout=LIMIT_SECONDS)
    until(lambda: (tmp_path / "form" / "transcript.md").exists())
    left = json.loads((tmp_path / "form" / "result.json").read_text())
    assert (left["exit_code"], left["reason"]) == (8, "unusable_reply"), (
        "the answer is the smallest number that the server knows, 0"
    )
    until(lambda: not live_records())

    pid, terminal = pty.fork()
    if not pid:
        os.chdir(tmp_path)
        line = command(slow.url, "--on-hangup", "detach", QUESTION)
        os.execv(line[0], line)
    until(lambda: bool(live_records()))
    (record,) = live_records()
    until(lambda: asyncio.run(status_of(record)).turns == 1)
    os.close(terminal)
    until(lambda: os.waitpid(pid, os.WNOHANG) != (0, 0))
    assert asyncio.run(status_of(record)).state == "working"
    until(lambda: not live_records())
    assert ended(record.session)["reason"] == "completed"


def test_the_socket_refuses_what_it_does_not_know(slow: RunningSim, tmp_path: Path) -> None:
    record = detach(slow.url, tmp_path, QUESTION)

    async def say(*rows: dict[str, Any] | bytes) -> list[dict[str, Any]]:
        reader, writer = await connect(socket_of(record))
        for row in rows:
            writer.write(row if isinstance(row, bytes) else line_of(row))
        out: list[dict[str, Any]] = []
        async with asyncio.timeout(5):
            while line := await read_line(reader):
                out.append(row_of(line))
                if out[-1]["type"] == "refused":
                    break
        writer.close()
        return out

    for first, words in [
        (b"\xff\n", "not JSON"),
        ({"type": "attach", "v": 99}, "version 1"),
        ({"type": "sing", "v": 1}, "sing"),
        ({"type": "attach", "v": 1, "after": "x"}, "number"),
    ]:
        assert words in asyncio.run(say(first))[-1]["text"]
    attached = {"type": "attach", "v": 1, "after": 10_000}
    for wish, words in [
        ({"type": "approve", "id": "none", "allow": True}, "wait"),
        ({"type": "mode", "mode": "fast"}, "fast"),
        ({"type": "prompt", "text": " "}, "empty"),
        ({"type": "end"}, "end"),
        (b"[]\n", "object"),
    ]:
        rows = asyncio.run(say(attached, wish))
        assert rows[0]["type"] == "status"
        assert words in rows[-1]["text"]
    assert asyncio.run(status_of(record)).state == "working"


ASK = """
import ctypes, socket, sys
ctypes.CDLL(None).prctl(38, int(sys.argv[2]), 0, 0, 0)
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b'{"type":"status","v":1}\\n')
print(s.recv(1000).decode())
"""
"""With 1 as its second argument it gives up rights first, as each command in a sandbox does (PR_SET_NO_NEW_PRIVS)."""


def test_no_command_of_an_agent_steers_a_run(slow: RunningSim, tmp_path: Path) -> None:
    record = detach(slow.url, tmp_path, QUESTION)
    with short_name(socket_of(record)) as name:
        handle = int(name.split("/")[4])

        def ask(confined: int) -> str:
            line = [sys.executable, "-c", ASK, name, str(confined)]
            return subprocess.run(line, capture_output=True, text=True, pass_fds=[handle]).stdout

        assert '"state":"working"' in ask(0)
        assert "a command in a sandbox does not steer a run" in ask(1)

    async def own_child() -> str:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.write(refused(writer).encode() or b"-")
            writer.close()

        server = await asyncio.start_unix_server(serve, str(tmp_path / "s"))
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", ASK, str(tmp_path / "s"), "0"), stdout=subprocess.PIPE
        )
        out, _ = await child.communicate()
        server.close()
        return out.decode()

    assert "a command of the run does not steer it" in asyncio.run(own_child())


def test_one_process_alone_holds_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pool.facekit.live.remote.STATUS_SECONDS", 0.2)
    record = LiveRecord("0" * 8, os.getpid(), str(tmp_path), 1.0, "do")
    with Place(record):
        assert live_records() == [record]
        with pytest.raises(PlaceError, match="live already"):
            Place(record)
        with pytest.raises(LinkProblem, match="does not answer"):
            asyncio.run(status_of(record))
    assert live_records() == []
    folder = live_folder()
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(PlaceError, match="not a folder of yours"):
        live_folder()
    folder.unlink()


def test_a_record_that_does_not_fit_on_the_disk_is_told_and_not_left(tmp_path: Path) -> None:
    record = LiveRecord("s", os.getpid(), str(tmp_path), 0.0, "")
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, most[1]))
    try:
        with pytest.raises(PlaceError, match="no record for the run: "):
            Place(record)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert list(live_folder().iterdir()) == []


def test_a_session_that_is_open_elsewhere_is_listed_too(slow: RunningSim, tmp_path: Path) -> None:
    line = command(slow.url, "-o", "stream-json", QUESTION)
    with subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        until(lambda: '"turn.started"' in (run.stdout or sys.stdin).readline())
        (one,) = asyncio.run(living())
        run.terminate()
    assert (one.state, one.workspace, one.prompt, one.detached) == ("working", str(tmp_path), QUESTION, False)
    assert "working (open elsewhere)" in table([one], 0)[1]
    assert asyncio.run(living()) == []


def test_the_table_fits_and_shows_no_escapes() -> None:
    evil = "do \x1b[31mred\n"
    rows = [Living("a" * 36, 1, "/w" * 40, "waits", "approval of shell", 3, 12_345, 7_400.0, evil, True)]
    rows.append(Living("b" * 36, 0, "/w", "idle", "", 1, 5, 12.0, "", False))
    for line in table(rows, 80):
        assert len(line) <= 80
        assert "\x1b" not in line
    assert "waits: approval of shell" in table(rows, 0)[1]
    assert [age_words(s) for s in (5, 65, 7_400, 200_000)] == ["5s", "1m05s", "2h03m", "2d07h"]
