"""Plays a scripted run: the real agent before a server on a real socket that says what the script says.

The server behaves as vLLM does where it matters for guards: a reply ends at `max_tokens`, running token counts are sent
where asked for, a thought that is closed by hand is followed by content, and thinking that is off is not written.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, cast

from pool.events import GuardFired
from tests.cases.driver import (
    DONE,
    MODEL,
    WINDOW_TOKENS,
    Json,
    Run,
    chunk,
    delta,
    driving,
    objection,
    whole,
)
from tests.guards.script import SOFT_NOTES, Case, Say
from tests.wire.scripted import Exchange, ScriptedServer

TOKENS_A_CHUNK = 8
"""As with speculative decoding: a chunk brings several tokens."""

LAST_WORD = "So far: I looked at it. Not done: the rest. Nothing was verified."
_TOKEN = re.compile(r"[\u3000-\u9fff\uff00-\uffef]|\s?[^\s\u3000-\u9fff\uff00-\uffef]{1,5}|\s")


def tokens_of(text: str) -> list[str]:
    """A text in pieces of about a token: five letters, or one Japanese character."""
    return _TOKEN.findall(text)


@dataclass(slots=True)
class Played:
    """What became of a case: its run, the requests, and the tokens of thought that the server wrote."""

    case: Case
    run: Run
    bodies: list[Json]
    thought_tokens: int
    complaints: list[str]

    @property
    def fired(self) -> list[tuple[str, str]]:
        """Guard and action of each firing."""
        return [(g.guard, g.action) for g in self.run.of(GuardFired)]

    @property
    def noting(self) -> frozenset[str]:
        """Guards that fired."""
        return frozenset(guard for guard, _ in self.fired)

    @property
    def hard(self) -> list[tuple[str, str]]:
        """Firings that are more than a soft note."""
        return [(guard, action) for guard, action in self.fired if action != "note" or guard not in SOFT_NOTES]

    def faults(self) -> list[str]:
        """What is not as the case asks; empty if all is well."""
        case, out = self.case, list(self.complaints)
        if self.run.reason is not case.stop:
            out.append(f"ended with {self.run.reason.value} ({self.run.finished.detail}), not {case.stop.value}")
        if case.requests and len(self.bodies) > case.requests:
            out.append(f"took {len(self.bodies)} requests, at most {case.requests} are allowed")
        if case.thought_tokens and self.thought_tokens > case.thought_tokens:
            out.append(f"took {self.thought_tokens} tokens of thought, at most {case.thought_tokens} are allowed")
        if case.honest and self.hard:
            out.append(f"was touched: {self.hard}")
        if case.honest and self.noting != case.notes:
            out.append(f"saw notes of {sorted(self.noting)}, not of {sorted(case.notes)}")
        return out


class ScriptServer(ScriptedServer):
    """A model server for one case. complaints: what a strict server would have refused."""

    def __init__(self, case: Case) -> None:
        super().__init__(self._answer)
        self._case = case
        self._next = 0
        self._said = Say()
        self._calls = count(1)
        self.bodies: list[Json] = []
        self.complaints: list[str] = []
        self.thought_tokens = 0

    async def _answer(self, exchange: Exchange) -> None:
        if exchange.method == "GET":
            found = exchange.path.endswith("/models")
            model = {"id": MODEL, "owned_by": "vllm", "max_model_len": WINDOW_TOKENS}
            await exchange.reply_json({"object": "list", "data": [model]} if found else {}, 200 if found else 404)
            return
        body = cast(Json, json.loads(exchange.body))
        self.bodies.append(body)
        if complaint := objection(body, None):
            self.complaints.append(complaint)
        await self._play(exchange, self._reply_to(body), body)

    def _reply_to(self, body: Json) -> Say:
        if body.get("tool_choice") == "none":
            return Say(content=LAST_WORD)
        goes_on = bool(body.get("continue_final_message"))
        thinks = bool(body["chat_template_kwargs"]["enable_thinking"])
        if goes_on and self._said.instead is not None:
            say = self._said.instead
        else:
            say = self._said = self._following()
            if not goes_on and not thinks and say.instead is not None:
                say = say.instead
        if goes_on or not thinks:
            say = replace(say, thought="", endless=say.endless if say.endless_in == "content" else None)
        return say

    def _following(self) -> Say:
        turns = self._case.turns
        self._next += 1
        if self._next <= len(turns):
            return turns[self._next - 1]
        if self._case.then is None:
            self.complaints.append("the script is over and the client asks on")
            return Say(content="The script is over.")
        return self._case.then

    async def _play(self, exchange: Exchange, say: Say, body: Json) -> None:
        writer = _Writer(exchange, body, self._case.pace)
        await exchange.start()
        try:
            full = await writer.text("reasoning", _endless(say, "thought") if say.endless else tokens_of(say.thought))
            self.thought_tokens += writer.written
            content = (
                _endless(say, "content") if say.endless_in == "content" and say.endless else tokens_of(say.content)
            )
            full = full or await writer.text("content", content)
        except ConnectionError:
            self.thought_tokens += writer.written
            raise
        if not full:
            full = await writer.calls(say, self._calls)
        reason = "length" if full else say.finish or ("tool_calls" if say.calls else "stop")
        await writer.end(reason)


def _endless(say: Say, where: str) -> Iterator[str]:
    if say.endless is None or say.endless_in != where:
        yield from tokens_of(say.thought if where == "thought" else say.content)
        return
    yield from tokens_of(say.thought if where == "thought" else say.content)
    for i in count():
        yield from tokens_of(say.endless(i))


class _Writer:
    """Writes one reply token by token, up to the request's `max_tokens`."""

    def __init__(self, exchange: Exchange, body: Json, pace: float) -> None:
        self._exchange = exchange
        self._limit = int(body["max_tokens"])
        self._prompt = len(exchange.body) // 4
        self._counts = bool(body["stream_options"].get("continuous_usage_stats"))
        self._pace = pace
        self.written = 0

    async def text(self, field_name: str, tokens: Iterator[str] | Sequence[str]) -> bool:
        """Write tokens; True if the limit was reached before their end."""
        waiting: list[str] = []
        for token in tokens:
            waiting.append(token)
            if len(waiting) == min(TOKENS_A_CHUNK, self._limit - self.written):
                await self._flush(field_name, waiting)
            if self.written >= self._limit:
                return True
        await self._flush(field_name, waiting)
        return False

    async def calls(self, say: Say, numbers: count[int]) -> bool:
        """Write the calls; True if the limit was reached inside one."""
        for index, item in enumerate(say.calls):
            size = len(tokens_of(json.dumps(dict(item.arguments), ensure_ascii=False)))
            if self.written + size > self._limit:
                await self._cut_call(index, item.name, f"call_{next(numbers)}", dict(item.arguments))
                return True
            self.written += size
            event = whole(item.name, f"call_{next(numbers)}", index=index, **dict(item.arguments))
            await self._exchange.chunk(event)
        return False

    async def _cut_call(self, index: int, name: str, call_id: str, arguments: dict[str, Any]) -> None:
        text = json.dumps(arguments, ensure_ascii=False)
        half = {"name": name, "arguments": text[: len(text) // 2]}
        await self._exchange.chunk(
            delta(tool_calls=[{"index": index, "id": call_id, "type": "function", "function": half}])
        )
        self.written = self._limit

    async def end(self, reason: str) -> None:
        await self._exchange.chunk(
            chunk({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": None})
        )
        await self._exchange.chunk(chunk({"choices": [], "usage": self._usage()}))
        await self._exchange.chunk(DONE)
        await self._exchange.finish()

    async def _flush(self, field_name: str, waiting: list[str]) -> None:
        if not waiting:
            return
        self.written += len(waiting)
        value: Json = {"choices": [{"index": 0, "delta": {field_name: "".join(waiting)}, "finish_reason": None}]}
        if self._counts:
            value["usage"] = self._usage()
        waiting.clear()
        await self._exchange.chunk(chunk(value))
        # A server that writes without end must not starve the client, which runs on the same loop.
        await asyncio.sleep(TOKENS_A_CHUNK / self._pace if self._pace else 0)

    def _usage(self) -> Json:
        completion = max(1, self.written)
        return {
            "prompt_tokens": self._prompt,
            "completion_tokens": completion,
            "total_tokens": self._prompt + completion,
        }


async def play(case: Case, workspace: Path) -> Played:
    """Play a case in a workspace that is made."""
    workspace.mkdir(exist_ok=True)
    for name, text in case.files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    async with ScriptServer(case) as server, driving(server.url, workspace, **{"model": "", **case.settings}) as driver:
        run = await driver.run(case.prompt)
    return Played(case, run, server.bodies, server.thought_tokens, server.complaints)
