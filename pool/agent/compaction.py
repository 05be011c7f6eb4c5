"""Compaction: a history that no longer fits becomes a short account of the work, and the last turn as it was.

The account is written by the model under `tool_choice: none`, at most `SUMMARY_TOKENS` long; if even that request does
not fit, old results are cut further, and in the end Pool writes the account itself from its books. It is an announced
break of the prompt's prefix, with its price.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pool.agent.history import History
from pool.agent.hub import EventHub
from pool.agent.state import RunState
from pool.agent.streaming import ReplyStream
from pool.events import Compacted
from pool.messages import Encoded, Message, Role, user
from pool.wire.errors import ProblemKind, ServerProblem

AT_SHARE = 0.8
"""Share of the window at which the history is compacted before the next turn."""

SUMMARY_TOKENS = 1500
KEPT_SHARE = 0.25
"""The last turn is kept as it was if it takes at most this share of the history that is replaced."""

SHRINK_STEPS = (2000, 200)
"""Characters to which results are cut for the summary's request, step by step, while it does not fit."""

HELPS_SHARE = 0.8
"""A compaction that leaves more than this share of the prompt did not help."""

_ASK = (
    "[Pool] The context is nearly full. Write an account of the work so far, from which you can go on without the "
    "conversation: the task in the user's words, what you found out, what you decided and why, files changed and how, "
    "commands and tests run with their results, and what is still open. At most 600 words. Plain text, no tool calls."
)
_INTRODUCTION = "[Pool] The conversation so far was replaced by this account. Read files again before edits."


class Compactor:
    """Makes room in one conversation's history. clear_ledger makes the tools forget which files were shown."""

    def __init__(self, replies: ReplyStream, hub: EventHub, clear_ledger: Callable[[], None]) -> None:
        self._replies = replies
        self._hub = hub
        self._clear_ledger = clear_ledger

    def due(self, history: History) -> bool:
        """Whether the next request would take more than `AT_SHARE` of the window."""
        window = self._replies.window
        return bool(window) and self._replies.estimate(history.data).upper > window * AT_SHARE

    async def compact(self, history: History, run: RunState, *, cut_first: bool) -> bool:
        """Replace the history; whether it became clearly smaller. cut_first: as it is, it is known not to fit."""
        before = self._replies.estimate(history.data).tokens
        account = await self._account(history, cut_first=cut_first) or _from_books(history, run)
        task = next(m.message.content for m in history.messages if m.message.role is Role.USER)
        text = f"{task}\n\n{_INTRODUCTION}\n\n{account.strip()}"
        last = _last_turn(history.messages)
        if sum(len(m.data) for m in last) > history.size * KEPT_SHARE:
            last = []
        history.replace([user(text)], last)
        self._clear_ledger()
        after = self._replies.estimate(history.data).tokens
        self._hub.emit(Compacted(before, after, f"{before:,} tokens of history became about {after:,}"))
        return after < before * HELPS_SHARE

    async def _account(self, history: History, *, cut_first: bool) -> str:
        """The model's account, "" if it could not be had."""
        limits = SHRINK_STEPS if cut_first else (0, *SHRINK_STEPS)
        for limit in limits:
            messages = [_cut(m, limit, history.encode) for m in history.messages]
            messages.append(history.encode(user(_ASK)).data)
            try:
                reading = await self._replies.last_word(messages, SUMMARY_TOKENS, show=False, beside="compaction")
            except ServerProblem as problem:
                if problem.kind is not ProblemKind.OVERFLOW:
                    raise
                continue
            return reading.content
        return ""


def _cut(encoded: Encoded, limit: int, encode: Callable[[Message], Encoded]) -> bytes:
    """A message's bytes, a long result cut to limit characters (0: as it is) with what was left out."""
    message = encoded.message
    if not limit or message.role is not Role.TOOL or len(message.content) <= limit:
        return encoded.data
    half = limit // 2
    text = f"{message.content[:half]}\n[... {len(message.content) - limit:,} characters ...]\n{message.content[-half:]}"
    return encode(replace(message, content=text)).data


def _last_turn(messages: Sequence[Encoded]) -> list[Encoded]:
    """The last assistant message with the results of its calls, if the history ends with one."""
    for i in range(len(messages) - 1, 0, -1):
        role = messages[i].message.role
        if role is Role.ASSISTANT:
            return list(messages[i:])
        if role is Role.USER:
            return []
    return []


def _from_books(history: History, run: RunState) -> str:
    """An account from what Pool itself knows, for when the model cannot be asked."""
    calls: list[str] = []
    for encoded in history.messages:
        for call in encoded.message.calls:
            arguments: Any = json.loads(call.arguments)
            target = arguments.get("path") or arguments.get("command") or ""
            calls.append(f"- {call.name} {str(target)[:120]}".rstrip())
    changed = [f"- {c.path}: {c.kind}, +{c.added} -{c.removed} lines" for c in run.changes.values()]
    tests = [f"- {'passed' if t.passed else 'failed'}: {t.command[:120]}" for t in run.ledger.runs[-5:]]
    said = next((m.message.content for m in reversed(history.messages) if m.message.role is Role.ASSISTANT), "")
    parts = [
        ("Calls made, latest last:", calls[-30:]),
        ("Files changed:", changed or ["- none"]),
        ("Test runs:", tests or ["- none"]),
        ("You said last:", [said[:600]] if said.strip() else []),
    ]
    return "\n".join("\n".join([head, *lines]) for head, lines in parts if lines)
