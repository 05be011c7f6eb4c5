"""Sweeps: the command for each value, and real starts of a server."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import pytest

from pool.lab.bench.command import main
from pool.lab.bench.starting import memory_in_use
from pool.lab.bench.variants import K_FLAG, Sweep, command_words, parse_sweep

K = Sweep(K_FLAG, ("0", "3"))
VLLM = """vllm serve M --speculative-config '{"method": "dflash", "num_speculative_tokens": 15}' --port 8000"""

SERVER = """
import os, sys
print("INFO Using 'FLASHINFER_CUTLASS' NvFp4 MoE backend out of potential backends: [...]", flush=True)
print("INFO GPU KV cache size: 977,533 tokens", flush=True)
os.execv(sys.executable, [sys.executable, "-m", "pool.sim", *sys.argv[1:]])
"""
"""A server whose log says what vLLM's says."""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_the_depth_in_vllms_configuration() -> None:
    words = command_words(VLLM, K, "3")
    assert json.loads(words[words.index("--speculative-config") + 1]) == {
        "method": "dflash",
        "num_speculative_tokens": 3,
    }
    assert words[-2:] == ["--port", "8000"]
    assert command_words(VLLM, K, "0") == ["vllm", "serve", "M", "--port", "8000"]


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("llama-server --spec-draft-n-max 8 -m x", ["llama-server", "--spec-draft-n-max", "3", "-m", "x"]),
        ("pool serve laguna --run --draft=7", ["pool", "serve", "laguna", "--run", "--draft", "3"]),
        ("pool serve xs -- --a b", ["pool", "serve", "xs", "--run", "--draft", "3", "--", "--a", "b"]),
        ("pool serve --watch -- --k {K}", ["pool", "serve", "--watch", "--", "--k", "3"]),
        ("sim --tokens-per-step 1-{K+1} --seed {K}", ["sim", "--tokens-per-step", "1-4", "--seed", "3"]),
    ],
)
def test_other_places_of_the_depth(template: str, words: list[str]) -> None:
    assert command_words(template, K, "3") == words


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("vllm serve M", "no place for K"),
        ("vllm serve M --speculative-config dflash", "must be a JSON object"),
        ("vllm serve M --speculative-config", "must be a JSON object"),
        ("vllm 'serve", "No closing quotation"),
        ("", "names no command"),
    ],
)
def test_commands_without_a_place(template: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        command_words(template, K, "3")


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("context", ["pool", "serve", "--run", "--context", "9", "--", "--moe-backend", "auto"]),
        ("moe-backend", ["pool", "serve", "--run", "--", "--moe-backend", "9"]),
        ("block-size", ["pool", "serve", "--run", "--", "--moe-backend", "auto", "--block-size", "9"]),
    ],
)
def test_flags_of_pool_serve_and_of_its_server(flag: str, words: list[str]) -> None:
    command = "pool serve --run -- --moe-backend auto"
    assert command_words(command, parse_sweep(f"{flag}=8,9"), "9") == words


def test_any_flag() -> None:
    backends = parse_sweep("--moe-backend=auto,marlin,")
    assert backends == Sweep("moe-backend", ("auto", "marlin", ""))
    assert command_words("vllm serve M --port 1", backends, "marlin") == [
        "vllm",
        "serve",
        "M",
        "--port",
        "1",
        "--moe-backend",
        "marlin",
    ]
    assert command_words("vllm serve --moe-backend triton M", backends, "auto") == [
        "vllm",
        "serve",
        "--moe-backend",
        "auto",
        "M",
    ]
    assert command_words("vllm serve --moe-backend=triton M", backends, "") == ["vllm", "serve", "M"]
    assert backends.name("") == "moe-backend left out"
    with pytest.raises(ValueError, match="FLAG=A,B"):
        parse_sweep("moe-backend=auto")


def test_starts_of_a_real_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    port, saved = free_port(), tmp_path / "sweep.json"
    serve = f"{sys.executable} {script} --port {port} --step-ms 1 --tokens-per-step {{K+1}}"
    flags = ["--base-url", f"http://127.0.0.1:{port}", "--sweep-k", "0,3", "--starts", "1", "--serve", serve]
    flags += ["--log", str(tmp_path / "logs"), "--save", str(saved)]
    assert main(flags) == 0
    out = capsys.readouterr().out
    assert "2 starts: K=0, K=3, each 1 times" in out
    assert "moe backend FLASHINFER_CUTLASS" in out
    document = json.loads(saved.read_text())
    plain, drafted = document["targets"]
    assert (plain["value"], drafted["value"]) == ("0", "3")
    assert (plain["speculation"], drafted["speculation"]["depth"]) == (None, 3)
    assert drafted["start"]["log"]["kv_tokens"] == 977_533
    # A machine so busy that all of a reply arrives at once gives no speeds, and no advice.
    advice = drafted["advice"] or {"depths": [{"depth": 0, "measured": True}, {"depth": 3, "measured": True}]}
    measured = {row["depth"] for row in advice["depths"] if row["measured"]}
    assert measured == {0, 3}, "the step without drafts comes from the other start"
    with socket.socket() as after:
        after.bind(("127.0.0.1", port))


def test_a_server_that_does_not_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "server.py"
    script.write_text("import sys\nsys.exit(\"ValueError: moe_backend='triton' is not supported for NvFP4 MoE.\")\n")
    flags = ["--base-url", f"http://127.0.0.1:{free_port()}", "--sweep", "moe-backend=triton,x", "--starts", "1"]
    assert main([*flags, "--serve", f"{sys.executable} {script}", "--log", str(tmp_path)]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "Not measured: moe-backend=triton, start 1: the server ended with status 1" in out
    assert "leave out --moe-backend" in out


def test_pool_serve_says_why_it_refuses_a_depth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--base-url", f"http://127.0.0.1:{free_port()}", "--sweep-k", "5", "--starts", "1"]
    assert main([*flags, "--serve", "pool serve laguna-s-2.1 --on spark", "--log", str(tmp_path)]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "ended with status 3: REFUSED (draft-depth-grid): K=5 verifies 6 tokens a step" in out


def test_memory_in_use(tmp_path: Path) -> None:
    info = tmp_path / "meminfo"
    info.write_text("MemTotal:  126877696 kB\nMemFree: 1 kB\nMemAvailable:  14680064 kB\n")
    assert memory_in_use(info) == pytest.approx(107.0)
    assert memory_in_use(tmp_path / "none") is None
