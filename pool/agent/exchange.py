"""One request and its reply: sent, shown as it comes, cut if a watch says so, measured."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pool.agent.guards.thinking import CLOSED_BY_HAND, Cut, ReplyWatch
from pool.agent.hub import EventHub
from pool.agent.prefix import PrefixReport, PrefixWatch
from pool.agent.server import ServerLink
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
from pool.wire.client import ClientEvent, Pause, Restarted
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.identify import SMALL_WINDOW_TOKENS
from pool.wire.reading import (
    DEFAULT_THINK_TAGS,
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
from pool.wire.tokens import Estimate, PartSizes, TokenMeter, raw_tokens
from pool_tools.frozen import frozen

WINDOW_MARGIN_TOKENS = 256
"""Kept free between the estimated prompt plus `max_tokens` and the window, since the estimate can be off."""

LEAST_ANSWER_TOKENS = 512
"""Below this much room for a reply a request is not worth sending."""

INTERRUPTED = "interrupted"
"""The repair of a reading that was broken off because the run was stopped."""

LEAST_RATE_TOKENS = 1024
"""A prompt of which less is read says little about the speed of reading."""


@dataclass(slots=True)
class _Clock:
    """When a request was made, when the try began that is answered, and when its first token came, 0 before."""

    sent: float
    tried: float
    first: float = 0.0

    def try_again(self, seconds: float) -> None:
        """What came so far is void; the next try is so far away."""
        self.tried, self.first = time.monotonic() + seconds, 0.0


@frozen
class Ask:
    """What is asked for.

    messages are encoded; max_tokens is what is wanted, fitted to the window. extra are fields of this request alone.
    watch may cut the reply. show: what comes is shown. thinking_off: the template's switch is off for this reply, which
    costs the cache. beside says why the messages are not the history's next step, "" if they are.
    """

    messages: Sequence[bytes]
    max_tokens: int
    tool_choice: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    watch: ReplyWatch | None = None
    show: bool = True
    thinking_off: bool = False
    beside: str = ""


class Exchange:
    """Sends requests of one conversation.

    `usage` is that of the last reply; `prefill_rate` how many tokens of prompt a second the server reads, 0 if unknown;
    `broken_off` what had come of a reply whose reading was cancelled, and `cut_usage` what it had cost.
    """

    def __init__(
        self,
        *,
        link: ServerLink,
        builder: RequestBuilder,
        expect: Expectation,
        meter: TokenMeter,
        hub: EventHub,
    ) -> None:
        self.link = link
        self.builder = builder
        self.usage = Usage()
        self._expect = expect
        self._meter = meter
        self._sizes = PartSizes()
        self._hub = hub
        self.prefix = PrefixWatch()
        self.prefill_rate = 0.0
        self._plain_builder: RequestBuilder | None = None
        self._thinking_off = False
        self.broken_off: Reading | None = None
        self.cut_usage = Usage()
        self.counts = False
        """Whether the server has sent the running token count that was asked for."""
        self._unknown_window_said = False
        self._learned_window = 0
        self._small_window_said = False
        self._trace_said = False

    @property
    def window(self) -> int:
        """The context window in tokens, 0 if unknown. What a server said when it refused a request counts most."""
        return self._learned_window or self.link.window

    def estimate(self, messages: Sequence[bytes]) -> Estimate:
        """The size of a request with these messages."""
        frame = self.builder.build((), max_tokens=LEAST_ANSWER_TOKENS)
        return self._meter.estimate(raw_tokens(frame) + self._sizes.total(messages))

    def body_of(self, ask: Ask) -> bytes:
        """The request as it would be sent now."""
        builder = self._without_thinking() if ask.thinking_off else self.builder
        max_tokens = self._fitted(ask.max_tokens, self.estimate(ask.messages).upper)
        extra = {**self.link.extra, **ask.extra}
        return builder.build(ask.messages, max_tokens=max_tokens, tool_choice=ask.tool_choice, extra=extra)

    def switch_thinking(self, on: bool) -> None:
        """Switch thinking by the chat template, which re-renders the history: an announced break."""
        self.link.set_thinking(on)
        self.builder = RequestBuilder(replace(self.builder.head, thinking=on), self.builder.shape)
        self._expect = replace(self._expect, thinking=on)
        self._plain_builder = None
        self.prefix.announce(f"thinking was switched {'on' if on else 'off'}")

    def switch_server(self, link: ServerLink, builder: RequestBuilder, think_tags: Sequence[str], why: str) -> None:
        """Go on with another server or model: nothing that was learned of the one before counts. An announced break."""
        self.link, self.builder = link, builder
        tags = (*DEFAULT_THINK_TAGS, *think_tags)
        self._expect = replace(self._expect, thinking=builder.head.thinking, think_tags=tags)
        self._plain_builder, self._meter = None, TokenMeter()
        self.prefill_rate, self._learned_window, self.counts = 0.0, 0, False
        self._unknown_window_said = self._small_window_said = False
        self.prefix.announce(why)

    async def ask(self, ask: Ask) -> Reading:
        """Send and read; once more, fitted, if the window turns out to be smaller. Raises `ServerProblem`."""
        try:
            return await self._send(ask)
        except ServerProblem as problem:
            if problem.kind is not ProblemKind.OVERFLOW or not problem.window:
                raise
            self._learned_window = problem.window
            if problem.window - (problem.prompt_tokens or 0) < LEAST_ANSWER_TOKENS or problem.at_least:
                raise
            return await self._send(ask, at_least=problem.prompt_tokens or 0)

    async def _send(self, ask: Ask, at_least: int = 0) -> Reading:
        """at_least is a lower bound of the prompt's tokens that the server named."""
        estimate = self.estimate(ask.messages)
        max_tokens = self._fitted(ask.max_tokens, max(estimate.upper if not at_least else estimate.tokens, at_least))
        extra = {**self.link.extra, **ask.extra}
        builder = self._without_thinking() if ask.thinking_off else self.builder
        body = builder.build(ask.messages, max_tokens=max_tokens, tool_choice=ask.tool_choice, extra=extra)
        report = self.prefix.request(ask.messages, builder.head_json, ask.beside or self._switched(ask.thinking_off))
        self._warn_of_small_window()
        self._hub.emit(TurnStarted(estimate.tokens, max_tokens))
        self._hub.emit(Waiting("prefill", f"about {estimate.tokens:,} tokens"))
        now = time.monotonic()
        clock = _Clock(now, now)
        self.broken_off, self.cut_usage = None, Usage()
        allowed = ask.tool_choice != "none"
        expect = replace(self._expect, max_tokens=max_tokens, window=self.window, calls_allowed=allowed)
        frame = builder.build((), max_tokens=max_tokens, tool_choice=ask.tool_choice, extra=extra)
        sent = raw_tokens(frame) + self._sizes.total(ask.messages)
        try:
            reading = await self._read(ask, body, expect, clock)
        except asyncio.CancelledError:
            # Before the first token nobody knows how much of the prompt the server has read.
            if clock.first:
                self._measure(self.link.client.reading, sent, clock, report)
                self.cut_usage = self.usage
            raise
        finally:
            self._warn_of_trace()
        self._measure(reading, sent, clock, report)
        self.counts = self.counts or bool(ask.watch and ask.watch.counted)
        self.link.look_again()
        self._say_unknown_window()
        if reading.ending is Ending.LENGTH and max_tokens < min(ask.max_tokens, LEAST_ANSWER_TOKENS):
            # The window left no room for more, so it is full, whatever the server calls it.
            return replace(reading, ending=Ending.WINDOW)
        return reading

    def _fitted(self, wanted: int, prompt: int) -> int:
        """`max_tokens` for a prompt of so many tokens: what is wanted, or what the window leaves, never under 1."""
        if not self.window:
            return wanted
        return max(1, min(wanted, self.window - prompt - WINDOW_MARGIN_TOKENS))

    def _switched(self, off: bool) -> str:
        """Why thinking differs from the request before, "" if it does not."""
        was_off, self._thinking_off = self._thinking_off, off
        if off == was_off:
            return ""
        return "thinking is off for one reply" if off else "thinking is on again"

    def _without_thinking(self) -> RequestBuilder:
        if self._plain_builder is None:
            self._plain_builder = RequestBuilder(replace(self.builder.head, thinking=False), self.builder.shape)
        return self._plain_builder

    async def _read(self, ask: Ask, body: bytes, expect: Expectation, clock: _Clock) -> Reading:
        client, watch = self.link.client, ask.watch
        ended: Cut | None = None
        stream = client.converse(body, expect)
        try:
            async for event in stream:
                self._show(event, clock, show=ask.show)
                cut = watch.look(event) if watch and not isinstance(event, (Pause, Restarted)) else None
                if cut is None:
                    continue
                if cut.guard:
                    self._hub.emit(GuardFired(cut.guard, "cut", cut.detail))
                if cut.guard == "thinking" and await self.link.end_reasoning():
                    watch, ended = None, cut
                    continue
                await stream.aclose()
                return client.stopped(cut.why)
        except asyncio.CancelledError:
            reading = client.stopped(INTERRUPTED)
            self.broken_off = reading if clock.first and not ask.beside else None
            raise
        if ended is not None:
            return replace(client.reading, repairs=(*client.reading.repairs, ended.why, CLOSED_BY_HAND))
        return client.reading

    def _show(self, event: ClientEvent, clock: _Clock, *, show: bool) -> None:
        emit = self._hub.emit
        match event:
            case Pause(state=state, detail=detail, seconds=seconds, number=number, most=most):
                clock.try_again(seconds)
                emit(Waiting(state, detail, seconds=seconds, number=number, most=most))
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

    def _measure(self, reading: Reading, sent: float, clock: _Clock, report: PrefixReport) -> None:
        """sent is the request's `raw_tokens`."""
        now = time.monotonic()
        usage = reading.usage
        if usage is None or not usage.prompt:
            said = "".join([reading.reasoning, reading.content, *(c.arguments for c in reading.calls)])
            usage = Usage(self._meter.estimate(sent).tokens, round(raw_tokens(said.encode())), estimated=True)
        elif self._cache_left_out(sent, usage.prompt) or self._meter.excessive(sent, usage.prompt):
            usage = replace(usage, prompt=self._meter.estimate(sent).tokens, estimated=True)
        else:
            if self._meter.shortfall(sent, usage.prompt):
                self._warn_of_shortfall(sent, usage.prompt)
            self._meter.learn(sent, usage.prompt)
        self._learn_rate(usage, (clock.first or now) - max(clock.sent, min(clock.tried, now)), report)
        usage = self._with_cached(usage, report, whole=bool(reading.finish))
        self.usage = usage
        waited = min(clock.tried, now) - clock.sent
        first = (clock.first or now) - clock.sent
        self._hub.emit(UsageReported(usage, first, now - clock.sent, report.kept, report.broken, waited))
        if lost := self.prefix.usage(usage, report, whole=bool(reading.finish)):
            self._hub.emit(Notice("info", lost))

    def _with_cached(self, usage: Usage, report: PrefixReport, *, whole: bool) -> Usage:
        """The usage of a reply that was cut, with its cached share guessed: its running count has no word on it."""
        cached = self.prefix.likely_cached(report)
        if whole or usage.cached or not cached:
            return usage
        return replace(usage, cached=min(cached, usage.prompt), estimated=True)

    def _learn_rate(self, usage: Usage, seconds: float, report: PrefixReport) -> None:
        """Learn how fast the server reads from a prompt of which it is known how much was not cached."""
        cold = self.prefix.requests == 1 or bool(report.broken and not report.kept)
        read = usage.prompt - usage.cached if usage.cached or cold else 0
        if read >= LEAST_RATE_TOKENS and seconds > 0:
            self.prefill_rate = read / seconds

    def _cache_left_out(self, sent: float, read: int) -> bool:
        """Whether a count is low because it leaves out what was cached (Ollama 0.30.0), not because of a cut.

        Where the request sets the window, and the prompt fits into it, nothing was cut.
        """
        fits = self._meter.estimate(sent).upper <= self.window
        return self.builder.shape.sets_window and fits and self._meter.shortfall(sent, read)

    def _warn_of_small_window(self) -> None:
        """Say once that the window is small, where a request could ask for a larger one and does not."""
        asked = self.builder.head.window or not self.builder.shape.sets_window
        if asked or self._small_window_said or not 0 < self.window < SMALL_WINDOW_TOKENS:
            return
        self._small_window_said = True
        text = f"the server's context window of {self.window:,} tokens is small for an agent"
        self._hub.emit(Notice("warning", text, self.link.dialect.window_remedy))

    def _say_unknown_window(self) -> None:
        """Say once, when the server has been asked and did not tell, that its window is unknown."""
        if self._unknown_window_said or self.window or not self.link.asked:
            return
        self._unknown_window_said = True
        text = "the server does not say how large its context window is, so Pool cannot make room before it is full"
        self._hub.emit(Notice("info", text, "set POOL_CONTEXT_LENGTH to the window in tokens"))

    def _warn_of_trace(self) -> None:
        """Say once that no trace is written although one was asked for."""
        if self.link.client.trace_failure and not self._trace_said:
            self._trace_said = True
            self._hub.emit(Notice("warning", self.link.client.trace_failure, "give --trace a file that can be written"))

    def _warn_of_shortfall(self, sent: float, read: int) -> None:
        whole = self._meter.estimate(sent).tokens
        text = f"the server read {read:,} tokens of about {whole:,} that were sent: the front of the prompt was cut off"
        self._hub.emit(Notice("warning", text, self.link.dialect.window_remedy))
