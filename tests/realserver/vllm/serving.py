"""Running the installed vLLM with a scripted tiny model, and ending it or its engine."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.realserver.vllm.cases import Case, Variant
from tests.realserver.vllm.install import Installation

INSIDE = Path(__file__).parent / "inside"
API_KEY = "test-key"
MODEL = "laguna-test"
WINDOW_TOKENS = 4096
START_SECONDS = 300.0
STOP_SECONDS = 20.0
_POLL_SECONDS = 1.0

FLAGS = (
    *("--host", "127.0.0.1", "--served-model-name", MODEL, "--max-model-len", str(WINDOW_TOKENS)),
    *("--load-format", "dummy", "--dtype", "float32", "--enforce-eager", "--max-num-seqs", "4"),
    *("--enable-auto-tool-choice", "--tool-call-parser", "poolside_v1", "--reasoning-parser", "poolside_v1"),
    *("--logits-processors", "scripted:Scripted", "--api-key", API_KEY),
)


@dataclass(frozen=True, slots=True)
class Server:
    """A vLLM to be run: which one, what it is to say, and where."""

    installation: Installation
    variant: Variant
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def model(self) -> Path:
        kind = "split" if self.variant is Variant.SPLIT else "plain"
        return self.installation.folder / f"model-{kind}"

    @property
    def scripts(self) -> Path:
        return self.installation.folder / f"scripts-{self.variant.value}"

    @property
    def log(self) -> Path:
        return self.installation.folder / f"server-{self.variant.value}.log"

    def build_command(self) -> list[str]:
        options = ["--split-tags", "--thinks-by-default"] if self.variant is Variant.SPLIT else []
        return [str(self.installation.python), str(INSIDE / "build_model.py"), str(self.model), *options]

    def script_command(self) -> list[str]:
        return [str(self.installation.python), str(INSIDE / "write_scripts.py"), str(self.model), str(self.scripts)]

    def serve_command(self) -> list[str]:
        """To be run in the installation's folder: the server tells the model's path, which is to be nobody's own."""
        launch = [str(self.installation.python), str(INSIDE / "launch.py"), "serve", self.model.name]
        return [*launch, "--port", str(self.port), *FLAGS]

    def environment(self) -> dict[str, str]:
        """What the server needs to know, and that it must fetch and report nothing."""
        return {
            "PYTHONPATH": str(INSIDE),
            "POOL_SCRIPTS": str(self.scripts),
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_TARGET_DEVICE": "cpu",
        }


@contextmanager
def running(server: Server, cases: list[Case]) -> Generator[subprocess.Popen[bytes]]:
    """The server, ready to answer cases; its process. Raises RuntimeError, naming its log, if it does not start."""
    subprocess.run(server.build_command(), check=True)
    texts = json.dumps({case.name: case.script for case in cases if case.script})
    subprocess.run(server.script_command(), input=texts, text=True, check=True)
    environment = os.environ | server.environment()
    with server.log.open("wb") as log:
        process = subprocess.Popen(
            server.serve_command(), stdout=log, stderr=log, env=environment, cwd=server.installation.folder
        )
    try:
        _wait_until_ready(server, process)
        yield process
    finally:
        end(process)


def _wait_until_ready(server: Server, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if httpx.get(f"{server.url}/health", trust_env=False).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(_POLL_SECONDS)
    raise RuntimeError(f"vLLM did not start on port {server.port}; see {server.log}")


def end(process: subprocess.Popen[bytes]) -> None:
    """End a server and the processes that it started."""
    children = descendants(process.pid)
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for child in children:
        kill(child)


def kill(pid: int) -> None:
    """Kill a process that may be gone."""
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return


def descendants(pid: int) -> list[int]:
    """Process ids below pid, parents first (Linux)."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    return _below(pid, parents)


def _below(pid: int, parents: Mapping[int, list[int]]) -> list[int]:
    below: list[int] = []
    for child in parents.get(pid, []):
        below += [child, *_below(child, parents)]
    return below


def engine_of(pid: int) -> int:
    """The engine's process of a server. Raises RuntimeError if there is none."""
    for child in descendants(pid):
        title = Path(f"/proc/{child}/cmdline").read_bytes()
        if b"EngineCore" in title:
            return child
    raise RuntimeError(f"the vLLM server (process {pid}) has no process named EngineCore")
