"""The person at the editor, as the agent sees one: approvals and questions go there as requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pool.acp.toolcalls import diff_parts, fenced, kind_of, locations_of, one_title, text_content
from pool.agent.commands import Ask
from pool.agent.ids import new_id
from pool.extend.acp.errors import Gone, RpcError
from pool.extend.acp.peer import Peer
from pool.facekit.approving import choices
from pool.ports import Answer, ApprovalAnswer, ApprovalRequest, Question, Remember

Json = dict[str, Any]

NO = "reject"
CANCELLED = ""
"""What was chosen where the client has taken the question back, with the turn."""

_GONE = ApprovalAnswer(False, "program", "The editor could not be asked.")


@dataclass(slots=True)
class Person:
    """title gives what a call was announced as; tell sends an update of the session; caught_up waits until the client
    has been told all that a question is about; cancel ends the turn.
    """

    peer: Peer
    session: Callable[[], str]
    folder: Callable[[], Path]
    title: Callable[[str], str]
    tell: Callable[[Json], object]
    caught_up: Callable[[], Awaitable[None]]
    cancel: Callable[[], object]
    forms: bool = False
    """The client shows forms, so answers in own words can be given."""

    # -- approvals

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """The answer to an approval, with its reach."""
        await self.caught_up()
        options = [_option(c.remember.value, c.words, once=c.remember is Remember.ONCE) for c in choices(request)]
        options.append({"optionId": NO, "name": "no", "kind": "reject_once"})
        try:
            chosen = await self._permitted(self._call_of(request), options)
        except (RpcError, Gone):
            return _GONE
        if chosen == CANCELLED:
            self.cancel()
            return ApprovalAnswer(False, "person", "The user has cancelled.")
        if chosen not in set(Remember):
            return ApprovalAnswer(False, "person")
        return ApprovalAnswer(True, "person", remember=Remember(chosen))

    def _call_of(self, request: ApprovalRequest) -> Json:
        """What is shown with the question: exactly what would be done, why it asks, what holds it."""
        folder = self.folder()
        path = request.arguments.get("path")
        if request.preview_kind == "diff" and isinstance(path, str):
            content = [{"type": "diff", "path": str(folder / path), **part} for part in diff_parts(request.preview)]
        else:
            content = [fenced(request.preview)] if request.preview else []
        # Editors read it as Markdown, where a single line end joins two lines.
        reasons = "\n\n".join(line for line in (request.why, request.policy) if line)
        if reasons:
            content.append(text_content(reasons))
        # A later step of a call has more behind the call's id.
        call = request.call_id if self.title(request.call_id) else request.call_id.rpartition(".")[0]
        is_command = request.preview_kind == "command" and request.preview
        return {
            "toolCallId": call or request.call_id,
            "title": one_title(request.preview) if is_command else self.title(call) or request.name,
            "kind": kind_of(request.name, request.effect),
            "status": "pending",
            "content": content,
            "locations": locations_of(request.arguments, folder),
            "rawInput": dict(request.arguments),
        }

    # -- questions

    async def question(self, question: Question) -> Answer | None:
        """An answer to what the model asks; None where nobody gives one."""
        await self.caught_up()
        try:
            if self.forms and question.free_text:
                return await self._form(question)
            if not question.choices:
                return None
            chosen = await self.choose(question.text, question.choices)
        except (RpcError, Gone):
            return None
        return None if chosen is None else Answer(question.choices[chosen])

    async def _form(self, question: Question) -> Answer | None:
        answer: Json = {"type": "string", "title": "Answer"}
        if question.choices:
            answer["description"] = "One of these, or other words: " + "; ".join(question.choices)
        given = await self.peer.request(
            "elicitation/create",
            {
                "sessionId": self.session(),
                "mode": "form",
                "message": question.text,
                "requestedSchema": {"type": "object", "properties": {"answer": answer}, "required": ["answer"]},
            },
        )
        row = cast(Json, given) if isinstance(given, dict) else Json()
        content = row.get("content")
        text = cast(Json, content).get("answer") if isinstance(content, dict) else None
        return Answer(text) if row.get("action") == "accept" and isinstance(text, str) and text.strip() else None

    async def pick(self, ask: Ask) -> str:
        """The command behind the choice that is made, "" for none. Raises `Gone` and `RpcError`."""
        chosen = await self.choose(ask.text, [choice.label for choice in ask.choices])
        return "" if chosen is None else ask.choices[chosen].line

    async def choose(self, text: str, labels: Sequence[str], kind: str = "other") -> int | None:
        """The number of the label that is chosen, None if none is. Raises `Gone` and `RpcError`.

        The protocol has no question but that for a permission, so it is put as one.
        """
        last = len(labels) - 1
        options = [
            {"optionId": str(n), "name": label, "kind": "reject_once" if n == last else "allow_once"}
            for n, label in enumerate(labels)
        ]
        title, _, more = text.partition("\n")
        call: Json = {"toolCallId": f"question-{new_id()}", "title": title, "kind": kind, "status": "pending"}
        if more.strip():
            call["content"] = [text_content(more.strip())]
        self.tell({"sessionUpdate": "tool_call", **call})
        number: int | None = None
        try:
            chosen = await self._permitted(call, options)
            number = int(chosen) if chosen.isascii() and chosen.isdecimal() and int(chosen) <= last else None
            return number
        finally:
            content = [text_content(labels[number] if number is not None else "no answer")]
            done = {"toolCallId": call["toolCallId"], "status": "completed", "content": content}
            self.tell({"sessionUpdate": "tool_call_update", **done})

    async def consents(self, text: str) -> bool:
        """Whether the answer to a question is yes; no where it cannot be put."""
        try:
            return await self.choose(text, ("yes", "no")) == 0
        except (RpcError, Gone):
            return False

    async def _permitted(self, call: Json, options: list[Json]) -> str:
        """The id of the option that is chosen."""
        params = {"sessionId": self.session(), "toolCall": call, "options": options}
        given = await self.peer.request("session/request_permission", params)
        outcome = cast(Json, given).get("outcome") if isinstance(given, dict) else None
        row = cast(Json, outcome) if isinstance(outcome, dict) else Json()
        if row.get("outcome") != "selected":
            return CANCELLED
        return str(row.get("optionId") or NO)


def _option(option: str, words: str, *, once: bool) -> Json:
    return {"optionId": option, "name": words, "kind": "allow_once" if once else "allow_always"}
