"""The whole interface while a reply streams, and over many turns: `pool`, and other programs, at one scripted server.

    python benchmarks/tui_whole.py [--rate 1000] [--tokens 20000] [--turns 0] [--runs 1] [NAME/WORDS=COMMAND ...]

The programs take turns, each in a pseudo-terminal of 120x40. Without --turns a prompt is answered with so many tokens
of Markdown at so many a second (0: as fast as can be), keys are pressed all the while where there is a rate; CPU is the
program's own from Enter until it is quiet, lag from the last byte of the answer to its picture. With --turns the model
asks for `echo` so often; the gap is from the last byte of a reply to the head of the next request. In COMMAND {URL}
stands for the server's address, that ends in /v1; WORDS are those of its prompt once it can be typed into.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import shlex
import statistics
import sys
import tempfile
import time
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tui_start import ESCAPE, Program, Started
from tui_stream import END_MARK, document

CHARS = 4
SHELLS = ("shell", "bash")
WINDOW = 10_000_000
"""Tokens; no run of these measures is to be compacted."""
KEY_SECONDS = 0.35
QUIET_SECONDS = 0.5
QUIET_CPU = 0.05
LONGEST_SECONDS = 180.0
LOOSE = (
    *("BUDGETS_IDLE_TURNS_NOTE", "BUDGETS_IDLE_TURNS_STOP"),
    *("GUARDS_REPEATS_NOTE", "GUARDS_REPEATS_FIRM", "GUARDS_REPEATS_BLOCK", "GUARDS_REPEATS_STOP"),
)
LONG_RUN = {f"POOL_{name}": "10000" for name in LOOSE}
"""Pool's guards end a run that does nothing but `echo`."""


class Server:
    """Says what the measure needs, and tells when it did: (what, monotonic seconds) through a pipe."""

    def __init__(self, tell: Connection, rate: float, tokens: int, turns: int) -> None:
        self._tell, self._rate, self._tokens, self._turns = tell, rate, tokens, turns

    async def serve(self) -> None:
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0, limit=1 << 24)
        self._tell.send(("port", float(server.sockets[0].getsockname()[1])))
        await server.serve_forever()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                asked = time.monotonic()
                words = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                body = await reader.readexactly(int(words[0].split(b":")[1])) if words else b""
                if body:
                    await self._reply(writer, json.loads(body), asked)
                else:
                    self._list(writer, head)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _list(self, writer: asyncio.StreamWriter, head: bytes) -> None:
        known = b"/v1/models" in head.split(b"\r\n")[0]
        body = json.dumps(
            {"object": "list", "data": [{"id": "m", "object": "model", "max_model_len": WINDOW}]}
        ).encode()
        status = b"200 OK" if known else b"404 Not Found"
        said = body if known else b"{}"
        kind = b"Content-Type: application/json\r\n"
        writer.write(b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, kind, len(said), said))

    async def _reply(self, writer: asyncio.StreamWriter, asked: dict[str, Any], at: float) -> None:
        self._tell.send(("request", at))
        done = sum(m.get("role") == "tool" for m in asked.get("messages", []))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        if done < self._turns:
            function = {"name": _shell_of(asked), "arguments": json.dumps({"command": f"echo step {done}"})}
            call = {"index": 0, "id": f"c{done}", "type": "function", "function": function}
            self._send(writer, {"delta": {"tool_calls": [call]}, "finish_reason": None})
            self._send(writer, {"delta": {}, "finish_reason": "tool_calls"})
        else:
            await self._say(writer, f"Done. {END_MARK}" if self._turns else f"{document(self._tokens)}{END_MARK}\n")
            self._send(writer, {"delta": {}, "finish_reason": "stop"})
        writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        await writer.drain()
        self._tell.send(("said", time.monotonic()))

    async def _say(self, writer: asyncio.StreamWriter, text: str) -> None:
        began = time.monotonic()
        for number, start in enumerate(range(0, len(text), CHARS)):
            self._send(writer, {"delta": {"content": text[start : start + CHARS]}, "finish_reason": None})
            if self._rate and (wait := began + number / self._rate - time.monotonic()) > 0:
                await asyncio.sleep(wait)

    def _send(self, writer: asyncio.StreamWriter, choice: dict[str, Any]) -> None:
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        data = b"data: " + json.dumps(chunk | {"choices": [{"index": 0} | choice]}).encode() + b"\n\n"
        writer.write(b"%x\r\n%s\r\n" % (len(data), data))


