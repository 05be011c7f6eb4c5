"""One reply of the model, and what Pool can do to it: close a runaway thought, force a call, ask a last word."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pool.agent.exchange import Ask, Exchange
from pool.agent.guards.thinking import (
    ANSWER_CUT,
    CLOSED_BY_HAND,
    CLOSING_SENTENCE,
    CUT_FOR_USER,
    CUT_IN_CIRCLES,
    ReplyWatch,
    closed_thought,
    repetition_start,
)
from pool.agent.history import History, field_of
from pool.agent.hub import EventHub
from pool.agent.limits import Limits
from pool.agent.price import Price
from pool.agent.state import Steer
from pool.config.guards import GuardSettings
from pool.events import GuardFired, Usage
from pool.messages import Message, Role
from pool.wire.reading import Ending, Reading
from pool.wire.tokens import Estimate
from pool_tools.frozen import frozen


@frozen
class LastWord:
    """A reply without tool calls: at most so many tokens besides its thought; show, beside as in `Ask`.

    thought_tokens is the limit of its thought, 0 for the usual one.
    """

    max_tokens: int
    show: bool
    beside: str = ""
    thought_tokens: int = 0


class ReplyStream:
    """Asks for replies over one history. user_waits says whether the user has something to say, which ends thoughts."""

    def __init__(
        self, exchange: Exchange, hub: EventHub, limits: Limits, guards: GuardSettings, tools: Sequence[str]
    ) -> None:
        self.exchange = exchange
        self.user_waits: Callable[[], bool] = lambda: False
        self._hub = hub
        self._limits = limits
        self._guards = guards
        self._tools = tools

    @property
    def usage(self) -> Usage:
        """Tokens of the last reply, all its requests together."""
        return self.exchange.usage

    @property
    def cut_usage(self) -> Usage:
        """Tokens of a reply that was interrupted, 0 if none was or nothing had come of it."""
        return self.exchange.cut_usage

    @property
    def broken_off(self) -> Reading | None:
        """What had come of a reply that was interrupted; None if nothing worth keeping had."""
        return self.exchange.broken_off

    @property
    def window(self) -> int:
        """The context window in tokens, 0 if unknown."""
        return self.exchange.window

    @property
    def window_remedy(self) -> str:
        """What a person can do about a window that is too small."""
        return self.exchange.link.dialect.window_remedy

    @property
    def head_json(self) -> str:
        """The request's head as JSON text."""
        return self.exchange.builder.head_json

    def estimate(self, messages: Sequence[bytes]) -> Estimate:
        """The size of a request with these messages."""
        return self.exchange.estimate(messages)

    async def reply(self, history: History, *, roomy: bool, steer: Steer = Steer()) -> Reading:
        """One reply, read; a thought that runs away is closed and the turn goes on. Raises `ServerProblem`.

        roomy: it may think as much as in a first turn, since it plans.
        """
        budgets = self._limits.run
        limit = budgets.reasoning_first_turn if roomy else budgets.reasoning_turn
        watch = self._watch(min(budgets.reasoning_soft, limit), limit, self.user_waits)
        form = self._in_form(steer.form)
        ask = Ask(
            history.data,
            limit + budgets.answer_tokens,
            extra=self._forced_call() if steer.act else form,
            watch=watch,
            thinking_off=steer.no_thought,
        )
        # A grammar holds from the end of the thought on: a thought that is closed already cannot put it off.
        reading = await self._asked(ask, history, closed=bool(form) and self.thinks and self.can_close_at_once)
        if reading.ending is Ending.REPETITION and not reading.content.strip() and not reading.broken:
            watch.keep = repetition_start(reading.reasoning, self._guards.signals.zlib_ratio)
            repairs = (*reading.repairs, CUT_IN_CIRCLES)
            reading = replace(reading, ending=Ending.STOPPED, repairs=repairs)
            self._hub.emit(GuardFired("thinking", "cut", "the server stopped a thought that repeated itself"))
        reading = _without_repetition(reading, watch)
        if reading.ending is not Ending.STOPPED or CUT_FOR_USER in reading.repairs:
            return reading
        return await self._close_thought(ask, reading, watch, history)

    def first_body(self, history: History) -> bytes:
        """The request with which a run over this history would begin now."""
        budgets = self._limits.run
        return self.exchange.body_of(Ask(history.data, budgets.reasoning_first_turn + budgets.answer_tokens))

    async def last_word(self, history: History, messages: Sequence[bytes], asked: LastWord) -> Reading:
        """A reply without tool calls; the tools stay in the request, since dropping them costs the cache.

        messages are history's, or made of them. A thought that runs away is closed here too. Raises `ServerProblem`.
        """
        limit = asked.thought_tokens or self._limits.run.reasoning_turn
        watch = self._watch(0, limit)
        ask = Ask(
            messages,
            limit + asked.max_tokens,
            tool_choice="none",
            show=asked.show,
            watch=watch,
            beside=asked.beside,
        )
        reading = _without_repetition(await self._asked(ask, history), watch)
        if reading.ending is not Ending.STOPPED:
            return reading
        return await self._close_thought(ask, reading, watch, history, asked.max_tokens)

    @property
    def thinks(self) -> bool:
        """Whether the chat template is told to think."""
        return self.exchange.builder.head.thinking

    @property
    def can_close_at_once(self) -> bool:
        """Whether a thought can be closed before it begins, as far as is known."""
        known = self.exchange.counts or self.exchange.link.asked
        return bool(self.exchange.link.dialect.continue_message) and known

    def announce_break(self, why: str) -> None:
        """The history is about to be replaced on purpose: the next request's prefix differs, and why."""
        self.exchange.prefix.announce(why)

    def price(self, tokens: int) -> Price:
        """What it costs if the server has to read so many tokens that it has not cached."""
        rate = self.exchange.prefill_rate
        return Price(tokens, tokens / rate if rate else 0.0)

    def _watch(self, soft: int, hard: int, user_waits: Callable[[], bool] = lambda: False) -> ReplyWatch:
        return ReplyWatch(soft, hard, self._note, self._guards, user_waits)

    def _note(self, text: str) -> None:
        self._hub.emit(GuardFired("thinking", "note", text))

    async def _close_thought(
        self, ask: Ask, stopped: Reading, watch: ReplyWatch, history: History, max_tokens: int = 0
    ) -> Reading:
        """End a thought by hand and go on with the turn, where the server can; nearly all stays cached."""
        if not self._can_continue(watch) or stopped.content.strip() or not stopped.reasoning.strip():
            return stopped
        thought = closed_thought(stopped.reasoning, keep=watch.keep)
        message = Message(Role.ASSISTANT, "", thought, field_of(stopped.reasoning_field))
        before = self.usage
        next_watch = self._watch(0, self._limits.run.reasoning_turn)
        going_on = replace(
            ask,
            messages=[*ask.messages, history.encode(message).data],
            max_tokens=max_tokens or self._limits.run.answer_tokens,
            extra={**ask.extra, **(self.exchange.link.dialect.continue_message or {})},
            watch=next_watch,
            thinking_off=False,
        )
        try:
            reading = _without_repetition(await self.exchange.ask(going_on), next_watch)
        except asyncio.CancelledError:
            self.exchange.cut_usage += before
            raise
        self.exchange.usage = before + self.usage
        reasoning = "\n".join(t for t in (thought, reading.reasoning) if t.strip())
        repairs = (*stopped.repairs, *reading.repairs, CLOSED_BY_HAND)
        return replace(reading, reasoning=reasoning, reasoning_field=stopped.reasoning_field, repairs=repairs)

    def _can_continue(self, watch: ReplyWatch) -> bool:
        """Whether a turn can be continued here.

        A server counts as able if its dialect says so and it has sent the running token count that was asked for: a
        gateway that drops such fields would drop those of a continuation too, and answer a request cut in half. A first
        reply that has to be cut before the probe beside it has answered was not asked for the count: only a simulator
        is so fast.
        """
        return bool(self.exchange.link.dialect.continue_message) and watch.counted

    async def _asked(self, ask: Ask, history: History, *, closed: bool = False) -> Reading:
        """The reply; its thought is closed before it begins, while the template stays on, if closed or no_thought."""
        if not (closed or self._limits.no_thought):
            return await self.exchange.ask(ask)
        dialect = self.exchange.link.dialect
        message = Message(Role.ASSISTANT, "", CLOSING_SENTENCE, dialect.reasoning_history)
        reading = await self.exchange.ask(
            replace(
                ask,
                messages=[*ask.messages, history.encode(message).data],
                extra={**ask.extra, **(dialect.continue_message or {})},
                thinking_off=False,
            )
        )
        reasoning = "\n".join(t for t in (CLOSING_SENTENCE, reading.reasoning) if t.strip())
        repairs = (*reading.repairs, CLOSED_BY_HAND)
        return replace(reading, reasoning=reasoning, reasoning_field=dialect.reasoning_history.value, repairs=repairs)

    def _forced_call(self) -> Mapping[str, Any]:
        """A grammar under which the answer can only be a call, {} where the server has none (vLLM: structural tags)."""
        if not self.exchange.link.dialect.structural_tags:
            return {}
        elements = [
            {"type": "tag", "begin": f"<tool_call>{name}", "content": {"type": "any_text"}, "end": "</tool_call>"}
            for name in self._tools
        ]
        form = {"type": "structural_tag", "format": {"type": "or", "elements": elements}}
        return {"response_format": form}

    def _in_form(self, schema: Mapping[str, Any] | bool | None) -> Mapping[str, Any]:
        """Fields that constrain the reply's content to a JSON Schema, {} for none or where the server has no such."""
        if schema is None or not self.exchange.link.dialect.json_schema:
            return {}
        described = {"name": "answer", "schema": schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": described}}


def _without_repetition(reading: Reading, watch: ReplyWatch) -> Reading:
    """An answer that was cut for going in circles, without what only repeats itself."""
    if ANSWER_CUT not in reading.repairs:
        return reading
    return replace(reading, ending=Ending.REPETITION, content=reading.content[: watch.answer_keep].rstrip())
