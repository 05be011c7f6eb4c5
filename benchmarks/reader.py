"""How fast replies are read: event-stream decoding and the reader together, from bytes in memory.

    python benchmarks/reader.py [--deltas 200000]

Prints deltas per CPU second for a reply of reasoning and content, of call arguments, and of several tokens per chunk.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Iterator

from pool.wire.reader import Reader
from pool.wire.reading import Expectation
from pool.wire.sse import SseDecoder

READ_BYTES = 65536
"""What one read from a socket hands over at most."""

WRITE = {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}
WORDS = "the reader takes each delta and keeps reasoning apart from content, `code` and <b>tags</b> too\n".split(" ")


def event(**delta: object) -> bytes:
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "laguna",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None, "token_ids": None}],
    }
    return b"data: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"


def text_reply(count: int) -> Iterator[bytes]:
    for i in range(count):
        field = "reasoning" if i < count // 2 else "content"
        yield event(**{field: WORDS[i % len(WORDS)] + " "})


def call_reply(count: int) -> Iterator[bytes]:
    head = {
        "index": 0,
        "id": "c",
        "type": "function",
        "function": {"name": "write", "arguments": '{"path":"a","content":"'},
    }
    yield event(tool_calls=[head])
    for i in range(count):
        yield event(tool_calls=[{"index": 0, "function": {"arguments": WORDS[i % len(WORDS)].strip() + " "}}])
    yield event(tool_calls=[{"index": 0, "function": {"arguments": '"}'}}])


def measure(name: str, events: list[bytes]) -> None:
    stream = b"".join(events)
    best = 0.0
    for _ in range(3):
        decoder, reader = SseDecoder(), Reader(Expectation(tools={"write": WRITE}))
        started = time.process_time()
        for at in range(0, len(stream), READ_BYTES):
            reader.feed(decoder.feed(stream[at : at + READ_BYTES]))
        reader.feed(decoder.close())
        reader.close()
        best = max(best, len(events) / (time.process_time() - started))
    print(f"{name:28} {best:12,.0f} deltas/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deltas", type=int, default=200_000)
    count = parser.parse_args().deltas
    measure("reasoning and content", list(text_reply(count)))
    measure("call arguments", list(call_reply(count)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{'peak memory':28} {peak:12,.0f} MiB (the stream itself is held in memory)")


if __name__ == "__main__":
    main()
