"""How fast a reply is read through the whole client: a real socket, HTTP, event stream, reader.

    python benchmarks/stream.py [--deltas 200000] [--turns 100]

First line: deltas a second (wall time and this process's CPU time; the server is a process of its own). Second: from
the last byte of a reply to the first byte of the next request at so many turns of history, tools aside.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import socket
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

from pool.agent.history import History
from pool.messages import ToolCall
from pool.wire.client import ChatClient
from pool.wire.endpoint import parse_endpoint
from pool.wire.reading import Expectation, Reading
from pool.wire.request import Head, RequestBuilder
from pool.wire.retry import RetryPolicy
from pool.wire.tokens import TokenMeter
from pool.wire.transport import Transport

WORDS = "the reader takes each delta and keeps reasoning apart from content, `code` and <b>tags</b> too\n".split(" ")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
SPEC = {"type": "object", "properties": {"path": {"type": "string"}}}


def event(finish: str | None = None, **delta: object) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish, "token_ids": None}
    body = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "laguna", "choices": [choice]}
    data = b"data: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(data), data)


def reply(count: int) -> bytes:
    fields = ["reasoning"] * (count // 2) + ["content"] * (count - count // 2)
    text = b"".join(event(**{field: WORDS[i % len(WORDS)] + " "}) for i, field in enumerate(fields))
    return HEAD + text + event("stop") + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


def serve(deltas: int, pipe: Connection) -> None:
    """Answer each request with a reply; send back the time from its last byte to the next request's first."""
    listener = socket.create_server(("127.0.0.1", 0))
    pipe.send(listener.getsockname()[1])
    data = reply(deltas)
    while True:
        connection, _ = listener.accept()
        sent = 0.0
        while first := connection.recv(65536):
            came = time.monotonic()
            if sent:
                pipe.send(came - sent)
            body = first
            while b"\r\n\r\n" not in body:
                body += connection.recv(65536)
            head, _, rest = body.partition(b"\r\n\r\n")
            length = int(next(h for h in head.lower().split(b"\r\n") if h.startswith(b"content-length")).split(b":")[1])
            while len(rest) < length:
                rest += connection.recv(1 << 20)
            connection.sendall(data)
            sent = time.monotonic()


def history_of(turns: int) -> History:
    history = History("system " * 200, lambda body: None)
    history.add_user("Mend the program.")
    for i in range(turns):
        add_turn(history, i)
    return history


def add_turn(history: History, number: int) -> None:
    call = ToolCall(f"call_{number}", "read", '{"path":"a.py"}')
    history.add_assistant(Reading(content="I look.", reasoning="why not " * 100, reasoning_field="reasoning"), [call])
    history.add_result(call.id, "line of text\n" * 100)


async def talk(port: int, turns: int, rounds: int, start_history: Callable[[], History]) -> tuple[float, float]:
    """Send rounds requests; returns wall and CPU seconds."""
    history, meter = start_history(), TokenMeter()
    builder = RequestBuilder(Head("m", True, ({"type": "function", "function": {"name": "read", "parameters": SPEC}},)))
    async with Transport(parse_endpoint(f"http://127.0.0.1:{port}")) as transport:
        client = ChatClient(transport, RetryPolicy())
        wall, cpu = time.perf_counter(), time.process_time()
        for number in range(rounds):
            body = builder.build(history.data, max_tokens=100)
            meter.estimate(body)
            async for _ in client.converse(body, Expectation(tools={"read": SPEC})):
                pass
            add_turn(history, turns + number)
        return time.perf_counter() - wall, time.process_time() - cpu


def start(deltas: int) -> tuple[multiprocessing.Process, Connection, int]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve, args=(deltas, theirs), daemon=True)
    process.start()
    return process, ours, ours.recv()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deltas", type=int, default=200_000)
    parser.add_argument("--turns", type=int, default=100)
    args = parser.parse_args()
    process, pipe, port = start(args.deltas)
    runs = [asyncio.run(talk(port, 0, 1, lambda: history_of(0))) for _ in range(3)]
    process.kill()
    print(f"through httpx and a socket: {args.deltas / min(w for w, _ in runs):,.0f} deltas/s of wall time, ", end="")
    print(f"{args.deltas / min(c for _, c in runs):,.0f} of CPU time")
    process, pipe, port = start(20)
    asyncio.run(talk(port, args.turns, 30, lambda: history_of(args.turns)))
    gaps: list[float] = []
    while pipe.poll(0.2):
        gaps.append(pipe.recv() * 1000)
    process.kill()
    print(f"last byte of a reply to first byte of the next request, {args.turns} turns of history: ", end="")
    print(f"median {statistics.median(gaps):.1f} ms, worst {max(gaps):.1f} ms")
    history, builder = history_of(1000), RequestBuilder(Head("m", True))
    builder.build(history.data, max_tokens=100)
    begun = time.perf_counter()
    size = len(builder.build(history.data, max_tokens=100))
    print(f"building a request of 1,000 turns ({size:,} bytes): {(time.perf_counter() - begun) * 1000:.2f} ms")


if __name__ == "__main__":
    main()
