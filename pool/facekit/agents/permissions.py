"""What an agent asks leave for, put to the person in the panel that Pool's own calls have."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pool.events import ApprovalAsked, ApprovalGiven, Body, SuggestedRule
from pool.extend.acp.errors import INTERNAL_ERROR, RpcError, bad_params
from pool.facekit.agents.translating import EFFECTS, Call, Json, Translator, row_of, rows_of
from pool.facekit.clean import one_line
from pool.ports import ApprovalAnswer, ApprovalRequest, Approver, Question, Questioner, Remember

OPEN_MOST = 50
"""So many questions may wait at once; an agent that asks more is refused."""

WHY = "the agent asks; it works outside Pool's sandbox, and nothing of Pool's holds what it runs"

CANCELLED: Json = {"outcome": {"outcome": "cancelled"}}

Tell = Callable[[Body, str], object]


class Permissions:
    """Of one session. tell gets events, with the id of the call that each belongs to."""

    def __init__(self, approver: Approver, calls: Translator, folder: Path, tell: Tell) -> None:
        self._approver = approver
        self._calls = calls
        self._folder = folder
        self._tell = tell
        self._open: set[asyncio.Task[ApprovalAnswer | str | None]] = set()
        self._exact: set[str] = set()
        self._number = 0

    def cancel(self) -> None:
        """Whatever waits is answered as cancelled: the turn is."""
        for task in self._open:
            task.cancel()

    async def asked(self, params: Json) -> Json:
        """The answer to `session/request_permission`. Raises `RpcError`."""
        options = [one for one in rows_of(params.get("options")) if isinstance(one.get("optionId"), str)]
        if not options:
            raise bad_params("`options` names nothing to choose")
        if len(self._open) >= OPEN_MOST:
            raise RpcError(INTERNAL_ERROR, f"more than {OPEN_MOST} questions wait for an answer")
        call, new = self._calls.call_of(row_of(params.get("toolCall")))
        if new:
            self._tell(call.proposed(self._folder), call.id)
        self._number += 1
        once = [one for one in options if one.get("kind") == "allow_once"]
        if len(once) > 1 and isinstance(self._approver, Questioner):
            return await self._choose(self._approver, call, options)
        return await self._approve(call, options)

    async def _approve(self, call: Call, options: list[Json]) -> Json:
        by_kind = {str(one.get("kind")): one for one in reversed(options)}
        once, always = by_kind.get("allow_once"), by_kind.get("allow_always")
        key = json.dumps([call.kind, call.title, call.arguments, list(call.content)], sort_keys=True, default=str)
        id_ = f"{call.id}.{self._number}"
        request = self._request(call, id_, always)
        if key in self._exact and once is not None:
            return _selected(once)
        rules = request.rules
        self._tell(
            ApprovalAsked(call.name, WHY, id_, request.effect, request.preview_kind, request.preview, rules), call.id
        )
        answer = await self._wait(self._approver.ask(request))
        if not isinstance(answer, ApprovalAnswer):
            self._tell(ApprovalGiven(False, "person", "the run was stopped", id_), call.id)
            return CANCELLED
        self._tell(ApprovalGiven(answer.allowed, answer.by, answer.reason, id_), call.id)
        if not answer.allowed:
            no = by_kind.get("reject_once") or by_kind.get("reject_always")
            return _selected(no) if no is not None else CANCELLED
        if answer.remember is Remember.EXACT:
            self._exact.add(key)
        wide = answer.remember in (Remember.SIMILAR, Remember.ALWAYS)
        yes = (always if wide else once) or once or always
        return _selected(yes) if yes is not None else CANCELLED

    def _request(self, call: Call, id_: str, always: Json | None) -> ApprovalRequest:
        kind, preview = call.preview(self._folder)
        preview = preview or call.text() or "\n".join(_lines(call))
        words = one_line(str(always.get("name") or "always")) if always is not None else ""
        rules = (SuggestedRule("the agent's own", f"the agent's {words!r}"),) if words else ()
        effect = EFFECTS.get(call.kind, "read")
        return ApprovalRequest(id_, call.name, call.arguments, effect, kind, preview, WHY, rules)

    async def _choose(self, questioner: Questioner, call: Call, options: list[Json]) -> Json:
        """Several ways to say yes: a question with answers of the agent's own."""
        names = [f"{n}. {one_line(str(one.get('name') or one['optionId']))}" for n, one in enumerate(options, 1)]
        text = "\n".join([call.title or call.name, call.text()]).strip()
        chosen = await self._wait(self._picked(questioner, Question(call.id, text, tuple(names), free_text=False)))
        return _selected(options[names.index(chosen)]) if isinstance(chosen, str) and chosen in names else CANCELLED

    @staticmethod
    async def _picked(questioner: Questioner, question: Question) -> str | None:
        answer = await questioner.question(question)
        return answer.text if answer is not None else None

    async def _wait(self, asking: Any) -> ApprovalAnswer | str | None:
        """The answer; None if the turn is cancelled meanwhile."""
        task: asyncio.Task[ApprovalAnswer | str | None] = asyncio.create_task(asking)
        self._open.add(task)
        try:
            await asyncio.wait({task})
            return None if task.cancelled() else task.result()
        finally:
            task.cancel()
            self._open.discard(task)


def _lines(call: Call) -> list[str]:
    """What is known of a call of which there is no preview."""
    return [call.title, *(f"{name}: {value}" for name, value in call.arguments.items())]


def _selected(option: Json) -> Json:
    return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
