"""The engine: a slot, the prompt's prefill, then steps of tokens at a rate, until something ends the reply."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from itertools import repeat

from pool.sim.cache import PrefixCache
from pool.sim.metrics import Metrics
from pool.sim.request import Repetition
from pool.sim.settings import SimSettings
from pool.sim.tokens import END_TURN, END_TURN_ID

REPETITION_DETECTED = "repetition_detected"


@dataclass(frozen=True, slots=True)
class Job:
    """One reply to write. number: of the request, from 1. limit: tokens at most, the end token included.

    accepts_drafts: whether speculation brings anything: without, each step is one token.
    """

    number: int
    prompt: tuple[str, ...]
    tokens: Iterator[str]
    limit: int
    stop: tuple[str, ...] = ()
    repetition: Repetition | None = None
    cache_salt: str = ""
    accepts_drafts: bool = True


@dataclass(frozen=True, slots=True)
class Step:
    """What one decoding step brought: visible text, tokens of the reply so far, cached tokens of the prompt.

    finish is "" until the last step: then stop, length or repetition, with vLLM's `stop_reason`.
    """

    text: str
    completion: int
    cached: int
    finish: str = ""
    stop_reason: int | str | None = None


class Engine:
    """Runs jobs, several at a time up to `max_num_seqs`."""

    def __init__(self, settings: SimSettings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._cache = PrefixCache()
        self._slots = asyncio.Semaphore(settings.max_num_seqs)

    async def run(self, job: Job) -> AsyncGenerator[Step]:
        """Steps of a job. Closing the generator or cancelling its reader aborts the job and frees its slot."""
        started = time.monotonic()
        async with self._slot(len(job.prompt)):
            queued = time.monotonic()
            cached = self._cache.cached(job.prompt, job.cache_salt)
            self._metrics.prompt(len(job.prompt), cached)
            if self._settings.prefill_rate:
                await asyncio.sleep((len(job.prompt) - cached) / self._settings.prefill_rate)
            self._cache.store(job.prompt, job.cache_salt)
            first = time.monotonic()
            self._metrics.seconds("request_queue_time", queued - started)
            self._metrics.seconds("request_prefill_time", first - queued)
            self._metrics.seconds("time_to_first_token", first - started)
            async with aclosing(self._decode(job, cached, first)) as decoding:
                async for step in decoding:
                    yield step
            self._metrics.seconds("e2e_request_latency", time.monotonic() - started)

    @asynccontextmanager
    async def _slot(self, tokens: int) -> AsyncGenerator[None]:
        self._metrics.waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._metrics.waiting -= 1
        share = tokens / (self._settings.max_model_len * self._settings.max_num_seqs)
        self._metrics.running += 1
        self._metrics.tokens_in_cache_share += share
        try:
            yield
        finally:
            self._metrics.running -= 1
            self._metrics.tokens_in_cache_share -= share
            self._slots.release()

    async def _decode(self, job: Job, cached: int, first: float) -> AsyncGenerator[Step]:
        written: list[str] = []
        last = first
        begun = 0
        drawn = self._settings.steps.draw(self._settings.seed, job.number) if job.accepts_drafts else repeat(1)
        for number, (tokens, step) in enumerate(steps(job, drawn, cached)):
            # The first step comes with the prefill's end, each later one once all of its tokens are written.
            begun = begun or step.completion
            due = first + self._after(number, step.completion - begun)
            # Also without a rate the loop must get its turn: to notice that the client has gone.
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            now = time.monotonic()
            if written:
                self._metrics.seconds("inter_token_latency", now - last)
            last = now
            written += tokens
            self._metrics.step(len(tokens))
            if step.finish:
                self._finish(job, written, step, now - first)
            yield step

    def _after(self, step: int, tokens: int) -> float:
        """Seconds from the first step to the one of that number, with so many tokens written since the first."""
        if self._settings.step_ms:
            return step * self._settings.step_ms / 1000
        return tokens / self._settings.rate if self._settings.rate else 0.0

    def _finish(self, job: Job, written: list[str], step: Step, seconds: float) -> None:
        self._cache.store((*job.prompt, *written), job.cache_salt)
        self._metrics.finish(step.finish, step.completion)
        self._metrics.seconds("request_decode_time", seconds)
        self._metrics.seconds("request_time_per_output_token", seconds / max(1, step.completion - 1))


def steps(job: Job, sizes: Iterator[int], cached: int = 0) -> Iterator[tuple[list[str], Step]]:
    """The steps of a job and the tokens of each, without waiting. The last one, and only it, has a finish."""
    visible = _Visible(job.stop)
    loops = _Loops(job.repetition) if job.repetition else None
    tokens: list[str] = []
    size = next(sizes)
    for completion, token in enumerate(job.tokens, 1):
        tokens.append(token)
        finish, reason = "", None
        if token == END_TURN:
            finish, reason = "stop", END_TURN_ID
        elif found := visible.add(token):
            finish, reason = "stop", found
        elif loops is not None and loops.add(token):
            finish, reason = "repetition", REPETITION_DETECTED
        elif completion >= job.limit:
            finish = "length"
        if finish:
            yield tokens, Step(visible.rest(), completion, cached, finish, reason)
            return
        if len(tokens) == size:
            yield tokens, Step(visible.take(), completion, cached)
            tokens, size = [], next(sizes)


class _Visible:
    """Text of tokens, held back as far as it could be the start of a stop string."""

    def __init__(self, stop: tuple[str, ...]) -> None:
        self._stop = stop
        self._held = max(map(len, stop), default=1) - 1
        self._text = ""

    def add(self, token: str) -> str:
        """Take a token; the stop string that it completes, or ""."""
        self._text += token
        for stop in self._stop:
            at = self._text.find(stop)
            if at >= 0:
                self._text = self._text[:at]
                return stop
        return ""

    def take(self) -> str:
        """What can be shown by now."""
        cut = len(self._text) - self._held
        text, self._text = (self._text[:cut], self._text[cut:]) if cut > 0 else ("", self._text)
        return text

    def rest(self) -> str:
        """All that is left."""
        text, self._text = self._text, ""
        return text


class _Loops:
    """vLLM's `repetition_detection`: for each pattern length, how many tokens in a row equal the one that far back."""

    def __init__(self, how: Repetition) -> None:
        self._how = how
        self._past: deque[str] = deque(maxlen=how.longest)
        self._equal = [0] * (how.longest + 1)

    def add(self, token: str) -> bool:
        """Take a token; whether count copies of a pattern now stand at the end."""
        fired = False
        for length in range(self._how.shortest, min(len(self._past), self._how.longest) + 1):
            same = self._past[-length] == token
            self._equal[length] = self._equal[length] + 1 if same else 0
            fired = fired or self._equal[length] >= length * (self._how.count - 1)
        self._past.append(token)
        return fired
