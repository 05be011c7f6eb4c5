"""Chunks and bodies with the keys, their order and their nulls as vLLM 0.25.1 sends them (recordings 01 to 55)."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from pool.sim.calls import CallPiece
from pool.sim.engine import Step
from pool.sim.parser import Delta, StreamParser, WholeMessage, parse_whole
from pool.sim.request import ChatRequest
from pool.sim.version import VERSION

FINGERPRINT = f"vllm-{VERSION}-simulated"
DONE = b"data: [DONE]\n\n"

Chunk = dict[str, Any]
"""One event of a stream, before it is encoded."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the chunks or the body of one reply need to know besides the steps.

    plain, deaf: the reasoning or the call parser passes everything. finish: told instead of the true finish reason.
    """

    request: ChatRequest
    model: str
    prompt_tokens: int
    prompt_text: str
    thought_open: bool
    tell_cached: bool
    plain: bool = False
    deaf: bool = False
    finish: str = ""
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(8)}")
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def schemas(self) -> dict[str, dict[str, Any]] | None:
        """The tools whose calls are parsed; None if markup is passed as text."""
        if self.deaf or not self.request.calls_allowed:
            return None
        functions: list[dict[str, Any]] = [tool.get("function") or {} for tool in self.request.tools]
        return {str(function.get("name")): function.get("parameters") or {} for function in functions}

    @property
    def named(self) -> bool:
        """Whether one tool was asked for by name; vLLM then says `stop` even with a call (recording 39)."""
        return self.request.tool_choice not in ("auto", "none", "required")


async def stream(answer: Answer, steps: AsyncGenerator[Step]) -> AsyncGenerator[Chunk]:
    """The chunks of a streamed reply, without the closing `[DONE]`."""
    request = answer.request
    parser = StreamParser(answer.thought_open and not answer.plain, answer.schemas)
    begun, last = False, None
    async with aclosing(steps) as source:
        async for step in source:
            if not begun:
                begun = True
                yield _role_chunk(answer)
            last = step
            delta = parser.feed(step.text, last=bool(step.finish))
            if delta is None:
                continue
            shown = _delta(delta, request)
            if shown or step.finish:
                yield _delta_chunk(answer, shown, step, parser.called)
    if request.include_usage and last is not None:
        usage = _usage(answer, last.completion)
        if answer.tell_cached:
            usage["prompt_tokens_details"] = {"cached_tokens": last.cached}
        yield {**_head(answer), "choices": [], "usage": usage, "system_fingerprint": FINGERPRINT}


async def whole(answer: Answer, steps: AsyncGenerator[Step]) -> Chunk:
    """The body of a reply that is not streamed."""
    text, last = "", Step("", 0, 0)
    async with aclosing(steps) as source:
        async for step in source:
            text += step.text
            last = step
    thinking = answer.request.thinking is True and not answer.plain
    message = parse_whole(text, thinking, answer.schemas)
    usage = _usage(answer, last.completion)
    usage["prompt_tokens_details"] = {"cached_tokens": last.cached} if answer.tell_cached else None
    return {
        "id": answer.id,
        "object": "chat.completion",
        "created": answer.created,
        "model": answer.model,
        "choices": [
            {
                "index": 0,
                "message": _whole_message(answer, message),
                "logprobs": None,
                "finish_reason": _finish_reason(answer, last, bool(message.calls)),
                "stop_reason": last.stop_reason,
                "token_ids": None,
                "routed_experts": None,
            }
        ],
        "service_tier": None,
        "system_fingerprint": FINGERPRINT,
        "usage": usage,
        "prompt_logprobs": None,
        "prompt_token_ids": None,
        "prompt_text": answer.prompt_text if answer.request.return_prompt_text else None,
        "kv_transfer_params": None,
        "metrics": None,
    }


def encode(chunk: Chunk) -> bytes:
    """One event. An error is written as Python's json does, everything else without blanks (recording 53)."""
    if "error" in chunk:
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"
    return b"data: " + compact(chunk) + b"\n\n"


def compact(value: object) -> bytes:
    """JSON as vLLM's bodies have it: no blanks, text as UTF-8; a lone surrogate stays escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def _head(answer: Answer) -> Chunk:
    return {"id": answer.id, "object": "chat.completion.chunk", "created": answer.created, "model": answer.model}


def _usage(answer: Answer, completion: int) -> dict[str, Any]:
    prompt = answer.prompt_tokens
    return {"prompt_tokens": prompt, "total_tokens": prompt + completion, "completion_tokens": completion}


def _role_chunk(answer: Answer) -> Chunk:
    choice = {"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}
    chunk = {**_head(answer), "choices": [choice]}
    if answer.request.continuous_usage:
        chunk["usage"] = _usage(answer, 0)
    prompt_text = answer.prompt_text if answer.request.return_prompt_text else None
    return {**chunk, "prompt_token_ids": None, "prompt_text": prompt_text}


def _delta_chunk(answer: Answer, delta: Chunk, step: Step, called: bool) -> Chunk:
    choice: Chunk = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
    if step.finish:
        choice |= {"finish_reason": _finish_reason(answer, step, called), "stop_reason": step.stop_reason}
    chunk: Chunk = {**_head(answer), "choices": [{**choice, "token_ids": None}]}
    if answer.request.continuous_usage:
        chunk["usage"] = _usage(answer, step.completion)
    if step.finish and not answer.request.include_usage:
        chunk["system_fingerprint"] = FINGERPRINT
    return chunk


def _finish_reason(answer: Answer, step: Step, called: bool) -> str:
    """vLLM 0.25.1 says `tool_calls` for any reply with a piece of a call, whatever really ended it (recording 27)."""
    if answer.finish:
        return answer.finish
    return "tool_calls" if called and not answer.named else step.finish


def _delta(delta: Delta, request: ChatRequest) -> Chunk:
    """Keys in vLLM's order: content, reasoning, tool_calls; content is null beside calls (recordings 02, 45)."""
    shown: Chunk = {}
    if delta.content is not None or delta.calls:
        shown["content"] = delta.content
    if delta.reasoning is not None and request.include_reasoning:
        shown["reasoning"] = delta.reasoning
    # With parallel calls off vLLM only leaves out the later calls' pieces, not their chunks (recording 40).
    pieces = [_piece(piece) for piece in delta.calls if request.parallel or piece.index == 0]
    if pieces:
        shown["tool_calls"] = pieces
    return shown


def _piece(piece: CallPiece) -> Chunk:
    if piece.name is None:
        return {"index": piece.index, "function": {"arguments": piece.arguments}}
    function = {"name": piece.name, "arguments": piece.arguments}
    return {"id": _call_id(), "type": "function", "index": piece.index, "function": function}


def _whole_message(answer: Answer, message: WholeMessage) -> Chunk:
    # Empty instead of null where a call was demanded (recordings 37, 39).
    demanded = answer.request.tool_choice != "auto" and message.calls
    content = "" if demanded and message.content is None else message.content
    body: Chunk = {"role": "assistant", "content": content, "refusal": None, "annotations": None}
    body |= {"audio": None, "function_call": None}
    calls = message.calls if answer.request.parallel else message.calls[:1]
    if calls:
        body["tool_calls"] = [
            {"id": _call_id(), "type": "function", "function": {"name": name, "arguments": arguments}}
            for name, arguments in calls
        ]
    return {**body, "reasoning": message.reasoning if answer.request.include_reasoning else None}


def _call_id() -> str:
    return f"chatcmpl-tool-{secrets.token_hex(8)}"
