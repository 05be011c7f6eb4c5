"""Starting the real server, looking into it, and running Pool against it as a person would."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from pool.wire.trace import TracedReply, read_trace
from tests.realserver.serve import READY

REPOSITORY = Path(__file__).parents[2]
START_SECONDS = 20.0
RUN_SECONDS = 40.0
SLOT_SECONDS = 5.0
_POLL_SECONDS = 0.05

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RealServer:
    """llama.cpp at url (without a path)."""

    url: str

    def get(self, path: str) -> Any:
        """The decoded answer to a GET."""
        return httpx.get(self.url + path, trust_env=False, timeout=SLOT_SECONDS).raise_for_status().json()

    @property
    def busy(self) -> bool:
        """Whether a reply is being generated."""
        return any(slot["is_processing"] for slot in self.get("/slots"))

    def wait(self, *, busy: bool) -> bool:
        """Wait until the server is busy or idle; False if it does not become so."""
        deadline = time.monotonic() + SLOT_SECONDS
        while self.busy is not busy:
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True


@contextmanager
def served(log: Path) -> Generator[RealServer]:
    """The server with the tiny agent, as a process. Raises RuntimeError, with its log, if it does not start."""
    command = [sys.executable, "-m", "tests.realserver.serve"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])}
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment, text=True
        )
    assert process.stdout is not None
    watchdog = threading.Timer(START_SECONDS, process.kill)
    watchdog.start()
    try:
        line = process.stdout.readline()
        watchdog.cancel()
        if not line.startswith(READY):
            raise RuntimeError(f"{' '.join(command)} did not start: {line}{log.read_text(errors='replace')}")
        yield RealServer(line.removeprefix(READY).strip())
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


@dataclass(frozen=True, slots=True)
class Run:
    """A finished `pool run -o stream-json`: its exit code, events and stderr, and what went over the wire."""

    exit_code: int
    events: list[Json]
    errors: str
    replies: list[TracedReply]

    def of(self, kind: str) -> list[Json]:
        """The events of a kind."""
        return [event for event in self.events if event["type"] == kind]

    def text(self, kind: str) -> str:
        """The joined text of the deltas of a kind."""
        return "".join(event["text"] for event in self.of(kind))

    @property
    def end(self) -> Json:
        """The last event."""
        return self.events[-1]

    @property
    def calls(self) -> list[tuple[str, Json, str]]:
        """Name, arguments and status of each call, in order."""
        proposed = {event["call"]: event["arguments"] for event in self.of("call.proposed")}
        return [(e["name"], proposed[e["call"]], e["status"]) for e in self.of("call.finished")]

    @property
    def requests(self) -> list[Json]:
        """The bodies of the chat requests."""
        return [json.loads(reply.request) for reply in self.replies]


GREEDY = {"POOL_SAMPLING_TEMPERATURE": "0"}
"""The tiny model knows its answers, but not surely enough to have them drawn by lot."""


def pool_run(
    server: RealServer,
    workspace: Path,
    *arguments: str,
    meanwhile: Callable[[int], None] | None = None,
    greedy: bool = False,
) -> Run:
    """Run Pool's command line in workspace; meanwhile is called with the process's id after the first content.

    The trace lies beside the workspace, not in it.
    """
    trace = workspace.with_name(f"{workspace.name}.trace")
    trace.unlink(missing_ok=True)
    options = ["-C", str(workspace), "--base-url", server.url, "--trace", str(trace), "-o", "stream-json", "-q"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pool", "run", *options, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | (GREEDY if greedy else {}),
    )
    assert process.stdout is not None
    watchdog = threading.Timer(RUN_SECONDS, process.send_signal, [signal.SIGKILL])
    watchdog.start()
    try:
        events: list[Json] = []
        for line in process.stdout:
            events.append(json.loads(line))
            if meanwhile and events[-1]["type"] == "content.delta":
                meanwhile(process.pid)
                meanwhile = None
        errors = process.communicate()[1]
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()
    replies = list(read_trace(trace)) if trace.exists() else []
    return Run(process.returncode, events, errors, replies)
