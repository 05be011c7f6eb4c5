"""`pool doctor` as a command: flags, exit codes, output, Ctrl-C; as a process of its own where that matters."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pool.lab.doctor.command import look_for, main
from pool.lab.doctor.examine import CHECKS, SERVER_CHECKS
from pool.sim.process import running
from pool.sim.settings import SimSettings

REPOSITORY = Path(__file__).parents[3]
COMMAND = [sys.executable, "-c", "import sys; from pool.lab.doctor.command import main; sys.exit(main(sys.argv[1:]))"]
START_SECONDS = 20.0
STOP_SECONDS = 10.0
CLOSED = "http://127.0.0.1:9"
"""The discard service's port, where nothing listens."""


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "tools")])
    return {"PATH": os.environ["PATH"], "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", **more}


def process(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], env=environment(**more), capture_output=True, encoding="utf-8", timeout=50, check=False
    )


def test_a_good_server_is_green(capsys: pytest.CaptureFixture[str]) -> None:
    with running(SimSettings(reasoning_config=True, template_thinks=False)) as sim:
        assert main(["--base-url", sim.url]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"pool doctor: {sim.url}/v1\n{len(CHECKS)} checks, at most about ")
    # What this machine has is not known here: bubblewrap or ripgrep may be missing.
    good = [line.split()[1] for line in out.splitlines() if line.startswith(("✓ ", "+ "))]
    assert [name for name in good if name in {c.name for c in SERVER_CHECKS}] == [c.name for c in SERVER_CHECKS]
    assert "Pool estimated " in out
    assert "\x1b" not in out
    assert err == ""


def test_a_failed_check_fails_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with running(SimSettings(faults=("markup-as-text",))) as sim:
        assert main(["--base-url", sim.url, "--only", "tool-call", "stream"]) == 1
    assert "--enable-auto-tool-choice --tool-call-parser poolside_v1" in capsys.readouterr().out


def test_a_warning_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    with running(SimSettings(prompt_token_details=False)) as sim:
        assert main(["--base-url", sim.url, "--only", "cache"]) == 0
    assert "! cache" in capsys.readouterr().out


def test_a_server_that_is_away(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--base-url", CLOSED]) == 75
    out = capsys.readouterr().out
    assert "nothing listens" in out
    assert f"{len(SERVER_CHECKS) - 1} not made" in out


@pytest.mark.parametrize(
    "arguments",
    [["--only", "stomach"], ["--timeout", "0"], ["--timeout", "soon"], ["--base-url", "http://h:99999"], ["extra"]],
)
def test_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err


def test_usage_of_the_environment(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POOL_CONTEXT_LENGTH", "much")
    assert main(["--base-url", CLOSED]) == 2
    assert "'much'" in capsys.readouterr().err


def test_help() -> None:
    assert main(["--help"]) == 0


def test_json_and_the_environment() -> None:
    with running(SimSettings(api_key="sesame-open", model="laguna-x")) as sim:
        done = process(
            *("--json", "--only", "window"),
            POOL_BASE_URL=sim.url,
            POOL_API_KEY="sesame-open",
            POOL_MODEL="laguna-x",
            POOL_CONTEXT_LENGTH="50000",
        )
    value = json.loads(done.stdout)
    assert done.returncode == value["exit"] == 0
    assert "at most about" in done.stderr
    assert [check["name"] for check in value["checks"]] == ["reachable", "model", "window"]
    assert value["checks"][2]["data"] == {
        "told": 262_144,
        "source": "models, max_model_len",
        "given": 50_000,
        "used": 50_000,
    }
    assert value["model"] == "laguna-x"
    assert "sesame-open" not in done.stdout + done.stderr


def test_a_flag_wins_over_the_environment() -> None:
    with running(SimSettings()) as sim:
        done = process("--base-url", sim.url, "--only", "reachable", POOL_BASE_URL=CLOSED)
    assert done.returncode == 0


def test_plain_characters_where_the_locale_has_no_others() -> None:
    done = process("--base-url", CLOSED, PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert done.returncode == 75
    assert done.stdout.isascii()
    assert "\nx reachable" in done.stdout


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_leaves_cleanly_with_what_was_found(as_json: bool) -> None:
    with running(SimSettings(faults=("silent:30",))) as sim:
        arguments = ["--base-url", sim.url, *(["--json"] if as_json else [])]
        child = subprocess.Popen(
            [*COMMAND, *arguments],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        try:
            _wait_for(lambda: len(sim.seen) >= 2)
            begun = time.monotonic()
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=STOP_SECONDS)
        finally:
            child.kill()
    assert time.monotonic() - begun < STOP_SECONDS
    assert child.returncode == 130
    assert "Traceback" not in err
    if as_json:
        value = json.loads(out)
        statuses = [check["status"] for check in value["checks"]]
        assert (value["interrupted"], statuses) == (True, ["ok"] * 4 + ["skip"] * (len(CHECKS) - 4))
    else:
        assert f"Interrupted: 4 ok, {len(CHECKS) - 4} not made" in out


def _wait_for(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + START_SECONDS
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


class Terminal(io.StringIO):
    def __init__(self, encoding: str, *, tty: bool) -> None:
        super().__init__()
        self._encoding, self._tty = encoding, tty

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] # a text stream's is a property too
        return self._encoding

    def isatty(self) -> bool:
        return self._tty


@pytest.mark.parametrize(
    ("encoding", "tty", "variables", "unicode", "colours", "live"),
    [
        ("utf-8", True, {}, True, True, True),
        ("UTF8", True, {"NO_COLOR": "1"}, True, False, True),
        ("utf-8", True, {"NO_COLOR": ""}, True, True, True),
        ("utf-8", True, {"TERM": "dumb"}, True, False, False),
        ("utf-8", False, {}, True, False, False),
        ("iso-8859-1", True, {}, False, True, True),
    ],
)
def test_how_it_can_be_shown(
    encoding: str, tty: bool, variables: dict[str, str], unicode: bool, colours: bool, live: bool
) -> None:
    look = look_for(Terminal(encoding, tty=tty), variables)
    assert (look.unicode, look.colours, look.live) == (unicode, colours, live)


def test_nothing_of_other_faces_is_loaded() -> None:
    code = (
        "import sys; import pool.lab.doctor.command; "
        "print([m for m in sys.modules if m.split('.')[:2] in (['pool', 'headless'], ['pool', 'sim'], ['pool', 'cli'])"
        " or m.split('.')[0] in ('textual', 'prompt_toolkit', 'git', 'tiktoken', 'pydantic', 'httpx', 'starlette')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == "[]"
