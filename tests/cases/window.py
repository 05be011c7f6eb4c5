"""A model server whose answers depend on what it is sent, and that takes compacted histories."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import cast

from tests.cases.driver import Json, ModelServer, Step, objection
from tests.wire.scripted import Exchange

Plan = Callable[[Json, int], Step]


class WindowServer(ModelServer):
    """Answers each request as plan says, from its body and number. Compacted histories may come, invalid ones not."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._plan = plan

    async def _answer(self, exchange: Exchange) -> None:
        if exchange.method == "GET":
            await self._describe(exchange)
            return
        body = cast(Json, json.loads(exchange.body))
        self.bodies.append(body)
        if complaint := objection(body, None):
            self.complaints.append(complaint)
        await self._plan(body, len(self.bodies))(exchange)