def _shell_of(asked: dict[str, Any]) -> str:
    """What a program calls its tool for commands; all take `command`."""
    named = [str(tool.get("function", {}).get("name")) for tool in asked.get("tools", [])]
    return next((name for name in SHELLS if name in named), SHELLS[0])


def serve(tell: Connection, rate: float, tokens: int, turns: int) -> None:
    asyncio.run(Server(tell, rate, tokens, turns).serve())


def measure(program: Program, home: Path, heard: Connection, *, keys: bool) -> dict[str, float]:
    """One prompt, from Enter until the program is quiet; the figures by name."""
    started = Started(program, home)
    try:
        started.wait_for(program.words)
        started.drain(2.0)
        while heard.poll():
            heard.recv()
        cpu, memory = started.cpu(), started.megabytes()
        for key in "Write it.\r":
            started.type(key)
            started.drain(0.05)
        echoes, shown = _watched(started, keys=keys)
        before = started.cpu()
        started.drain(QUIET_SECONDS)
        while (now := started.cpu()) - before > QUIET_CPU:
            before = now
            started.drain(QUIET_SECONDS)
        out = {"cpu_s": now - cpu, "mb_before": memory, "mb_after": started.megabytes()}
        return out | _told(heard, shown) | _of_keys(echoes)
    finally:
        started.end()


def _watched(started: Started, *, keys: bool) -> tuple[list[float], float]:
    """Read until the answer's end is shown, pressing keys; how long each took to show, and when the end came."""
    echoes: list[float] = []
    end, next_key, number = time.monotonic() + LONGEST_SECONDS, time.monotonic() + 2.0, 0
    pressed: tuple[str, float] | None = None
    while time.monotonic() < end:
        started.read(0.02)
        text = ESCAPE.sub(b"", started.raw)
        if pressed is not None and pressed[0].encode() in text:
            echoes.append(time.monotonic() - pressed[1])
            pressed = None
        if END_MARK.encode() in text:
            return echoes, time.monotonic()
        if keys and pressed is None and time.monotonic() > next_key:
            pressed = ("QXZJ"[number % 4], time.monotonic())
            started.type(pressed[0])
            number, next_key = number + 1, pressed[1] + KEY_SECONDS
        started.raw = started.raw[-4000:]
    raise TimeoutError("the end of the answer never came")


def _told(heard: Connection, shown: float) -> dict[str, float]:
    """What the server saw: the lag, or the gaps between turns."""
    told: list[tuple[str, float]] = []
    while heard.poll(0.2):
        told.append(heard.recv())
    gaps = [1000 * (b[1] - a[1]) for a, b in pairwise(told) if (a[0], b[0]) == ("said", "request")]
    if len(gaps) < 10:
        return {"lag_ms": 1000 * (shown - told[-1][1])}
    tenth = len(gaps) // 10
    first, last = statistics.median(gaps[:tenth]), statistics.median(gaps[-tenth:])
    return {"gap_ms": statistics.median(gaps), "gap_first_tenth_ms": first, "gap_last_tenth_ms": last}


def _of_keys(echoes: list[float]) -> dict[str, float]:
    if not echoes:
        return {}
    return {"key_ms": 1000 * statistics.median(echoes), "key_most_ms": 1000 * max(echoes), "keys": float(len(echoes))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=1000.0)
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--turns", type=int, default=0)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("others", nargs="*", metavar="NAME/WORDS=COMMAND")
    options = parser.parse_args()
    heard, tell = multiprocessing.Pipe(duplex=False)
    server = multiprocessing.Process(
        target=serve, args=(tell, options.rate, options.tokens, options.turns), daemon=True
    )
    server.start()
    url = f"http://127.0.0.1:{int(heard.recv()[1])}/v1"
    command = [sys.executable, "-m", "pool", "--mode", "allow-all", "--sandbox", "off", "--max-turns", "1000"]
    programs = [Program("pool", "What is to be done", command, {"POOL_BASE_URL": url} | LONG_RUN)]
    for other in options.others:
        head, _, line = other.partition("=")
        name, _, words = head.partition("/")
        programs.append(Program(name, words, shlex.split(line.replace("{URL}", url))))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.runs):
            for program in programs:
                home = Path(folder) / f"{program.name}{number}"
                (home / "work").mkdir(parents=True)
                found = measure(program, home, heard, keys=bool(options.rate) and not options.turns)
                figures = ", ".join(f"{name} {value:.2f}" for name, value in found.items())
                print(f"{program.name}: {figures}; load {os.getloadavg()[0]:.1f}", flush=True)
    server.terminate()


if __name__ == "__main__":
    main()
