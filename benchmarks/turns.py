"""From the last byte of a reply with a call to the first byte of the next request, in a whole `pool run`.

    python benchmarks/turns.py [--rounds 12] [--history 0 1000]

The server is this process; the sandbox, the session log, checkpoints and guards are as for anybody. The call's own work
is in the time: a small file is read or written, or `echo` is run by the tool `shell`. With a history, the run goes on
with a session of so many turns, made for it. CPU time is the client's alone, not that of commands.
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
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pool.agent.history import History
from pool.agent.hub import EventHub
from pool.agent.ids import new_id
from pool.agent.prompt import system_prompt
from pool.events import RunStarted
from pool.messages import ToolCall
from pool.sessions.log import Header, SessionLog
from pool.wire.reading import Reading

KINDS = ("read", "write", "shell")
MS_PER_SECOND = 1000
FILES = 200
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def arguments(kind: str, number: int) -> dict[str, Any]:
    match kind:
        case "read":
            return {"path": f"file{number}.txt"}
        case "write":
            return {"path": f"new{number}.txt", "content": f"line {number}\n" * 20}
        case _:
            return {"command": f"echo {number}"}


def reply(kind: str, number: int) -> bytes:
    """A reply that makes a call, "" the last one without."""
    common = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    delta: dict[str, Any] = {"content": "It is done."}
    if kind:
        function = {"name": kind, "arguments": json.dumps(arguments(kind, number))}
        delta = {"tool_calls": [{"index": 0, "id": f"c{number}", "type": "function", "function": function}]}
    parts: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if kind else "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 30, "total_tokens": 1030}},
    ]
    body = "".join(f"data: {json.dumps({**common, **part})}\n\n" for part in parts) + "data: [DONE]\n\n"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


class Server:
    """Asks for calls of each kind in turn, rounds times; gaps are seconds by kind."""

    def __init__(self, rounds: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self.gaps: dict[str, list[float]] = defaultdict(list)
        self._replies = self._in_turn(rounds)
        self._kind, self._sent = "", 0.0
        threading.Thread(target=self._serve, daemon=True).start()

    def _in_turn(self, rounds: int) -> Iterator[tuple[str, bytes]]:
        for number in range(rounds * len(KINDS)):
            kind = KINDS[number % len(KINDS)]
            yield kind, reply(kind, number)
        yield "", reply("", 0)

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            while first := lines.readline():
                if first.startswith(b"POST") and self._kind:
                    self.gaps[self._kind].append(time.perf_counter() - self._sent)
                length = 0
                while (line := lines.readline()).strip():
                    name, _, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                lines.read(length)
                if not first.startswith(b"POST"):
                    connection.sendall(NOT_FOUND)
                    continue
                self._kind, data = next(self._replies)
                connection.sendall(data)
                self._sent = time.perf_counter()


def session_of(turns: int, state: Path, workspace: Path) -> str:
    """Write a session of so many turns with a result of 4 KB each; returns its id."""
    session = new_id()
    header = Header(session, str(workspace), time.time(), "0")
    with SessionLog.create(state / "pool" / "sessions", header, print) as log:
        hub = EventHub(session, log)
        history = History(system_prompt(str(workspace)), hub.emit)
        hub.emit(RunStarted("Mend it.", str(workspace), "m", "http://127.0.0.1", "auto", "none"))
        history.add_user("Mend it.")
        for number in range(turns):
            call = ToolCall(f"early_{number}", "read", '{"path":"file1.txt"}')
            history.add_assistant(Reading(content="I look.", reasoning="Where is it? " * 20), [call])
            history.add_result(call.id, "    for line in lines:  # what a file says\n" * 90)
        history.add_assistant(Reading(content="That is all."), [])
    return session


def measure(rounds: int, turns: int) -> dict[str, list[float]]:
    """Gaps in seconds, by kind of call."""
    with tempfile.TemporaryDirectory() as folder:
        env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE" and not k.startswith("POOL_")}
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            env[name] = str(Path(folder) / name)
        work = Path(folder) / "work"
        work.mkdir()
        for number in range(FILES):
            (work / f"file{number}.txt").write_text("some words of a file\n" * 50)
        server = Server(rounds)
        command = [sys.executable, "-m", "pool", "run", "--base-url", server.url, "--model", "m", "--max-turns", "999"]
        if turns:
            command += ["-r", session_of(turns, Path(env["XDG_STATE_HOME"]), work)]
        done = subprocess.run(
            [*command, "Mend it."], env=env, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"pool run ended with {done.returncode}: {done.stderr}")
        return server.gaps


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the time between a reply and the next request.")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--history", type=int, nargs="+", default=[0, 1000], metavar="TURNS")
    args = parser.parse_args()
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()}; median [min-max] in ms\n")
    print(f"| turns of history | {' | '.join(KINDS)} |\n|---|{'---|' * len(KINDS)}")
    for turns in args.history:
        gaps = measure(args.rounds, turns)
        cells = [[gap * MS_PER_SECOND for gap in gaps[kind]] for kind in KINDS]
        shown = " | ".join(f"{statistics.median(c):.1f} [{min(c):.1f}-{max(c):.1f}]" for c in cells)
        print(f"| {turns:,} | {shown} |")


if __name__ == "__main__":
    main()
