"""How long Pool takes to start, beside a bare interpreter: `make bench`, or `python benchmarks/startup.py --runs 30`.

Rounds are interleaved, the first is thrown away, and medians are printed with the least and the greatest value, since
other work on a machine inflates walls. Quote the ratio to the bare interpreter, measured in the same run.

`pool run` talks to a server in this process, which notes when the head of the first request that asks for a reply has
come, and answers in three words. Sandbox, session log and probing are as for anybody; settings and state are empty.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RUNS = 15
MS_PER_SECOND = 1000
KIB_PER_MIB = 1024

NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class Server:
    """Answers on a free port; asked is when the head of the last request for a reply had come, 0.0 if none has."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self.asked = 0.0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            while first := lines.readline():
                length = 0
                while (line := lines.readline()).strip():
                    name, _, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                if first.startswith(b"POST"):
                    self.asked = time.perf_counter()
                lines.read(length)
                connection.sendall(reply() if first.startswith(b"POST") else NOT_FOUND)


def reply() -> bytes:
    """A whole reply as an event stream."""
    usage = {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4}
    parts: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"content": "It is done."}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": usage},
    ]
    common = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    body = "".join(f"data: {json.dumps({**common, **part})}\n\n" for part in parts) + "data: [DONE]\n\n"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


@dataclass(slots=True)
class Case:
    """One command line. Each round adds to walls, cpus and firsts (until the first request) in ms, to peaks in MiB."""

    name: str
    argv: list[str]
    server: Server | None = None
    walls: list[float] = field(default_factory=list[float])
    cpus: list[float] = field(default_factory=list[float])
    firsts: list[float] = field(default_factory=list[float])
    peaks: list[float] = field(default_factory=list[float])

    def run(self, env: dict[str, str], folder: str) -> None:
        """Run once. CPU time is user and system, that of waited-for children too."""
        start = time.perf_counter()
        process = subprocess.Popen(
            self.argv,
            env=env,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"`{self.name}` ended with {process.returncode}; run it by hand to see why")
        self.walls.append(wall * MS_PER_SECOND)
        self.cpus.append((used.ru_utime + used.ru_stime) * MS_PER_SECOND)
        self.peaks.append(used.ru_maxrss / KIB_PER_MIB)
        if self.server is not None:
            self.firsts.append((self.server.asked - start) * MS_PER_SECOND)


def cases() -> list[Case]:
    script = Path(sys.executable).with_name("pool")
    pool = [str(script)] if script.exists() else [sys.executable, "-m", "pool"]
    server = Server()
    return [
        Case("python -c pass", [sys.executable, "-c", "pass"]),
        Case("pool --version", [*pool, "--version"]),
        Case("pool run --help", [*pool, "run", "--help"]),
        Case("pool prompt", [*pool, "prompt", "hello"]),
        Case("pool run", [*pool, "run", "hello", "--base-url", server.url, "--model", "m"], server),
    ]


def measure(measured: list[Case], runs: int) -> None:
    """Fill in the cases' times: one warm-up round, then runs rounds."""
    # Compiled modules must be kept between rounds, as they are for a user.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE" and not k.startswith("POOL_")}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "work"):
            (Path(folder) / name).mkdir()
            env[name] = str(Path(folder) / name)
        for number in range(runs + 1):
            for case in measured:
                case.run(env, env["work"])
                if number == 0:
                    for values in (case.walls, case.cpus, case.firsts, case.peaks):
                        values.clear()


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.0f} [{min(values):.0f}-{max(values):.0f}]" if values else ""


def table(measured: list[Case]) -> str:
    """The results as a Markdown table; the first case is what the others are compared with."""
    base = statistics.median(measured[0].walls)
    lines = [
        "| command | wall ms | CPU ms | times the bare interpreter | to the first request, ms | peak MiB |",
        "|---|---|---|---|---|---|",
    ]
    for case in measured:
        ratio = statistics.median(case.walls) / base
        cells = (spread(case.walls), spread(case.cpus), f"{ratio:.1f}", spread(case.firsts), spread(case.peaks))
        lines.append(f"| `{case.name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how long Pool takes to start.")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"rounds that count (default {RUNS})")
    runs = max(1, parser.parse_args().runs)
    measured = cases()
    measure(measured, runs)
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()}; median [min-max], n={runs}\n"
    )
    print(table(measured))


if __name__ == "__main__":
    main()
