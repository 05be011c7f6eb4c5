"""What a model says that reviews, and a server for it."""

from __future__ import annotations

import json
from typing import Any

from tests.cases.driver import ModelServer, Step, delta, finish, say, usage
from tests.wire.scripted import Exchange


class Anew(ModelServer):
    """A server for which each request may begin a conversation of its own."""

    async def _answer(self, exchange: Exchange) -> None:
        if exchange.method == "GET":
            await self._describe(exchange)
            return
        self.bodies.append(json.loads(exchange.body))
        self.chats.append(exchange)
        await self.steps[len(self.bodies) - 1](exchange)


def long_answer(text: str) -> Step:
    """An answer to a prompt of several thousand tokens."""
    return say(delta(role="assistant", content=""), delta(content=text), finish("stop"), usage(3_000, 50))


def finding(file: str, line: int, severity: str = "high", **more: Any) -> dict[str, Any]:
    words = {"severity": severity, "kind": "correctness", "title": "It is wrong", "reason": "For 0 it fails."}
    return {"file": file, "line": line, **words, **more}


def report(*findings: dict[str, Any], summary: str = "") -> str:
    return json.dumps({"findings": findings, "summary": summary})
