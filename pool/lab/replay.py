"""`pool replay FILE`: read the replies of a trace again, and say where today's reading differs from the one kept."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

from pool.events import plain
from pool.wire.chunks import token_count
from pool.wire.reader import Reader
from pool.wire.reading import DEFAULT_THINK_TAGS, Expectation, Reading
from pool.wire.sse import SseDecoder
from pool.wire.trace import TracedReply, read_trace
from pool_tools.text import visible

EXIT_USAGE = 2
EXIT_DIFFERS = 1
SHOWN_CHARS = 400


def parser() -> argparse.ArgumentParser:
    """The flags of `pool replay`."""
    p = argparse.ArgumentParser(prog="pool replay", description="Read the replies of a trace again.")
    p.add_argument("file", help="a file written by --trace")
    p.add_argument("--json", action="store_true", help="one JSON object per reply")
    p.add_argument("--window", type=int, default=0, metavar="N", help="the server's context window in tokens")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool replay`: 0 if every reply reads as before, 1 if one differs, 2 if the file cannot be read."""
    args = parser().parse_args(list(argv))
    try:
        replies = list(read_trace(Path(args.file)))
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL.
        why = error.strerror if isinstance(error, OSError) else str(error)
        sys.stderr.write(f"pool replay: {args.file!r} cannot be read: {why}\n")
        return EXIT_USAGE
    if not replies:
        sys.stderr.write(f"pool replay: {args.file!r} holds no reply; it should be a file written by --trace\n")
        return EXIT_USAGE
    differing = 0
    for number, reply in enumerate(replies, 1):
        reading = read_again(reply, args.window)
        changed = differences(reply, reading)
        differing += bool(changed)
        _show(sys.stdout, number, reply, reading, changed, as_json=args.json)
    return EXIT_DIFFERS if differing else 0


def read_again(reply: TracedReply, window: int = 0) -> Reading:
    """Today's reading of a traced reply."""
    decoder, reader = SseDecoder(), Reader(expectation_of(reply.request, window))
    for _, data in reply.chunks:
        reader.feed(decoder.feed(data))
        if reader.done:  # Where the client stopped reading, too.
            break
    reader.feed(decoder.close())
    return reader.close()[1]


def expectation_of(request: str, window: int = 0) -> Expectation:
    """What a request body asked for, as far as reading its reply depends on it; what is odd in it is left out."""
    try:
        value: Any = json.loads(request)
    except (ValueError, RecursionError):
        value = {}
    body = _object(value)
    listed = body.get("tools")
    listed = cast(list[Any], listed) if isinstance(listed, list) else []
    tools = [_object(_object(tool).get("function")) for tool in listed]
    switch = _object(body.get("chat_template_kwargs")).get("enable_thinking", True)
    limits = (token_count(n) for n in (body.get("max_tokens"), _object(body.get("options")).get("num_predict")))
    return Expectation(
        tools={name: _object(t.get("parameters")) for t in tools if isinstance(name := t.get("name"), str)},
        calls_allowed=body.get("tool_choice") != "none",
        thinking=bool(body.get("think", switch)),
        max_tokens=next((n for n in limits if n), 0),
        window=window,
        think_tags=DEFAULT_THINK_TAGS,
    )


def _object(value: Any) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}


def differences(reply: TracedReply, reading: Reading) -> list[str]:
    """Names of the parts that read otherwise than when the trace was written; the ending depends on the window."""
    kept, now = reply.reading, plain(reading)
    if not kept or "problem" in kept:
        return []
    return [k for k in ("reasoning", "content", "calls", "broken", "finish") if k in kept and kept[k] != now[k]]


def _show(out: TextIO, number: int, reply: TracedReply, reading: Reading, changed: list[str], *, as_json: bool) -> None:
    if as_json:
        row = {"reply": number, "status": reply.status, "reading": plain(reading), "differs": changed}
        out.write(json.dumps(row) + "\n")
        return
    for line in _lines(number, reply, reading, changed):
        out.write(visible(line) + "\n")


def _lines(number: int, reply: TracedReply, reading: Reading, changed: list[str]) -> Iterator[str]:
    """What there is to say of a reply. Much of it is the server's text: it is made visible before it is shown."""
    size = sum(len(data) for _, data in reply.chunks)
    last = reply.chunks[-1][0] if reply.chunks else 0.0
    yield f"reply {number}: HTTP {reply.status}, {size:,} bytes in {len(reply.chunks)} pieces, {last:.2f} s"
    problem = reply.reading.get("problem")
    if problem and isinstance(problem, str):
        yield f"  then: {problem}"
    yield f"  ending {reading.ending.value}, finish {reading.finish or '-'}, stop {reading.stop or '-'}"
    for name, text in (("reasoning", reading.reasoning), ("content", reading.content)):
        if text:
            yield f"  {name}: {_short(text)}"
    for call in reading.calls:
        yield f"  call {call.name} {_short(call.arguments)}"
    for broken in reading.broken:
        yield f"  broken call {broken.name or '(no name)'}: {broken.why}"
    if reading.repairs:
        yield f"  mended: {', '.join(reading.repairs)}"
    if changed:
        yield f"  reads otherwise than when it was traced: {', '.join(changed)}"


def _short(text: str) -> str:
    shown = json.dumps(text, ensure_ascii=True)
    return shown if len(shown) <= SHOWN_CHARS else f"{shown[:SHOWN_CHARS]}... ({len(text):,} characters)"
