"""The command: its first line, its options, its end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from pool.sim.cli import build_parser, main, settings_from
from pool.sim.process import spawned
from pool.sim.settings import SimSettings, StepSizes
from tests.sim.client import Json

STOP_LIMIT_SECONDS = 20.0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stops_in_the_middle_of_a_reply_without_an_end(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "pool.sim", "--rate", "5", "--fault", "runaway-thought"]
    body: Json = {"messages": [{"role": "user", "content": "hi"}], "stream": True}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            with (
                httpx.Client(base_url=url, trust_env=False, timeout=STOP_LIMIT_SECONDS) as client,
                client.stream("POST", "/v1/chat/completions", json=body) as response,
            ):
                lines = response.iter_lines()
                next(lines)
                process.send_signal(number)
                _, errors = process.communicate(timeout=STOP_LIMIT_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 0
    assert errors == ""


def test_process_serves_the_model_that_it_is_told() -> None:
    with spawned(["--model", "my-model", "--max-model-len", "5000", "--api-key", "secret"]) as sim:
        assert httpx.get(f"{sim.url}/v1/models", trust_env=False).status_code == 401
        headers = {"authorization": "Bearer secret"}
        model = httpx.get(f"{sim.url}/v1/models", headers=headers, trust_env=False).json()["data"][0]
    assert (model["id"], model["max_model_len"]) == ("my-model", 5000)


def test_process_that_cannot_start_says_why() -> None:
    with pytest.raises(RuntimeError, match="no fault 'rest'; did you mean 'reset'"), spawned(["--fault", "rest"]):
        pass


def test_options_without_arguments_are_the_defaults() -> None:
    assert settings_from(build_parser().parse_args([])) == SimSettings()


def test_options_reach_the_settings(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["one", "two"]), encoding="utf-8")
    arguments = ["--tokens-per-step", "1-8", "--rate", "40", "--step-ms", "7.5", "--no-prompt-token-details"]
    arguments += ["--fault", "reset@2", "--fault", "crlf", "--script", str(script), "--no-template-thinks"]
    settings = settings_from(build_parser().parse_args(arguments))
    assert settings == SimSettings(
        steps=StepSizes(1, 8),
        rate=40,
        step_ms=7.5,
        prompt_token_details=False,
        faults=("reset@2", "crlf"),
        script=("one", "two"),
        template_thinks=False,
    )


def test_faults_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list-faults"]) == 0
    out = capsys.readouterr().out
    assert "leaked-think\n    R1: " in out
    assert "byte-by-byte\n    WIRE-03: " in out


def test_bad_script_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"a": 1}', encoding="utf-8")
    assert main(["--script", str(script)]) == 2
    assert "a script is a JSON list of texts" in capsys.readouterr().err


def test_taken_port_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with spawned() as sim:
        assert main(["--port", sim.url.rpartition(":")[2]]) == 2
    assert "pool sim: " in capsys.readouterr().err


def test_ends_when_who_started_it_is_gone() -> None:
    command = [sys.executable, "-m", "pool.sim", "--port", "0", "--end-with-stdin"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline().startswith("http")
        process.stdin.close()
        assert process.wait(timeout=20) == 0
