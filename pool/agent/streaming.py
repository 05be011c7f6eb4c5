"""One reply of the model: the request sent, the stream shown as it comes, the reading handed back."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pool.agent.guards.thinking import (
    CLOSED_BY_HAND,
    CUT_IN_CIRCLES,
    ThoughtWatch,
    closed_thought,
    repetition_start,
)
from pool.agent.history import History, field_of
from pool.agent.hub import EventHub
from pool.agent.server import ServerLink
from pool.config.settings import Budgets
from pool.events import (
    CallProgress,
    ContentDelta,
    ContentRetracted,
    GuardFired,
    Notice,
    ReasoningDelta,
    TurnStarted,
    Usage,
    UsageReported,
    Waiting,
)
from pool.messages import Message, Role
from pool.wire.client import ClientEvent, Pause, Restarted
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.identify import SMALL_WINDOW_TOKENS
from pool.wire.reading import (
    CallText,
    ContentText,
    ContentWasReasoning,
    Ending,
    Expectation,
    Reading,
    ReasoningText,
    UsageSoFar,
)
from pool.wire.request import RequestBuilder
from pool.wire.tokens import Estimate, TokenMeter, raw_tokens

WINDOW_MARGIN_TOKENS = 256
"""Kept free between the estimated prompt plus `max_tokens` and the window, since the estimate can be off."""

LEAST_ANSWER_TOKENS = 512
"""Below this much room for a reply a request is not worth sending."""


@dataclass(slots=True)
class _Clock:
    sent: float
    first: float = 0.0


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked for: messages, tokens of reply, and how the reply is watched and shown."""

    messages: Sequence[bytes]
    wanted: int
    tool_choice: str
    extra: Mapping[str, Any]
    watch: ThoughtWatch | None
    show: bool


def _fired(action: str, detail: str) -> GuardFired:
    return GuardFired("thinking", action, detail)


