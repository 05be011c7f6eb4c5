"""One reply of the model, and what Pool can do to it: close a runaway thought, force a call, ask a last word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pool.agent.exchange import Ask, Exchange
from pool.agent.guards.thinking import (
    CLOSED_BY_HAND,
    CUT_IN_CIRCLES,
    ThoughtWatch,
    closed_thought,
    repetition_start,
)
from pool.agent.history import History, field_of
from pool.agent.hub import EventHub
from pool.agent.state import Steer
from pool.config.guards import GuardSettings
from pool.config.settings import Budgets
from pool.events import GuardFired, Usage
from pool.messages import Message, Role
from pool.wire.reading import Ending, Reading
from pool.wire.tokens import Estimate


@dataclass(frozen=True, slots=True)
class LastWord:
    """A reply without tool calls: at most so many tokens besides its thought; show, beside as in `Ask`."""

    max_tokens: int
    show: bool
    beside: str = ""


class ReplyStream:
    """Asks for replies over one history."""

    def __init__(
        self, exchange: Exchange, hub: EventHub, budgets: Budgets, guards: GuardSettings, tools: Sequence[str]
    ) -> None:
        self._exchange = exchange
        self._hub = hub
        self._budgets = budgets
        self._guards = guards
        self._tools = tools

    @property
    def usage(self) -> Usage:
        """Tokens of the last reply, all its requests together."""
        return self._exchange.usage

    @property
    def window(self) -> int:
        """The context window in tokens, 0 if unknown."""
        return self._exchange.window

    @property
    def window_remedy(self) -> str:
        """What a person can do about a window that is too small."""
        return self._exchange.link.dialect.window_remedy

    @property
    def head_json(self) -> str:
        """The request's head as JSON text."""
        return self._exchange.builder.head_json

    def estimate(self, messages: Sequence[bytes]) -> Estimate:
        """The size of a request with these messages."""
        return self._exchange.estimate(messages)

    async def reply(self, history: History, *, first_turn: bool, steer: Steer = Steer()) -> Reading:
        """One reply, read; a thought that runs away is closed and the turn goes on. Raises `ServerProblem`."""
        budgets = self._budgets
        limit = budgets.reasoning_first_turn if first_turn else budgets.reasoning_turn
        watch = self._watch(min(budgets.reasoning_soft, limit), limit)
        ask = Ask(
            history.data,
            limit + budgets.answer_tokens,
            extra=self._forced_call() if steer.act else {},
            watch=watch,
            thinking_off=steer.no_thought,
        )
        reading = await self._exchange.ask(ask)
        if reading.ending is Ending.REPETITION and not reading.content.strip() and not reading.broken:
            watch.keep = repetition_start(reading.reasoning)
            repairs = (*reading.repairs, CUT_IN_CIRCLES)
            reading = replace(reading, ending=Ending.STOPPED, repairs=repairs)
            self._hub.emit(GuardFired("thinking", "cut", "the server stopped a thought that repeated itself"))
        if reading.ending is not Ending.STOPPED:
            return reading
        return await self._close_thought(ask, reading, watch, history)

    async def last_word(self, history: History, messages: Sequence[bytes], asked: LastWord) -> Reading:
        """A reply without tool calls; the tools stay in the request, since dropping them costs the cache.

        messages are history's, or made of them. A thought that runs away is closed here too. Raises `ServerProblem`.
        """
        limit = self._budgets.reasoning_turn
        watch = self._watch(0, limit)
        ask = Ask(
            messages,
            limit + asked.max_tokens,
            tool_choice="none",
            show=asked.show,
            watch=watch,
            beside=asked.beside,
        )
        reading = await self._exchange.ask(ask)
        if reading.ending is not Ending.STOPPED:
            return reading
        return await self._close_thought(ask, reading, watch, history, asked.max_tokens)

    def announce_break(self, why: str) -> None:
        """The history is about to be replaced on purpose: the next request's prefix differs, and why."""
        self._exchange.prefix.announce(why)

    def seconds_to_read(self, tokens: int) -> float:
        """How long the server would take to read so many tokens that it has not cached; 0 if unknown."""
        rate = self._exchange.prefill_rate
        return tokens / rate if rate else 0.0

    def _watch(self, soft: int, hard: int) -> ThoughtWatch:
        return ThoughtWatch(soft, hard, self._note, self._guards)

    def _note(self, text: str) -> None:
        self._hub.emit(GuardFired("thinking", "note", text))

    async def _close_thought(
        self, ask: Ask, stopped: Reading, watch: ThoughtWatch, history: History, max_tokens: int = 0
    ) -> Reading:
        """End a thought by hand and go on with the turn, where the server can; nearly all stays cached.

        A server counts as able if its dialect says so and it has sent the running token count that was asked for: a
        gateway that drops such fields would drop those of a continuation too, and answer a request cut in half. So the
        very first reply of a session cannot be closed so where the model was named and nothing was probed before.
        """
        fragment = self._exchange.link.dialect.continue_message
        if not fragment or not watch.counted or stopped.content.strip() or not stopped.reasoning.strip():
            return stopped
        thought = closed_thought(stopped.reasoning, keep=watch.keep)
        message = Message(Role.ASSISTANT, "", thought, field_of(stopped.reasoning_field))
        before = self.usage
        going_on = replace(
            ask,
            messages=[*ask.messages, history.encode(message).data],
            max_tokens=max_tokens or self._budgets.answer_tokens,
            extra={**ask.extra, **fragment},
            watch=self._watch(0, self._budgets.reasoning_turn),
            thinking_off=False,
        )
        reading = await self._exchange.ask(going_on)
        self._exchange.usage = before + self.usage
        reasoning = "\n".join(t for t in (thought, reading.reasoning) if t.strip())
        repairs = (*stopped.repairs, *reading.repairs, CLOSED_BY_HAND)
        return replace(reading, reasoning=reasoning, reasoning_field=stopped.reasoning_field, repairs=repairs)

    def _forced_call(self) -> Mapping[str, Any]:
        """A grammar under which the answer can only be a call, {} where the server has none (vLLM: structural tags)."""
        if not self._exchange.link.dialect.structural_tags:
            return {}
        elements = [
            {"type": "tag", "begin": f"<tool_call>{name}", "content": {"type": "any_text"}, "end": "</tool_call>"}
            for name in self._tools
        ]
        form = {"type": "structural_tag", "format": {"type": "or", "elements": elements}}
        return {"response_format": form}
