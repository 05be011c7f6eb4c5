"""From a log's rows back to what a session needs: its messages' exact bytes, its head, and where counting goes on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pool.messages import Encoded, Message, ReasoningField, Role, ToolCall
from pool.sessions.mend import acceptable
from pool.sessions.rewinds import Prompt, effective, prompt_of
from pool.sessions.totals import Tally, Totals
from pool.sessions.workrows import WorkRows


@dataclass(slots=True)
class Resumed:
    """What a log says. messages are in order, the system message first; head is the last head's JSON text.

    mode is the approval mode in which the session was left, "" if no run began. totals is what its runs have used,
    queued the prompts that still waited, work what it set out to do. left_out counts messages that a strict server
    would refuse because others beside them were lost with damaged lines. starts are the prompts whose messages can be
    told from those before them, each with the place in messages where they begin.
    """

    messages: list[Encoded] = field(default_factory=list[Encoded])
    head: str = ""
    model: str = ""
    """The model that was switched to last, as `PROFILE:ID`, "" if none was."""
    mode: str = ""
    next_seq: int = 0
    runs: int = 0
    left_out: int = 0
    totals: Totals = field(default_factory=Totals)
    queued: tuple[str, ...] = ()
    work: WorkRows = field(default_factory=WorkRows)
    starts: list[tuple[int, Prompt]] = field(default_factory=list[tuple[int, Prompt]])

    def replace(self, messages: list[Encoded]) -> None:
        """Other messages stand in the place of these: their prompts cannot be told any more."""
        if messages is not self.messages:
            self.messages = messages
            self.starts.clear()


def resumed(rows: Iterable[dict[str, Any]]) -> Resumed:
    """Play the rows. Unknown kinds, and rows of subagents, are skipped; what was rewound has only cost tokens."""
    out = Resumed()
    every = list(rows)
    out.totals = _totals(every, out)
    replacement: _Replacement | None = None
    for row in effective(every):
        if row.get("agent"):
            continue
        out.work.take(row)
        kind = row.get("type")
        if replacement is not None and (kind != "message.added" or not replacement.wanted):
            out.replace(replacement.outcome(out.messages))
            replacement = None
        if kind == "history.compacted":
            wanted = row.get("follow", -1)
            if isinstance(wanted, int) and wanted >= 0:
                replacement = _Replacement(wanted, out.messages[:1])
            else:
                out.replace(out.messages[:1])
        elif kind != "message.added":
            _note(row, out)
        elif replacement is not None:
            replacement.wanted -= 1
            _take(row, replacement.messages)
        else:
            _take(row, out.messages)
            # A message in the place of one from before its prompt belongs to both.
            while out.starts and out.starts[-1][0] > len(out.messages) - bool(row.get("replaces_last")):
                out.starts.pop()
    if replacement is not None:
        out.replace(replacement.outcome(out.messages))
    messages = out.messages
    out.messages = acceptable(messages)
    out.left_out = len(messages) - len(out.messages)
    if out.left_out:
        out.starts.clear()
    return out


def _totals(rows: Iterable[dict[str, Any]], out: Resumed) -> Totals:
    """What all rows have used, also what was rewound; out is told the model, and where counting goes on."""
    tally = Tally()
    for row in rows:
        seq = row.get("seq")
        out.next_seq = max(out.next_seq, seq + 1 if isinstance(seq, int) else 0)
        if not row.get("agent"):
            tally.take(row)
        if row.get("type") == "setting.changed" and row.get("name") == "model":
            out.model = str(row.get("value", ""))
    return tally.totals


def _note(row: dict[str, Any], out: Resumed) -> None:
    """Take what a row says beside messages."""
    match row.get("type"):
        case "head.set":
            out.head = str(row.get("head", ""))
        case "run.started":
            out.runs += 1
            out.mode = str(row.get("mode", ""))
            out.starts.append((len(out.messages), prompt_of(row)))
        case "prompt.copied":
            out.starts.append((len(out.messages), prompt_of(row)))
        case "mode.changed":
            out.mode = str(row.get("mode", ""))
        case "queue.changed":
            prompts: object = row.get("prompts")
            items = cast(list[object], prompts) if isinstance(prompts, list) else []
            out.queued = tuple(p for p in items if isinstance(p, str))
        case _:
            pass


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
