"""`pool run` from outside: what goes where, how it ends, and what stdin adds."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pool.headless.command import main as run_main
from pool.sim.process import RunningSim, running
from pool.sim.settings import SimSettings

LIMIT_SECONDS = 30
QUESTION = "What are you?"


@pytest.fixture(scope="module")
def sim() -> Iterator[RunningSim]:
    with running(SimSettings(port=0)) as server:
        yield server


def command(*args: str, url: str = "") -> list[str]:
    address = ["--base-url", url] if url else []
    return [sys.executable, "-m", "pool", "run", *address, "--sandbox", "off", "--mode", "allow-all", *args]


def run(
    *args: str, url: str = "", cwd: Path | None = None, stdin: bytes | int = subprocess.DEVNULL
) -> subprocess.CompletedProcess[bytes]:
    line = command(*args, url=url)
    if isinstance(stdin, bytes):
        return subprocess.run(line, cwd=cwd, capture_output=True, timeout=LIMIT_SECONDS, input=stdin)
    return subprocess.run(line, cwd=cwd, capture_output=True, timeout=LIMIT_SECONDS, stdin=stdin)


def test_the_answer_and_nothing_else_is_on_stdout(sim: RunningSim, tmp_path: Path) -> None:
    done = run(QUESTION, url=sim.url, cwd=tmp_path)
    assert done.returncode == 0
    assert b"simulator" in done.stdout
    assert done.stderr == b""


def test_stream_json_is_ndjson_and_ends_with_the_outcome(sim: RunningSim, tmp_path: Path) -> None:
    done = run("-o", "stream-json", "-v", QUESTION, url=sim.url, cwd=tmp_path)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["seq"] for r in rows] == sorted(r["seq"] for r in rows)
    assert {r["v"] for r in rows} == {1}
    assert (rows[0]["type"], rows[-1]["type"]) == ("run.started", "run.finished")
    last = rows[-1]
    assert (last["reason"], last["exit_code"], last["turns"], last["changes"]) == ("completed", 0, 1, [])
    assert last["usage"]["prompt"] > 0


def test_json_is_one_object(sim: RunningSim, tmp_path: Path) -> None:
    done = run("-o", "json", QUESTION, url=sim.url, cwd=tmp_path)
    assert json.loads(done.stdout)["reason"] == "completed"


def test_prompt_from_file_stdin_and_both(sim: RunningSim, tmp_path: Path) -> None:
    """HEAD-03 (d): a pipe beside the prompt is used."""
    (tmp_path / "ask.txt").write_text("FROM-FILE")
    for args, stdin, wanted in [
        (("-f", "ask.txt"), subprocess.DEVNULL, ["FROM-FILE"]),
        (("-",), b"FROM-STDIN", ["FROM-STDIN"]),
        ((), b"FROM-STDIN", ["FROM-STDIN"]),
        ((QUESTION,), b"NOTES", [QUESTION, "NOTES"]),
        ((QUESTION, "-f", "ask.txt"), b"NOTES", [QUESTION, "FROM-FILE", "NOTES"]),
    ]:
        before = len(sim.seen)
        assert run(*args, url=sim.url, cwd=tmp_path, stdin=stdin).returncode == 0
        said = sim.seen[before]["messages"][-1]["content"]
        assert said == "\n\n".join(wanted)


def test_a_silent_pipe_does_not_hold_the_run(sim: RunningSim, tmp_path: Path) -> None:
    """HEAD-03 (a)."""
    read, write = os.pipe()
    try:
        assert run(QUESTION, url=sim.url, cwd=tmp_path, stdin=read).returncode == 0
    finally:
        os.close(read)
        os.close(write)


def test_a_shells_read_loop_keeps_its_input(sim: RunningSim, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\ntwo\nthree\n")
    loop = 'while read -r line; do "$@" "say $line" >/dev/null; echo "$line"; done <lines'
    args = ["bash", "-c", loop, "loop", *command(url=sim.url)]
    done = subprocess.run(args, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert done.stdout.split() == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((), "no prompt"),
        (("   ",), "no prompt"),
        (("-C", "nowhere", "x"), "nowhere"),
        (("-f", "nowhere.txt", "x"), "nowhere.txt"),
        (("--mode", "fast", "x"), "fast"),
        (("--max-turns", "-1", "x"), "max-turns"),
        (("--thinking", "hard", "x"), "hard"),
        (("--base-url", "http://", "x"), "address"),
        (("--bogus",), "bogus"),
    ],
)
def test_usage_errors_exit_2_and_name_the_cause(args: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = run(*args, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""


@pytest.mark.parametrize("form", ["json", "stream-json"])
def test_flags_that_cannot_be_read_end_with_a_record_in_json(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_main(["--bogus", f"--output={form}", "x", "--", "-o", "text"]) == 2
    said = capsys.readouterr()
    record = json.loads(said.out)
    assert (record["reason"], record["exit_code"]) == ("usage_error", 2)
    assert "--bogus" in record["detail"]
    assert "--bogus" in said.err


@pytest.mark.parametrize("args", [["--help"], ["--help", "-o", "json"], ["-o", "yaml", "x"]])
def test_help_and_an_unknown_form_print_no_record(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run_main(args)
    assert "usage_error" not in capsys.readouterr().out


def test_a_disk_that_is_full_from_the_start_is_said(sim: RunningSim, tmp_path: Path) -> None:
    shell = f"ulimit -f 0; exec {shlex.join(command(QUESTION, url=sim.url))}"
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert done.returncode == 0
    assert "simulator" in done.stdout
    assert "nothing is being saved" in done.stderr


def test_no_server_is_said_with_the_remedy(tmp_path: Path) -> None:
    done = run("--wait-server", "0", QUESTION, url="http://127.0.0.1:9", cwd=tmp_path)
    assert done.returncode == 75
    assert b"nothing listens" in done.stderr
    assert done.stdout == b""


def test_a_mode_that_can_run_nothing_is_said_before_the_first_request(sim: RunningSim, tmp_path: Path) -> None:
    args = [sys.executable, "-m", "pool", "run", "--base-url", sim.url, "--sandbox", "off", QUESTION]
    before = len(sim.seen)
    done = subprocess.run(
        args, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_SECONDS, stdin=subprocess.DEVNULL
    )
    assert (done.returncode, len(sim.seen)) == (2, before)
    assert "no command can run" in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_end_the_run_with_their_reason(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """HEAD-06."""
    with running(SimSettings(port=0, faults=("silent:60",))) as server:
        args = command("-o", "json", QUESTION, url=server.url)
        process = subprocess.Popen(args, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        limit = time.monotonic() + LIMIT_SECONDS
        while not server.seen and time.monotonic() < limit:
            time.sleep(0.05)
        process.send_signal(number)
        out, _ = process.communicate(timeout=5)
    assert process.returncode == code
    assert json.loads(out)["reason"] in ("interrupted", "signalled")


def test_a_reader_that_leaves_ends_the_run_quietly(sim: RunningSim, tmp_path: Path) -> None:
    """HEAD-05."""
    read, write = os.pipe()
    os.close(read)
    args = command("-o", "stream-json", QUESTION, url=sim.url)
    done = subprocess.run(
        args, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE, timeout=LIMIT_SECONDS
    )
    os.close(write)
    assert done.returncode == 141
    assert done.stderr == b""


def prompt_shown(*args: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "pool", "prompt", *args]
    return subprocess.run(line, capture_output=True, timeout=LIMIT_SECONDS, text=True)


def test_the_system_prompt_is_a_file_or_text_and_shown_as_it_is_sent(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    (tmp_path / "mine.md").write_text("You work in {workspace}.")
    folder, mine = str(tmp_path), str(tmp_path / "mine.md")
    done = prompt_shown("-C", folder, "--system", mine, "--append-system", "Be short.", "hi")
    system = json.loads(done.stdout)["messages"][0]["content"]
    assert system.startswith(f"You work in {tmp_path}.\n\nBe short.\n\n")
    assert "Use tabs." in system
    assert "Use tabs." not in prompt_shown("-C", folder, "--no-agents-md", "hi").stdout
    done = prompt_shown("--system", "missing.md", "hi")
    assert (done.returncode, "looks like a file" in done.stderr) == (2, True)
