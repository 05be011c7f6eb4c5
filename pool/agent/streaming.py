"""One reply of the model: the request sent, the stream shown as it comes, the reading handed back."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from pool.agent.history import History
from pool.agent.hub import EventHub
from pool.agent.server import ServerLink
from pool.config.settings import Budgets
from pool.events import (
    CallProgress,
    ContentDelta,
    ContentRetracted,
    Notice,
    ReasoningDelta,
    TurnStarted,
    Usage,
    UsageReported,
    Waiting,
)
from pool.wire.client import ClientEvent, Pause, Restarted
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.reading import (
    CallText,
    ContentText,
    ContentWasReasoning,
    Expectation,
    Reading,
    ReasoningText,
    UsageSoFar,
)
from pool.wire.request import RequestBuilder
from pool.wire.tokens import TokenMeter, raw_tokens

WINDOW_MARGIN_TOKENS = 256
"""Kept free between the estimated prompt plus `max_tokens` and the window, since the estimate can be off."""

LEAST_ANSWER_TOKENS = 512
"""Below this much room for a reply a request is not worth sending."""


@dataclass(slots=True)
class _Clock:
    sent: float
    first: float = 0.0


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

    @property
    def window(self) -> int:
        """The context window in tokens, 0 if unknown. What a server said when it refused a request counts most."""
        return self._learned_window or self._link.window

    @property
    def head_json(self) -> str:
        """The request's head as JSON text."""
        return self._builder.head_json

    async def reply(self, history: History, *, first_turn: bool) -> Reading:
        """One reply, read; sent once more, fitted, if the window turns out to be smaller. Raises `ServerProblem`."""
        wanted = self._budgets.answer_tokens + (
            self._budgets.reasoning_first_turn if first_turn else self._budgets.reasoning_turn
        )
        try:
            return await self._send(history, wanted)
        except ServerProblem as problem:
            if problem.kind is not ProblemKind.OVERFLOW or not problem.window:
                raise
            self._learned_window = problem.window
            if problem.window - (problem.prompt_tokens or 0) < LEAST_ANSWER_TOKENS:
                raise
            return await self._send(history, wanted, at_least=problem.prompt_tokens or 0)

    def _fitted(self, wanted: int, prompt: int) -> int:
        """`max_tokens` for a prompt of so many tokens: what is wanted, or what the window leaves, never under 1."""
        if not self.window:
            return wanted
        return max(1, min(wanted, self.window - prompt - WINDOW_MARGIN_TOKENS))

    async def _send(self, history: History, wanted: int, at_least: int = 0) -> Reading:
        """Send the history. at_least is a lower bound of the prompt's tokens that the server named."""
        messages = history.data
        estimate = self._meter.estimate(self._builder.build(messages, max_tokens=wanted))
        max_tokens = self._fitted(wanted, max(estimate.upper if not at_least else estimate.tokens, at_least))
        body = self._builder.build(messages, max_tokens=max_tokens, extra=self._link.extra)
        self._hub.emit(TurnStarted(estimate.tokens, max_tokens))
        self._hub.emit(Waiting("prefill", f"about {estimate.tokens:,} tokens"))
        clock = _Clock(time.monotonic())
        expect = replace(self._expect, max_tokens=max_tokens, window=self.window)
        async for event in self._link.client.converse(body, expect):
            self._show(event, clock)
        reading = self._link.client.reading
        self._measure(reading, body, clock)
        self._link.look_again()
        return reading

    def _show(self, event: ClientEvent, clock: _Clock) -> None:
        emit = self._hub.emit
        match event:
            case Pause(state=state, detail=detail, seconds=seconds):
                emit(Waiting(state, detail, seconds=seconds))
                return
            case Restarted(why=why):
                emit(ContentRetracted("discarded"))
                emit(Waiting("retry", why))
                return
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

    def _warn_of_shortfall(self, body: bytes, read: int) -> None:
        sent = self._meter.estimate(body).tokens
        text = f"the server read {read:,} tokens of about {sent:,} that were sent: the front of the prompt was cut off"
        self._hub.emit(Notice("warning", text, self._link.dialect.window_remedy))
