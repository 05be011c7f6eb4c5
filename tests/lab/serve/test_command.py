"""`pool serve` as a command: what it prints, what it refuses, what it needs, and a real server under its watch."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pool.lab.serve import weights
from pool.lab.serve.catalog import MODELS
from pool.lab.serve.command import main
from pool.lab.serve.engines import quant_of
from pool.lab.serve.machines import MACHINES
from tests.lab.serve import standin
from tests.realserver.conftest import require_llamacpp

REPOSITORY = Path(__file__).parents[3]
RUN_SECONDS = 45.0
WIDTH = 80

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command here: its exit code, output and errors. No weights are here, nor servers; the disk has room."""

    def room(_: Path) -> SimpleNamespace:
        return SimpleNamespace(free=10**15)

    monkeypatch.setattr(weights.shutil, "disk_usage", room)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("VLLM_API_KEY", "VLLM_USE_V2_MODEL_RUNNER", "LLAMA_API_KEY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    def act(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        out = capsys.readouterr()
        return code, out.out, out.err

    return act


def test_the_command_with_its_reasons(run: Run) -> None:
    code, out, err = run("--on", "spark")
    assert (code, err) == (0, "")
    assert "vllm serve poolside/Laguna-S-2.1-NVFP4 \\\n    --revision 0761" in out
    assert "--moe-backend" not in out
    assert "\n  --max-num-batched-tokens 4096\n      tokens of one step" in out
    assert "hf download poolside/Laguna-S-2.1-NVFP4 --revision 0761" in out
    assert "10 to 15 minutes" in out
    assert "25.3 GiB of cache, 5.2 sessions of 131,072 tokens" in out


PASTED = ("    -", "  hf ", "  into ", "  ->", "vllm ", "llama-server ", "pool serve: ", "MAX_JOBS=", "VLLM_")
"""How lines begin that are there to be pasted, and errors, which a terminal wraps."""


@pytest.mark.parametrize("name", MODELS)
def test_prose_fits_80_columns(run: Run, name: str) -> None:
    for machine in MACHINES:
        for words in ((), ("plan",)):
            _, out, err = run(name, "--on", machine, *words)
            lines = [line for line in f"{out}{err}".splitlines() if not line.startswith(PASTED)]
            assert [line for line in lines if len(line) > WIDTH] == []


def test_json_has_all_of_it(run: Run) -> None:
    code, out, _ = run("--on", "spark", "--json")
    value = json.loads(out)
    assert code == 0
    assert value["command"][:3] == ["vllm", "serve", "poolside/Laguna-S-2.1-NVFP4"]
    assert all(flag["reason"] for flag in value["flags"])
    assert value["plan"]["exact"]
    assert value["setup"]["sources"].keys() == {"model", "weights", "machine", "draft"}
    assert [w["state"] for w in value["weights"]] == ["missing", "missing"]
    assert value["traps"] == []


def test_the_plan_with_a_cache_that_was_measured(run: Run) -> None:
    code, out, _ = run("plan", "--on", "spark", "--draft", "0", "--context", "65536", "--kv-gib", "27.11", "--json")
    plan = json.loads(out)["plan"]
    assert code == 0
    assert plan["tokens"] == 977_533
    assert plan["sessions"] == pytest.approx(14.92, abs=0.005)


def test_the_plan_follows_flags_of_ones_own(run: Run) -> None:
    _, out, _ = run(
        "plan", "--on", "spark", "--json", "--", "--max-num-batched-tokens", "8192", "--max-model-len=65536"
    )
    setup = json.loads(out)["setup"]
    assert (setup["step_tokens"], setup["context"]) == (8_192, 65_536)


def test_the_spark_plan_meets_the_published_start(run: Run) -> None:
    """A share of 0.80, no draft: 27.11 GiB, from which the overhead was solved; so this holds that, no more."""
    _, out, _ = run("plan", "--on", "spark", "--draft", "0", "--context", "65536", "--json")
    assert json.loads(out)["plan"]["pool_gib"] == pytest.approx(27.15, abs=0.05)


@pytest.mark.parametrize("words", [("list",), ("--list",)])
def test_all_profiles(run: Run, words: tuple[str, ...]) -> None:
    code, out, _ = run(*words)
    assert code == 0
    for model in MODELS.values():
        assert all(variant.repo in out for variant in model.variants)


def test_all_profiles_for_programs(run: Run) -> None:
    value = json.loads(run("list", "--json")[1])
    assert [model["name"] for model in value] == list(MODELS)
    assert all(variant["source"] for model in value for variant in model["variants"])


@pytest.mark.parametrize("word", ["s", "laguna-s-2.1", "poolside/Laguna-S-2.1-INT4", "laguna-s-2.1-fp8"])
def test_names(run: Run, word: str) -> None:
    assert run(word, "--on", "b200")[0] == 0


def test_refused(run: Run) -> None:
    code, out, err = run("--on", "spark", "--", "--moe-backend", "triton")
    assert (code, out) == (3, "")
    assert "REFUSED (moe-triton-nvfp4)" in err
    assert "-> leave out --moe-backend" in err


@pytest.mark.parametrize("action", ["--run", "--watch", "--install"])
def test_what_is_refused_is_not_started(run: Run, action: str) -> None:
    assert run("--on", "spark", "--draft", "5", action)[0] == 3


def test_a_command_of_ones_own_is_checked(run: Run) -> None:
    serve = "vllm serve poolside/Laguna-S-2.1-NVFP4 --port 8123"
    code, _, err = run("--on", "spark", "--command", f"{serve} --moe-backend triton")
    assert code == 3
    assert "moe-triton-nvfp4" in err
    code, out, _ = run("--on", "spark", "--command", f"{serve} --gpu-memory-utilization 0.8", "--json")
    assert code == 0
    value = json.loads(out)
    assert value["url"] == "http://127.0.0.1:8123/health"
    assert {trap["name"] for trap in value["traps"]} == {"parser", "tool-choice"}


PUBLISHED = """vllm serve poolside/Laguna-S-2.1-NVFP4 --speculative-config
 '{"method":"dflash","model":"poolside/Laguna-S-2.1-DFlash-NVFP4","num_speculative_tokens":3}'
 --tool-call-parser poolside_v1 --reasoning-parser poolside_v1 --enable-auto-tool-choice
 --kv-cache-dtype fp8 --max-model-len 65536 --gpu-memory-utilization 0.80"""
"""The command of a published measurement on a DGX Spark, which ran."""


def test_a_published_command_is_noted_not_refused(run: Run) -> None:
    code, out, _ = run("--on", "spark", "--command", PUBLISHED, "--json")
    assert code == 0
    found = {trap["name"]: trap["refuse"] for trap in json.loads(out)["traps"]}
    assert found == {"capture-maximum": False, "default-sequences": False, "draft-revision": False}
    code, _, err = run("--on", "spark", "--command", PUBLISHED.replace(":3}", ":5}"))
    assert code == 3
    assert "draft-depth-grid" in err


def test_one_that_nobody_knows_is_not(run: Run) -> None:
    code, out, _ = run("--command", "my-server --port 8124", "--json")
    assert code == 0
    assert json.loads(out)["traps"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing"], "no profile"),
        (["--on", "toaster"], "no machine"),
        (["s", "xs"], "one model at a time"),
        (["--variant", "q1"], "no variant"),
        (["--variant", "nvfp4", "--on", "h200"], "needs blackwell"),
        (["--on", "apple", "--variant", "mlx", "--engine", "vllm"], "served by mlx"),
        (["--on", "spark", "--variant", "nvfp4", "--kv", "q8_0"], "no cache of q8_0"),
        (["m", "--on", "h200", "--draft", "3"], "no draft is known"),
        (["--on", "spark", "--engine", "sglang", "--draft", "3"], "not known that SGLang"),
        (["--on", "apple", "--draft", "3"], "by --weights"),
        (["--on", "apple", "--container", "docker"], "no container image"),
        (["--command", "'"], "cannot be read"),
        (["--command", " "], "empty"),
        (["--command", "x", "--url", "https://h/"], "http://"),
        (["--uninstall"], "not there"),
        (["--on", "spark", "--watch"], "cannot be run"),
        (["plan", "--command", "my-server"], "no profile of that"),
    ],
)
def test_what_cannot_be_had(run: Run, arguments: list[str], words: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("pool serve: ")
    assert words in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--port", "0"],
        ["--context", "many"],
        ["--memory", "nan"],
        ["--utilization", "1.5"],
        ["--draft", "-1"],
        ["--restarts", "x"],
        ["--weights", "/no/such/folder"],
        ["--plan", "--watch"],
    ],
)
def test_usage(run: Run, arguments: list[str]) -> None:
    assert run(*arguments)[0] == 2


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A virtual environment whose vllm does nothing but end."""
    program = tmp_path / "venv" / "bin" / "vllm"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    return tmp_path / "venv"


def test_no_start_without_weights(run: Run, programs: Path) -> None:
    code, _, err = run("--on", "spark", "--venv", str(programs), "--watch")
    assert code == 2
    assert "hf download poolside/Laguna-S-2.1-NVFP4" in err
    assert "--download" in err


def test_no_start_on_a_disk_that_is_too_small(run: Run, programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def room(_: Path) -> SimpleNamespace:
        return SimpleNamespace(free=10**10)

    monkeypatch.setattr(weights.shutil, "disk_usage", room)
    code, _, err = run("--on", "spark", "--venv", str(programs), "--watch", "--download")
    assert code == 2
    assert "71.9 GB are still to fetch" in err
    assert "10.0 GB are free" in err


def test_no_start_on_a_port_that_is_taken(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code, _, err = run("--watch", "--command", f"true --port {port}")
    assert code == 2
    assert "listens" in err


def test_a_server_that_fails_for_good(run: Run) -> None:
    code, out, _ = run("--watch", "--restarts", "0", "--command", "false --port 9")
    assert code == 1
    assert "exit status 1" in out


def test_in_a_container(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    code, out, _ = run("--on", "spark", "--container", "docker", "--weights", str(tmp_path), "--json")
    words = json.loads(out)["command"]
    assert code == 0
    place = words.index("docker.io/vllm/vllm-openai:v0.25.1")
    outside, inside = words[:place], words[place + 1 :]
    assert outside[:2] == ["docker", "run"]
    assert outside[outside.index("HF_TOKEN") - 1 : outside.index("HF_TOKEN") + 1] == ["--env", "HF_TOKEN"]
    assert "secret" not in out
    assert "127.0.0.1:8000:8000" in outside
    assert f"{tmp_path}:/weights:ro" in outside
    assert inside[0] == "/weights"
    assert inside[inside.index("--host") + 1] == "0.0.0.0"
    assert "--revision" not in inside


def test_a_container_that_outlived_its_watch_is_stopped(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker = tmp_path / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\ntest "$1" = ps && echo 0123\ntest "$1" != run\n')
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{docker.parent}{os.pathsep}{os.environ['PATH']}")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    wanted = ("--on", "spark", "--container", "docker", "--port", str(port), "--download", "--restarts", "0")
    code, _, err = run(*wanted, "--watch")
    calls = (tmp_path / "calls").read_text().splitlines()
    assert code == 1
    assert "still runs from an earlier watch" in err
    assert [line.split()[0] for line in calls] == ["ps", "stop", "run"]
    assert f"pool-serve-{port}" in calls[1]


def test_names_of_quantisations() -> None:
    assert quant_of("laguna-s-2.1-Q4_K_M.gguf") == "Q4_K_M"
    assert quant_of("UD-IQ4_XS/") == "UD-IQ4_XS"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


class RealWatch:
    """`pool serve --watch --json` as a process; {port} in its arguments is a free one."""

    def __init__(self, state: Path, *arguments: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        words = [word.format(port=self.port) for word in arguments]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pool", "serve", "--watch", "--json", *words],
            cwd=REPOSITORY,
            env=os.environ | {"XDG_STATE_HOME": str(state), "PYTHONPATH": os.pathsep.join(map(str, PYTHON_PATH))},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.watchdog = threading.Timer(RUN_SECONDS, self.process.kill)
        self.watchdog.start()

    def until(self, kind: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            row = json.loads(line)
            if row["type"] == f"serve.{kind}":
                return row
        raise AssertionError(f"it ended before {kind}")

    def end(self) -> None:
        self.watchdog.cancel()
        self.process.kill()
        self.process.communicate()


PYTHON_PATH = (REPOSITORY, REPOSITORY / "tools", REPOSITORY / "themes")


def servers(port: int) -> list[int]:
    """Processes of the server on a port, without the one that holds them together."""
    found = subprocess.run(["ps", "-axww", "-o", "pid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in found.splitlines()]
    return [int(row[0]) for row in rows if row[2:4] == ["-m", "tests.lab.serve.llamacpp"] and row[-1] == str(port)]


def test_a_real_server_is_killed_and_then_pool_itself(state: Path) -> None:
    """The server is started again; with Pool it goes, so that nothing holds its memory."""
    require_llamacpp()
    one = RealWatch(state, "--command", f"{sys.executable} -m tests.lab.serve.llamacpp --port {{port}}")
    try:
        assert one.until("ready")["url"].endswith(f":{one.port}/health")
        [server] = servers(one.port)
        os.kill(server, signal.SIGKILL)
        assert one.until("ended")["status"] == 137
        one.until("ready")
        [again] = servers(one.port)
        assert again != server
        one.process.send_signal(signal.SIGKILL)
        one.process.wait()
        deadline = threading.Event()
        while servers(one.port):
            deadline.wait(0.05)
    finally:
        one.end()
    assert "ready" in (state / "pool" / "serve" / f"{one.port}.log").read_text()


def test_vllm_of_a_virtual_environment(state: Path, programs: Path) -> None:
    """A program in its place: what it says of its cache is compared with the plan; SIGTERM ends it in order."""
    program = programs / "bin" / "vllm"
    program.write_text(f'#!/bin/sh\ntest "$MAX_JOBS" = 4 && exec {sys.executable} -S {standin.__file__} "$@"\n')
    with (programs / "model.safetensors").open("wb") as file:
        file.truncate(71_900_000_000)  # Of which nothing is on the disk.
    wish = ("--on", "spark", "--draft", "0", "--context", "65536", "--port", "{port}", "--weights", str(programs))
    one = RealWatch(state, *wish, "--venv", str(programs))
    try:
        one.until("ready")
        assert one.until("fact")["moe_backend"] == "FLASHINFER_CUTLASS"
        fact = one.until("fact")
        one.process.send_signal(signal.SIGTERM)
        one.until("stopped")
        assert one.process.wait() == 0
    finally:
        one.end()
    assert "977,533 tokens, 14.92 sessions of 65,536; 27.1 GiB were planned, and it counts with 4,096" in fact["words"]
    assert (fact["kv_gib"], fact["step_tokens"]) == (27.11, 4_096)
