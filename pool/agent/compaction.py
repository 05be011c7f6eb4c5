"""Making room in a history that no longer fits: old results are left out, or all becomes a short account of the work.

Pruning (`pool.agent.pruning`) comes first where it frees enough. The account is written by the model under
`tool_choice: none`, of limited length; if even that request does not fit, old results are cut further, and
in the end Pool writes the account itself from its books. The last turns stay as they were. Either is an announced break
of the prompt's prefix, with its price.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pool.agent.history import History
from pool.agent.hub import EventHub
from pool.agent.plan import ASK as PLAN_MODE
from pool.agent.price import Price
from pool.agent.pruning import first_difference, pruned
from pool.agent.state import RunState
from pool.agent.streaming import LastWord, ReplyStream
from pool.events import Compacted, Notice
from pool.messages import Encoded, Message, Role, user
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.tokens import raw_tokens

KEPT_SHARE = 0.25
"""The last turns are kept as they were, as many as take at most this share of the history that is replaced."""

SHRINK_STEPS = (2000, 200)
"""Characters to which results are cut for the summary's request, step by step, while it does not fit."""

HELPS_SHARE = 0.8
"""A compaction that leaves more than this share of the prompt did not help."""

PRUNING_FREES = 0.25
"""Pruning is done if it frees at least this share of the prompt."""

_ASK = (
    "[Pool] The context is nearly full. Write an account of the work so far, from which you can go on without the "
    "conversation: the task in the user's words, what you found out, what you decided and why, files changed and how, "
    "commands and tests run with their results, and what is still open. At most 600 words. Plain text, no tool calls."
)
_INTRODUCTION = "[Pool] The conversation so far was replaced by this account. Read files again before edits."
_LATEST = "[Pool] The user's latest request:"


class Compactor:
    """Makes room in one conversation's history. clear_ledger makes the tools forget which files were shown.

    at_share is the share of the window at which room is due, summary_tokens how long the account may be at most.
    """

    def __init__(
        self,
        replies: ReplyStream,
        hub: EventHub,
        clear_ledger: Callable[[], None],
        *,
        at_share: float,
        summary_tokens: int,
        keeps: Callable[[], str] = str,
    ) -> None:
        """keeps gives what stands below the account word for word, "" for nothing."""
        self.at_share = at_share
        self._summary_tokens = summary_tokens
        self._replies = replies
        self._hub = hub
        self._clear_ledger = clear_ledger
        self._keeps = keeps

    def due(self, history: History) -> bool:
        """Whether the next request would take more than `at_share` of the window."""
        window = self._replies.window
        return bool(window) and self._replies.estimate(history.data).upper > window * self.at_share

    def prune(self, history: History) -> bool:
        """Leave old bulky results out, if that frees enough; whether it was done. No request is made."""
        before = self._replies.estimate(history.data)
        messages = pruned(history.messages, history.encode)
        after = self._replies.estimate([m.data for m in messages])
        limit = self._replies.window * self.at_share
        freed = before.tokens - after.tokens
        if freed < before.tokens * PRUNING_FREES or (limit and after.upper > limit):
            return False
        first = first_difference(history.messages, messages)
        left = sum(a is not b for a, b in zip(history.messages, messages, strict=True))
        read_again = round(sum(raw_tokens(m.data) for m in messages[first:]))
        what = f"{left} old results were left out, {before.tokens:,} tokens of history became about {after.tokens:,}"
        self._replace(history, messages[1:], (before.tokens, after.tokens), what, read_again, "pruning")
        return True

    async def compact(self, history: History, run: RunState, *, cut_first: bool, guidance: str = "") -> bool:
        """Replace the history; whether it became clearly smaller. cut_first: as it is, it is known not to fit.

        guidance is what the user wants kept. Raises `ServerProblem`, but not for a history that does not fit.
        """
        before = self._replies.estimate(history.data).tokens
        account = await self._account(history, guidance, cut_first=cut_first) or _from_books(history, run)
        told = f"{_INTRODUCTION}\n\n{_within(account.strip(), self._summary_tokens)}"
        opening = user("\n\n".join(part for part in (_task(history, run), told, self._keeps()) if part))
        kept = [history.encode(opening), *_last_turns(history.messages, history.size * KEPT_SHARE)]
        after = self._replies.estimate([history.messages[0].data, *(m.data for m in kept)]).tokens
        what = f"{before:,} tokens of history became about {after:,}"
        self._replace(history, kept, (before, after), what, after, "compaction")
        return after < before * HELPS_SHARE

    def price(self, history: History) -> Price:
        """What compacting the history would cost: what stands in for it is read anew, as large as it may become."""
        kept = _last_turns(history.messages, history.size * KEPT_SHARE)
        first = [history.messages[0].data, *(m.data for m in kept)]
        return self._replies.price(self._replies.estimate(first).tokens + self._summary_tokens)

    def _replace(
        self, history: History, messages: Sequence[Encoded], sizes: tuple[int, int], what: str, read: int, why: str
    ) -> None:
        price = self._replies.price(read)
        if price.is_high:
            self._hub.emit(Notice("info", f"{why}: {price.words}"))
        self._hub.emit(Compacted(*sizes, f"{what}; {price.words}", len(messages)))
        self._replies.announce_break(why)
        history.replace([], messages)
        self._clear_ledger()

    async def _account(self, history: History, guidance: str, *, cut_first: bool) -> str:
        """The model's account, "" if it could not be had."""
        ask = f"{_ASK}\nThe user wants this kept above all: {guidance}" if guidance.strip() else _ASK
        limits = SHRINK_STEPS if cut_first else (0, *SHRINK_STEPS)
        for limit in limits:
            messages = [_cut(m, limit, history.encode) for m in history.messages]
            last = history.messages[-1].message
            # Strict templates refuse two user messages in a row.
            joined = f"{last.content}\n\n{ask}" if last.role is Role.USER else ask
            messages[len(messages) - (last.role is Role.USER) :] = [history.encode(user(joined)).data]
            try:
                asked = LastWord(self._summary_tokens, show=False, beside="compaction")
                reading = await self._replies.last_word(history, messages, asked)
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


def _task(history: History, run: RunState) -> str:
    """The user's words: the session's first message, without an earlier account, and the run's prompt."""
    first = next((m.message.content for m in history.messages if m.message.role is Role.USER), "")
    first = first.partition(f"\n\n{_INTRODUCTION}")[0].partition(f"\n\n{_LATEST}")[0].replace(f"\n\n{PLAN_MODE}", "")
    return first if not run.prompt or run.prompt in first else f"{first}\n\n{_LATEST} {run.prompt}"


def _within(text: str, tokens: int) -> str:
    """A text cut at a line so that it takes about so many tokens at most; the server need not keep to the limit."""
    while raw_tokens(text.encode()) > tokens:
        shorter = text.rpartition("\n")[0]
        text = shorter if len(shorter) > len(text) // 2 else text[: len(text) * 3 // 4]
    return text


def _last_turns(messages: Sequence[Encoded], most_bytes: float) -> list[Encoded]:
    """The last messages as they are, from an assistant message on, as many as fit."""
    start, size = len(messages), 0
    for i in range(len(messages) - 1, 1, -1):
        size += len(messages[i].data)
        if size > most_bytes:
            break
        if messages[i].message.role is Role.ASSISTANT:
            start = i
    return list(messages[start:])


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
