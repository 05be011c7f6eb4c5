"""From a log's rows back to what a session needs: its messages' exact bytes, its head, and where counting goes on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pool.messages import Encoded, Message, ReasoningField, Role, ToolCall
from pool.sessions.mend import acceptable
from pool.sessions.rewinds import effective
from pool.sessions.totals import Tally, Totals
from pool.sessions.workrows import WorkRows


@dataclass(slots=True)
class Resumed:
    """What a log says. messages are in order, the system message first; head is the last head's JSON text.

    mode is the approval mode in which the session was left, "" if no run began. totals is what its runs have used,
    queued the prompts that still waited, work what it set out to do. left_out counts messages that a strict server
    would refuse because others beside them were lost with damaged lines.
    """

    messages: list[Encoded] = field(default_factory=list[Encoded])
    head: str = ""
    mode: str = ""
    next_seq: int = 0
    runs: int = 0
    left_out: int = 0
    totals: Totals = field(default_factory=Totals)
    queued: tuple[str, ...] = ()
    work: WorkRows = field(default_factory=WorkRows)


def resumed(rows: Iterable[dict[str, Any]]) -> Resumed:
    """Play the rows. Unknown kinds, and rows of subagents, are skipped; what was rewound has only cost tokens."""
    out = Resumed()
    tally = Tally()
    replacement: _Replacement | None = None
    every = list(rows)
    for row in every:
        seq = row.get("seq")
        out.next_seq = max(out.next_seq, seq + 1 if isinstance(seq, int) else 0)
        if not row.get("agent"):
            tally.take(row)
    for row in effective(every):
        if row.get("agent"):
            continue
        out.work.take(row)
        kind = row.get("type")
        if replacement is not None and (kind != "message.added" or not replacement.wanted):
            out.messages = replacement.outcome(out.messages)
            replacement = None
        match kind:
            case "head.set":
                out.head = str(row.get("head", ""))
            case "history.compacted":
                wanted = row.get("follow", -1)
                if isinstance(wanted, int) and wanted >= 0:
                    replacement = _Replacement(wanted, out.messages[:1])
                else:
                    del out.messages[1:]
            case "message.added":
                if replacement is not None:
                    replacement.wanted -= 1
                _take(row, out.messages if replacement is None else replacement.messages)
            case "run.started":
                out.runs += 1
                out.mode = str(row.get("mode", ""))
            case "mode.changed":
                out.mode = str(row.get("mode", ""))
            case "queue.changed":
                prompts: object = row.get("prompts")
                items = cast(list[object], prompts) if isinstance(prompts, list) else []
                out.queued = tuple(p for p in items if isinstance(p, str))
            case _:
                pass
    messages = out.messages if replacement is None else replacement.outcome(out.messages)
    out.messages = acceptable(messages)
    out.totals = tally.totals
    out.left_out = len(messages) - len(out.messages)
    return out


@dataclass(slots=True)
class _Replacement:
    """A compaction whose messages are being read; it counts once none is wanted any more."""

    wanted: int
    messages: list[Encoded]

    def outcome(self, before: list[Encoded]) -> list[Encoded]:
        return before if self.wanted else self.messages


def _take(row: dict[str, Any], messages: list[Encoded]) -> None:
    try:
        encoded = decode(str(row["text"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return
    if encoded.message.role is Role.SYSTEM:
        messages[:1] = [encoded] if _begins(messages) else [encoded, *messages[:1]]
        return
    if row.get("replaces_last") and messages and messages[-1].message.role is not Role.SYSTEM:
        messages.pop()
    messages.append(encoded)


def _begins(messages: Sequence[Encoded]) -> bool:
    return bool(messages) and messages[0].message.role is Role.SYSTEM


def decode(text: str) -> Encoded:
    """A message from its exact JSON, in OpenAI's or Ollama's form."""
    row: dict[str, Any] = json.loads(text)
    role = Role(row["role"])
    fields = [f for f in ("reasoning", "reasoning_content", "thinking") if row.get(f)]
    both = len(fields) > 1
    name = ReasoningField.BOTH if both else _FIELDS.get(fields[0] if fields else "", ReasoningField.NONE)
    calls: list[dict[str, Any]] = row.get("tool_calls") or []
    message = Message(
        role,
        row.get("content") or "",
        row.get(fields[0], "") if fields else "",
        name,
        tuple(_call(c) for c in calls),
        row.get("tool_call_id", ""),
        row.get("tool_name", ""),
    )
    return Encoded(message, text.encode())


_FIELDS = {
    "reasoning": ReasoningField.REASONING,
    "thinking": ReasoningField.REASONING,
    "reasoning_content": ReasoningField.REASONING_CONTENT,
}


def _call(row: dict[str, Any]) -> ToolCall:
    function: dict[str, Any] = row["function"]
    arguments = function.get("arguments", "{}")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(str(row.get("id", "")), str(function["name"]), text)