class ReplyStream:
    """Sends the history and reads the reply. `usage` is that of the last reply."""

    def __init__(
        self,
        *,
        link: ServerLink,
        builder: RequestBuilder,
        expect: Expectation,
        meter: TokenMeter,
        hub: EventHub,
        budgets: Budgets,
    ) -> None:
        self._link = link
        self._builder = builder
        self._expect = expect
        self._meter = meter
        self._hub = hub
        self._budgets = budgets
        self.usage = Usage()
        self._learned_window = 0
        self._small_window_said = False

    @property
    def window(self) -> int:
        """The context window in tokens, 0 if unknown. What a server said when it refused a request counts most."""
        return self._learned_window or self._link.window

    @property
    def window_remedy(self) -> str:
        """What a person can do about a window that is too small."""
        return self._link.dialect.window_remedy

    @property
    def head_json(self) -> str:
        """The request's head as JSON text."""
        return self._builder.head_json

    async def reply(self, history: History, *, first_turn: bool) -> Reading:
        """One reply, read; a thought that runs away is closed and the turn goes on. Raises `ServerProblem`."""
        budgets = self._budgets
        limit = budgets.reasoning_first_turn if first_turn else budgets.reasoning_turn
        watch = ThoughtWatch(budgets.reasoning_soft, limit, lambda text: self._hub.emit(_fired("note", text)))
        reading = await self._ask(history.data, limit + budgets.answer_tokens, watch=watch)
        if reading.ending is Ending.REPETITION and not reading.content.strip() and not reading.broken:
            watch.keep = repetition_start(reading.reasoning)
            repairs = (*reading.repairs, CUT_IN_CIRCLES)
            reading = replace(reading, ending=Ending.STOPPED, repairs=repairs)
            self._hub.emit(_fired("cut", "the server stopped a thought that repeated itself"))
        if reading.ending is not Ending.STOPPED:
            return reading
        return await self._close_thought(history, reading, watch)

    async def last_word(self, messages: Sequence[bytes], max_tokens: int, *, show: bool) -> Reading:
        """A reply without tool calls; the tools stay in the request, since dropping them costs the cache."""
        wanted = max_tokens + self._budgets.reasoning_turn
        return await self._ask(messages, wanted, tool_choice="none", show=show)

    async def _close_thought(self, history: History, stopped: Reading, watch: ThoughtWatch) -> Reading:
        """End a thought by hand and go on with the turn, where the server can; nearly all stays cached.

        A server counts as able if its dialect says so and it has sent the running token count that was asked for: a
        gateway that drops such fields would drop those of a continuation too, and answer a request cut in half.
        """
        fragment = self._link.dialect.continue_message
        if not fragment or not watch.counted or stopped.content.strip() or not stopped.reasoning.strip():
            return stopped
        thought = closed_thought(stopped.reasoning, keep=watch.keep)
        message = Message(Role.ASSISTANT, "", thought, field_of(stopped.reasoning_field))
        messages = [*history.data, self._builder.shape.encode(message).data]
        before = self.usage
        again = ThoughtWatch(0, self._budgets.reasoning_turn, lambda text: None)
        reading = await self._ask(messages, self._budgets.answer_tokens, extra=fragment, watch=again)
        self.usage = before + self.usage
        reasoning = "\n".join(t for t in (thought, reading.reasoning) if t.strip())
        repairs = (*stopped.repairs, *reading.repairs, CLOSED_BY_HAND)
        return replace(reading, reasoning=reasoning, reasoning_field=stopped.reasoning_field, repairs=repairs)

    async def _ask(
        self,
        messages: Sequence[bytes],
        wanted: int,
        *,
        tool_choice: str = "",
        extra: Mapping[str, Any] | None = None,
        watch: ThoughtWatch | None = None,
        show: bool = True,
    ) -> Reading:
        """Send messages; once more, fitted, if the window turns out to be smaller than thought."""
        ask = _Asked(messages, wanted, tool_choice, extra or {}, watch, show)
        try:
            return await self._send(ask)
        except ServerProblem as problem:
            if problem.kind is not ProblemKind.OVERFLOW or not problem.window:
                raise
            self._learned_window = problem.window
            if problem.window - (problem.prompt_tokens or 0) < LEAST_ANSWER_TOKENS or problem.at_least:
                raise
            return await self._send(ask, at_least=problem.prompt_tokens or 0)

    def _fitted(self, wanted: int, prompt: int) -> int:
        """`max_tokens` for a prompt of so many tokens: what is wanted, or what the window leaves, never under 1."""
        if not self.window:
            return wanted
        return max(1, min(wanted, self.window - prompt - WINDOW_MARGIN_TOKENS))

    def estimate(self, messages: Sequence[bytes]) -> Estimate:
        """The size of a request with these messages."""
        return self._meter.estimate(self._builder.build(messages, max_tokens=self._budgets.answer_tokens))

    async def _send(self, ask: _Asked, at_least: int = 0) -> Reading:
        """at_least is a lower bound of the prompt's tokens that the server named."""
        estimate = self.estimate(ask.messages)
        max_tokens = self._fitted(ask.wanted, max(estimate.upper if not at_least else estimate.tokens, at_least))
        extra = {**self._link.extra, **ask.extra}
        body = self._builder.build(ask.messages, max_tokens=max_tokens, tool_choice=ask.tool_choice, extra=extra)
        self._warn_of_small_window()
        self._hub.emit(TurnStarted(estimate.tokens, max_tokens))
        self._hub.emit(Waiting("prefill", f"about {estimate.tokens:,} tokens"))
        clock = _Clock(time.monotonic())
        allowed = ask.tool_choice != "none"
        expect = replace(self._expect, max_tokens=max_tokens, window=self.window, calls_allowed=allowed)
        stream = self._link.client.converse(body, expect)
        async for event in stream:
            self._show(event, clock, show=ask.show)
            cut = ask.watch.look(event) if ask.watch and not isinstance(event, (Pause, Restarted)) else None
            if cut:
                await stream.aclose()
                self._hub.emit(_fired("cut", cut.detail))
                self._link.client.stopped(cut.why)
                break
        reading = self._link.client.reading
        self._measure(reading, body, clock)
        self._link.look_again()
        return reading

    def _show(self, event: ClientEvent, clock: _Clock, *, show: bool) -> None:
        emit = self._hub.emit
        match event:
            case Pause(state=state, detail=detail, seconds=seconds):
                emit(Waiting(state, detail, seconds=seconds))
                return
            case Restarted(why=why):
                emit(ContentRetracted("discarded"))
                emit(Waiting("retry", why))
                return
            case ReasoningText() | ContentText() | ContentWasReasoning() | CallText() if not show:
                pass
            case ReasoningText(text=text):
                emit(ReasoningDelta(text))
            case ContentText(text=text):
                emit(ContentDelta(text))
            case ContentWasReasoning():
                emit(ContentRetracted("reasoning"))
            case CallText(index=index, name=name, chars=chars, path=path):
                emit(CallProgress(index, name, chars, path))
            case UsageSoFar():
                pass
        clock.first = clock.first or time.monotonic()

    def _measure(self, reading: Reading, body: bytes, clock: _Clock) -> None:
        now = time.monotonic()
        usage = reading.usage
        if usage is None or not usage.prompt:
            said = "".join([reading.reasoning, reading.content, *(c.arguments for c in reading.calls)])
            usage = Usage(self._meter.estimate(body).tokens, round(raw_tokens(said.encode())), estimated=True)
        elif self._cache_left_out(body, usage.prompt):
            usage = replace(usage, prompt=self._meter.estimate(body).tokens, estimated=True)
        else:
            if self._meter.shortfall(body, usage.prompt):
                self._warn_of_shortfall(body, usage.prompt)
            self._meter.learn(body, usage.prompt)
        self.usage = usage
        self._hub.emit(UsageReported(usage, (clock.first or now) - clock.sent, now - clock.sent))

    def _cache_left_out(self, body: bytes, read: int) -> bool:
        """Whether a count is low because it leaves out what was cached (Ollama 0.30.0), not because of a cut.

        Where the request sets the window, and the prompt fits into it, nothing was cut.
        """
        fits = self._meter.estimate(body).upper <= self.window
        return self._builder.shape.sets_window and fits and self._meter.shortfall(body, read)

    def _warn_of_small_window(self) -> None:
        """Say once that the window is small, where a request could ask for a larger one and does not."""
        asked = self._builder.head.window or not self._builder.shape.sets_window
        if asked or self._small_window_said or not 0 < self.window < SMALL_WINDOW_TOKENS:
            return
        self._small_window_said = True
        text = f"the server's context window of {self.window:,} tokens is small for an agent"
        self._hub.emit(Notice("warning", text, self._link.dialect.window_remedy))

    def _warn_of_shortfall(self, body: bytes, read: int) -> None:
        sent = self._meter.estimate(body).tokens
        text = f"the server read {read:,} tokens of about {sent:,} that were sent: the front of the prompt was cut off"
        self._hub.emit(Notice("warning", text, self._link.dialect.window_remedy))
