"""Rows of a new session, made from what another file tells: whatever that holds, strict servers take the history."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from pool.messages import Message, Role, ToolCall, encode, system, tool_result, user
from pool.sessions.export.fold import JOINT
from pool.sessions.replay import resumed

Row = dict[str, Any]

NO_RESULT = "No result of this call is recorded in the imported file."
BEGINS = "[Pool] The imported conversation begins with a reply."
GOES_ON = "[Pool] In the imported conversation another reply follows."


class ImportProblem(Exception):
    """A file cannot be imported. The message says where in it, what is wrong, and what was expected."""


@dataclass(slots=True)
class Incoming:
    """One session to be kept: its rows without the header, and what had to be changed, in sentences."""

    rows: list[Row] = field(default_factory=list[Row])
    notes: list[str] = field(default_factory=list[str])
    source: str = ""


@dataclass(slots=True)
class Place:
    """What the next rows carry in their envelope."""

    run: str = ""
    turn: int = 0
    wall: float = 0.0


class Builder:
    """Adds rows in the order of a real log. agent is a subagent's path, "" for the main agent."""

    def __init__(self, out: Incoming, agent: str = "") -> None:
        self.place = Place()
        self._out = out
        self._agent = agent
        self._last: Message | None = None
        self._any = False
        self._ids: dict[str, str] = {}
        self._open: list[tuple[str, str]] = []

    def event(self, kind: str, call: str = "", **fields: Any) -> None:
        """Add an event."""
        place = self.place
        row: Row = {"type": kind, "session": "", "run": place.run, "turn": place.turn, "seq": len(self._out.rows)}
        row |= {"wall": place.wall, "mono": 0.0, "v": 1}
        if self._agent:
            row["agent"] = self._agent
        if call:
            row["call"] = call
        self._out.rows.append({**row, **fields})

    @property
    def has_system(self) -> bool:
        """Whether the history has its system message."""
        return self._any

    def system(self, text: str) -> None:
        """The system message; a later one goes in as the user's, since strict servers take only one, at the front."""
        if self._last is not None or self._any:
            self.note("a system message inside the conversation was taken as the user's")
            self.user(f"[System] {text}")
            return
        self._any = True
        self._message(system(text))

    def user(self, text: str, *, replaces: bool = False) -> None:
        """A user message; joined to the one before it if that is the user's too."""
        self._close()
        last = self._last
        if last is None or last.role is not Role.USER:
            self._message(user(text))
        else:
            self._message(user(text if replaces else f"{last.content}{JOINT}{text}"), replaces_last=True)

    def assistant(self, message: Message) -> list[str]:
        """A reply; returns the ids of its calls as they are kept (an id that was used before is changed)."""
        self._close()
        if self._last is None or self._last.role is Role.SYSTEM:
            self.note("a user message was put in front of a first reply")
            self._message(user(BEGINS))
        elif self._last.role is Role.ASSISTANT:
            self.note("a user message was put between two replies in a row")
            self._message(user(GOES_ON))
        calls = tuple(ToolCall(self._new_id(c.id), c.name, c.arguments) for c in message.calls)
        self._open = [(c.id, c.name) for c in calls]
        self._message(Message(message.role, message.content, message.reasoning, message.reasoning_field, calls))
        return [c.id for c in calls]

    def result(self, call_id: str, text: str) -> None:
        """Answer a call that is open; calls before it that have no answer get one that says so."""
        if call_id not in [i for i, _ in self._open]:
            raise KeyError(call_id)
        while self._open:
            open_id, name = self._open.pop(0)
            found = open_id == call_id
            if not found:
                self.note("a call without a result got one that says so")
            self._message(tool_result(open_id, text if found else NO_RESULT, name))
            if found:
                return

    def compacted(self, before: int, after: int, detail: str, follow: int) -> None:
        """The history is replaced by the messages that follow."""
        self.event("history.compacted", before=before, after=after, detail=detail, follow=follow)
        self._ids.clear()
        self._open.clear()
        self._last = system("") if self._any else None

    def rewound(self, seq: int, prompt: int, why: str) -> None:
        """The history is again as it was before the row of that number."""
        self._close()
        rows = [r for r in self._out.rows if r.get("agent", "") == self._agent]
        self.event("rewound", to_seq=seq, prompt=prompt, why=why)
        messages = resumed([*rows, self._out.rows[-1]]).messages
        self._last = messages[-1].message if messages else None
        self._ids = {c.id: c.id for m in messages for c in m.message.calls}

    def note(self, text: str) -> None:
        """Say what had to be changed, once."""
        if text not in self._out.notes:
            self._out.notes.append(text)

    def _close(self) -> None:
        if self._open:
            self.result(self._open[-1][0], NO_RESULT)
            self.note("a call without a result got one that says so")

    def _new_id(self, wanted: str) -> str:
        new = wanted or "call"
        number = 1
        while new in self._ids:
            number += 1
            new = f"{wanted or 'call'}-{number}"
        if new != wanted:
            self.note("ids of calls that were used twice were changed")
        self._ids[new] = wanted
        return new

    def _message(self, message: Message, *, replaces_last: bool = False) -> None:
        encoded = encode(message)
        text = encoded.data.decode()
        self.event("message.added", role=message.role.value, text=text, replaces_last=replaces_last)
        self._last = message


def arguments_text(value: Any, where: str) -> str:
    """A call's arguments as JSON text. Raises `ImportProblem` if they are no object."""
    if isinstance(value, str):
        try:
            parsed: Any = json.loads(value or "{}")
        except (ValueError, RecursionError) as error:
            raise ImportProblem(f"{where}: the arguments are no JSON ({error})") from None
        if not isinstance(parsed, dict):
            raise ImportProblem(f"{where}: the arguments must be a JSON object, not {kind_of(parsed)}")
        return value or "{}"
    if not isinstance(value, dict):
        raise ImportProblem(f"{where}: an object is expected, not {kind_of(value)}")
    return json.dumps(value, ensure_ascii=False)


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    match value:
        case None:
            return "nothing (null)"
        case bool():
            return "true or false"
        case dict():
            return "an object"
        case list():
            return "a list"
        case str():
            return "a text"
        case _:
            return "a number"


def field_at(row: Any, key: str, kind: type[str | list[Any] | Row], where: str, *, needed: bool = True) -> Any:
    """A field of an object with its type checked; None if it is missing and not needed. Raises `ImportProblem`."""
    if not isinstance(row, dict):
        raise ImportProblem(f"{where}: an object is expected, not {kind_of(row)}")
    value: Any = cast(Row, row).get(key)
    if value is None:
        if needed:
            raise ImportProblem(f"{where}: the field {key!r} is missing")
        return None
    if not isinstance(value, kind):
        wanted = kind_of(kind())
        raise ImportProblem(f"{where}.{key}: {wanted} is expected, not {kind_of(value)}")
    return cast(Any, value)


def content_text(value: Any, where: str, note: Callable[[str], object]) -> str:
    """Content as text: a text, nothing, or a list of parts, of which only text is kept. Raises `ImportProblem`."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise ImportProblem(f"{where}: a text or a list of parts is expected, not {kind_of(value)}")
    out: list[str] = []
    for i, part in enumerate(cast(list[Any], value)):
        kind = field_at(part, "type", str, f"{where}[{i}]")
        if kind in ("text", "input_text", "output_text"):
            out.append(field_at(part, "text", str, f"{where}[{i}]"))
        else:
            out.append(f"[{kind} left out]")
            note("pictures and sound were left out")
    return "\n".join(out)
