"""Faults in the stream: they change chunks, or the bytes that chunks became.

Ids such as WIRE-06 and CALL-03 are those of the trial cases from public bug reports.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

from pool.sim.chunks import DONE, Chunk

ChunkFault = Callable[[AsyncGenerator[Chunk], str], AsyncGenerator[Chunk]]
ByteFault = Callable[[AsyncGenerator[bytes], str], AsyncGenerator[bytes]]

DEFAULT_EVENTS = 5
DEFAULT_SILENCE_SECONDS = 30.0
HEARTBEATS = 3
DEFAULT_COUNT_PERCENT = 300
ENGINE_DIED = "EngineCore encountered an issue. See stack trace (above) for the root cause."


class Dropped(Exception):
    """The connection ends here: by a reset, or by an orderly close in the middle of the body."""

    def __init__(self, *, reset: bool) -> None:
        super().__init__("reset" if reset else "closed")
        self.reset = reset


async def null_arguments(source: AsyncGenerator[Chunk], arg: str) -> AsyncGenerator[Chunk]:
    """CALL-05: a call's name comes with arguments null, and nothing more of them.

    https://github.com/vllm-project/vllm/issues/9693
    """
    async with aclosing(source):
        async for chunk in source:
            pieces = _pieces(chunk)
            starts = [piece for piece in pieces if "id" in piece]
            for piece in starts:
                piece["function"]["arguments"] = None
            if starts:
                pieces[:] = starts
            elif pieces:
                del chunk["choices"][0]["delta"]["tool_calls"]
            yield chunk


async def same_index(source: AsyncGenerator[Chunk], arg: str) -> AsyncGenerator[Chunk]:
    """CALL-03: all calls of a reply have index 0, as Ollama sent them.

    https://github.com/vercel/ai/pull/14277 · https://github.com/NousResearch/hermes-agent/pull/3468
    """
    async with aclosing(source):
        async for chunk in source:
            for piece in _pieces(chunk):
                piece["index"] = 0
            yield chunk


async def no_ids(source: AsyncGenerator[Chunk], arg: str) -> AsyncGenerator[Chunk]:
    """CALL-04: streamed calls carry no id.

    https://github.com/vllm-project/vllm/issues/18412
    """
    async with aclosing(source):
        async for chunk in source:
            for piece in _pieces(chunk):
                piece.pop("id", None)
            yield chunk


async def double_object(source: AsyncGenerator[Chunk], arg: str) -> AsyncGenerator[Chunk]:
    """A call's arguments come twice, `{...}{...}`: the end flush sends the whole object again.

    https://github.com/vllm-project/vllm/issues/51697
    """
    so_far: defaultdict[int, str] = defaultdict(str)
    async with aclosing(source):
        async for chunk in source:
            for piece in _pieces(chunk):
                index, function = piece["index"], piece["function"]
                so_far[index] += function["arguments"]
                if _is_object(so_far[index]):
                    function["arguments"] += so_far[index]
            yield chunk


async def early_brace(source: AsyncGenerator[Chunk], arg: str) -> AsyncGenerator[Chunk]:
    """The object is closed after its first text and goes on: `{"a": "x"}, "b": 1}`. llama.cpp's recordings T01, T17."""
    so_far: defaultdict[int, str] = defaultdict(str)
    closed: set[int] = set()
    async with aclosing(source):
        async for chunk in source:
            for piece in _pieces(chunk):
                index, text = piece["index"], ""
                for character in piece["function"]["arguments"]:
                    text += character
                    so_far[index] += character
                    if index not in closed and character == '"' and _is_object(so_far[index] + "}"):
                        closed.add(index)
                        text += "}"
                piece["function"]["arguments"] = text
            yield chunk


async def calls_merged(source: AsyncGenerator[Chunk], arg: str) -> AsyncGenerator[Chunk]:
    """Calls side by side become one: the later ones' arguments are put behind the first one's.

    https://github.com/ai-dynamo/dynamo/pull/4723 · https://github.com/ogx-ai/ogx/issues/4430
    """
    async with aclosing(source):
        async for chunk in source:
            for piece in _pieces(chunk):
                if piece["index"]:
                    piece["index"] = 0
                    for name in ("id", "type"):
                        piece.pop(name, None)
                    piece["function"].pop("name", None)
            yield chunk


async def counts_off(source: AsyncGenerator[Chunk], arg: str) -> AsyncGenerator[Chunk]:
    """usage tells arg percent (300) of the prompt's tokens: a gateway that counts by itself.

    https://github.com/songquanpeng/one-api/issues/1868
    """
    percent = int(arg or DEFAULT_COUNT_PERCENT)
    async with aclosing(source):
        async for chunk in source:
            if usage := chunk.get("usage"):
                usage["prompt_tokens"] = usage["prompt_tokens"] * percent // 100
            yield chunk


async def error_in_stream(source: AsyncGenerator[Chunk], arg: str) -> AsyncGenerator[Chunk]:
    """WIRE-08: after arg chunks (5) an error object instead of the rest, then `[DONE]`.

    https://github.com/mastra-ai/mastra/pull/22097 · recording 53
    """
    left = int(arg or DEFAULT_EVENTS)
    async with aclosing(source):
        async for chunk in source:
            if left <= 0:
                break
            left -= 1
            yield chunk
    yield {"error": {"message": ENGINE_DIED, "type": "InternalServerError", "param": None, "code": 500}}


async def drop_mid_stream(source: AsyncGenerator[bytes], arg: str) -> AsyncGenerator[bytes]:
    """WIRE-06, WIRE-07: the connection is closed after arg events (5); no finish, no `[DONE]`.

    https://github.com/justrach/codegraff/pull/146 · https://github.com/2389-research/tracker/issues/544
    """
    async with aclosing(_cut(source, arg)) as events:
        async for event in events:
            yield event
    raise Dropped(reset=False)


async def reset(source: AsyncGenerator[bytes], arg: str) -> AsyncGenerator[bytes]:
    """WIRE-06: the connection is reset after arg events (5).

    https://github.com/dotflow-io/pycodeloop/issues/64
    """
    async with aclosing(_cut(source, arg)) as events:
        async for event in events:
            yield event
    raise Dropped(reset=True)


async def heartbeats_only(source: AsyncGenerator[bytes], arg: str) -> AsyncGenerator[bytes]:
    """WIRE-09: a stream of comments only, then `[DONE]`.

    https://github.com/coder/coder/pull/26005
    """
    await source.aclose()
    for _ in range(HEARTBEATS):
        yield b": waiting\n\n"
    yield DONE


async def crlf(source: AsyncGenerator[bytes], arg: str) -> AsyncGenerator[bytes]:
    """WIRE-01: lines end with CR LF.

    https://github.com/hey-api/hey-api/issues/3054
    """
    async with aclosing(source):
        async for event in source:
            yield event.replace(b"\n", b"\r\n")


async def byte_by_byte(source: AsyncGenerator[bytes], arg: str) -> AsyncGenerator[bytes]:
    """WIRE-03: each byte is written by itself, so events and characters are cut everywhere.

    https://github.com/kubernetes-sigs/inference-perf/pull/781
    """
    async with aclosing(source):
        async for event in source:
            for at in range(len(event)):
                yield event[at : at + 1]


async def silent(source: AsyncGenerator[bytes], arg: str) -> AsyncGenerator[bytes]:
    """WIRE-10: headers at once, then nothing for arg seconds (30), as in a long prefill.

    https://github.com/cline/cline/pull/12839
    """
    async with aclosing(source):
        await asyncio.sleep(float(arg or DEFAULT_SILENCE_SECONDS))
        async for event in source:
            yield event


async def _cut(source: AsyncGenerator[bytes], arg: str) -> AsyncGenerator[bytes]:
    left = int(arg or DEFAULT_EVENTS)
    async with aclosing(source):
        async for event in source:
            if left <= 0:
                return
            left -= 1
            yield event


def _pieces(chunk: Chunk) -> list[dict[str, Any]]:
    """The call pieces of a chunk, to change in place; an empty list if it has none."""
    choices = chunk.get("choices")
    return choices[0]["delta"].get("tool_calls", []) if choices else []


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


CHUNK_FAULTS: Mapping[str, ChunkFault] = {
    "null-arguments": null_arguments,
    "same-index": same_index,
    "no-ids": no_ids,
    "double-object": double_object,
    "early-brace": early_brace,
    "calls-merged": calls_merged,
    "counts-off": counts_off,
    "error-in-stream": error_in_stream,
}
BYTE_FAULTS: Mapping[str, ByteFault] = {
    "drop-mid-stream": drop_mid_stream,
    "reset": reset,
    "heartbeats-only": heartbeats_only,
    "crlf": crlf,
    "byte-by-byte": byte_by_byte,
    "silent": silent,
}
