"""What is going on right now, from the events: the words and figures of the line above the prompt box.

Knows no widgets. Times are seconds on the monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from pool.events import (
    ApprovalAsked,
    ApprovalGiven,
    CallFinished,
    CallProgress,
    CallStarted,
    ContentDelta,
    Event,
    GuardFired,
    QuestionAnswered,
    QuestionAsked,
    ReasoningDelta,
    RunFinished,
    RunStarted,
    TurnFinished,
    TurnStarted,
    UsageReported,
    Waiting,
)
from pool_tools.frozen import frozen

CHARS_PER_TOKEN = 3.6
"""For figures while a reply streams, marked with ~: English and code, Laguna's tokenizer."""

LEAST_RATE_TOKENS = 500
"""A speed of reading is learnt only from so many tokens that were not cached."""

SLOW_AFTER_SECONDS = 1.0
"""How long a state lasts before its seconds are worth showing."""


class Phase(StrEnum):
    """What the server or a tool is doing."""

    IDLE = "idle"
    CONNECTING = "connecting"
    QUEUED = "queued"
    LOADING = "loading the model"
    PREFILL = "reading the prompt"
    THINKING = "thinking"
    WRITING = "writing"
    ARGUMENTS = "writing a call"
    TOOL = "running"
    APPROVAL = "waiting for your answer"
    RETRY = "trying again"
    HOOK = "running a hook"
    AGENT = "waiting for the agent"


_AT_SERVER = frozenset({Phase.PREFILL, Phase.THINKING, Phase.WRITING, Phase.ARGUMENTS})

_WAITING = {
    "connecting": Phase.CONNECTING,
    "queued": Phase.QUEUED,
    "loading": Phase.LOADING,
    "prefill": Phase.PREFILL,
    "retry": Phase.RETRY,
    "hook": Phase.HOOK,
    "agent": Phase.AGENT,
}


@frozen
class Speed:
    """Speeds of the last reply that told them, in tokens a second; 0 is unknown."""

    reading: float = 0.0
    writing: float = 0.0


@dataclass(slots=True)
class Activity:
    """The state of the running run, or of a request beside runs (a compaction, a message), for one line of text."""

    phase: Phase = Phase.IDLE
    detail: str = ""
    since: float = 0.0
    run_since: float = 0.0
    speed: Speed = field(default_factory=Speed)
    context: int = 0
    cached: float = -1.0
    turn: int = 0
    expected: float = 0.0
    retry_at: float = 0.0
    tries: str = ""
    turn_since: float = 0.0
    drafts: float = -1.0
    queue: str = ""
    progress: float = -1.0
    _in_run: bool = False
    _asked: set[str] = field(default_factory=set[str])
    _chars: int = 0
    _known: int = 0
    _titles: dict[str, str] = field(default_factory=dict[str, str])
    _running: list[str] = field(default_factory=list[str])

    @property
    def busy(self) -> bool:
        return self.phase is not Phase.IDLE

    def take(self, event: Event, now: float) -> None:
        """Follow an event."""
        body = event.body
        match body:
            case RunStarted():
                self.run_since, self._in_run = now, True
                self._asked.clear()
                self._running.clear()
                self._enter(Phase.CONNECTING, now)
            case TurnStarted():
                self.turn = event.envelope.turn
                self._begin_turn(body, now)
            case Waiting():
                self._wait(body, now)
            case ReasoningDelta(text=text):
                self._stream(Phase.THINKING, len(text), now)
            case ContentDelta(text=text):
                self._stream(Phase.WRITING, len(text), now)
            case CallProgress():
                self._enter(Phase.ARGUMENTS, now, body.path or body.name)
                self._chars = body.chars
            case UsageReported():
                self._measure(body)
                self.rest(now)
            case ApprovalAsked() | QuestionAsked() | ApprovalGiven() | QuestionAnswered():
                self._ask(body, event.envelope.call, now)
            case CallStarted(name=name):
                self._running.append(event.envelope.call)
                self._titles[event.envelope.call] = name
                self._go_on(now)
            case CallFinished():
                self._finish_call(event.envelope.call, now)
            case TurnFinished():
                self._enter(Phase.CONNECTING, now)
            case GuardFired(guard="thinking", action="cut"):
                self._chars = 0
            case RunFinished():
                self._in_run = False
                self._asked.clear()
                self._enter(Phase.IDLE, now)
            case _:
                pass

    def _ask(
        self, body: ApprovalAsked | QuestionAsked | ApprovalGiven | QuestionAnswered, call: str, now: float
    ) -> None:
        """A person is asked, or has answered."""
        which = body.id or call
        match body:
            case ApprovalAsked(name=name):
                self._asked.add(which)
                self._enter(Phase.APPROVAL, now, name)
            case QuestionAsked():
                self._asked.add(which)
                self._enter(Phase.APPROVAL, now)
            case _:
                self._asked.discard(which)
                self._go_on(now, Phase.TOOL if isinstance(body, ApprovalGiven) else Phase.CONNECTING)

    def hear(self, running: int, waiting: int, drafts: float) -> None:
        """What the server's metrics say: its requests, and drafted tokens accepted a step, -1 unknown."""
        self.drafts = drafts if drafts >= 0 else self.drafts
        self.queue = f"{waiting} waiting and {running} running there" if waiting else ""

    @property
    def worth_watching(self) -> bool:
        """Whether the server works on a reply: only then is it asked how."""
        return self.phase in _AT_SERVER

    def rest(self, now: float) -> None:
        """Nothing goes on but a run, if there is one: what was asked beside runs has its reply, or failed."""
        if not self._in_run:
            self._enter(Phase.IDLE, now)

    def _enter(self, phase: Phase, now: float, detail: str = "") -> None:
        if phase is not self.phase or (detail and detail != self.detail):
            self.since = now
            self.progress = -1.0
            self._chars = 0
        self.phase, self.detail = phase, detail

    def _begin_turn(self, body: TurnStarted, now: float) -> None:
        new = max(0, body.prompt_tokens - self._known)
        self.context = body.prompt_tokens
        self.expected = new / self.speed.reading if self.speed.reading else 0.0
        self.turn_since, self.tries, self.queue = now, "", ""
        self._enter(Phase.PREFILL, now, f"about {body.prompt_tokens:,} tokens")

    def _wait(self, body: Waiting, now: float) -> None:
        self._enter(_WAITING.get(body.state, Phase.CONNECTING), now, body.detail)
        self.progress = body.progress
        self.retry_at = now + body.seconds if body.seconds else 0.0
        if body.number:
            self.tries = f"try {body.number}" + (f" of {body.most}" if body.most else "")

    def _stream(self, phase: Phase, chars: int, now: float) -> None:
        if self.phase is not phase:
            self._enter(phase, now)
        self._chars += chars

    def _finish_call(self, call: str, now: float) -> None:
        if call in self._running:
            self._running.remove(call)
        self._go_on(now)

    def _go_on(self, now: float, idle: Phase = Phase.CONNECTING) -> None:
        """What goes on once something of it has ended; while anything waits for the person, that is said.

        idle: the phase of a run in which no call runs.
        """
        if self._asked:
            self._enter(Phase.APPROVAL, now, self.detail if self.phase is Phase.APPROVAL else "")
        elif self._running:
            self._enter(Phase.TOOL, now, self._shown_running())
        elif self._in_run:
            self._enter(idle, now)
        else:
            self.rest(now)

    def _shown_running(self) -> str:
        names = [self._titles.get(c, "") for c in self._running]
        return ", ".join(n for n in names if n)

    def _measure(self, body: UsageReported) -> None:
        usage = body.usage
        self.context = usage.prompt + usage.completion
        self._known = self.context
        self.cached = usage.cached / usage.prompt if usage.prompt and usage.cached else self.cached
        if usage.estimated:
            return
        read = usage.prompt - usage.cached
        reading = self.speed.reading
        prefill = body.first_token_seconds - body.waited_seconds
        if read >= LEAST_RATE_TOKENS and prefill > 0:
            reading = read / prefill
        seconds = body.reply_seconds - body.first_token_seconds
        writing = (usage.completion - 1) / seconds if seconds > 0 and usage.completion > 1 else self.speed.writing
        self.speed = Speed(reading, writing)

    def words(self, now: float) -> list[str]:
        """The parts of the line, the most important first: state, amount, time."""
        seconds = now - self.since
        match self.phase:
            case Phase.IDLE:
                return []
            case Phase.PREFILL:
                return [self.phase.value, self.queue or self.detail, self._prefilltime_words(seconds)]
            case Phase.THINKING | Phase.WRITING:
                return [self.phase.value, self._amount(seconds), time_words(seconds)]
            case Phase.ARGUMENTS:
                amount = f"{self._chars:,} characters" if self._chars else "its arguments"
                return [f"writing {self.detail}", amount, time_words(seconds)]
            case Phase.TOOL:
                return [f"running {self.detail}".rstrip(), time_words(seconds)]
            case Phase.RETRY | Phase.CONNECTING | Phase.QUEUED | Phase.LOADING if self.tries and self.detail:
                return [self.phase.value, self.detail, self._next_try(now), _in_all(now - self.turn_since)]
            case _:
                return [self.phase.value, self.detail, time_words(seconds)]

    def _next_try(self, now: float) -> str:
        left = self.retry_at - now
        return f"{self.tries} in {left:.0f} s" if left > 0 else f"{self.tries} now"

    def _amount(self, seconds: float) -> str:
        tokens = self._chars / CHARS_PER_TOKEN
        rate = f", ~{tokens / seconds:.0f} a second" if seconds > SLOW_AFTER_SECONDS else ""
        drafts = f", {self.drafts:.1f} drafts a step" if self.drafts >= 0 else ""
        return f"~{tokens:,.0f} tokens{rate}{drafts}"

    def _prefilltime_words(self, seconds: float) -> str:
        if self.progress >= 0:
            return f"{self.progress:.0%}, {seconds:.0f} s"
        if self.expected > SLOW_AFTER_SECONDS:
            return f"{seconds:.0f} s of about {self.expected:.0f} s"
        return time_words(seconds)


def opening_words(base_url: str, seconds: float, most: float = 0.0) -> list[str]:
    """What the line says while a session opens; base_url as in `Settings`; most is for how long, 0 if that is open."""
    place = base_url.rpartition("://")[2].rpartition("@")[2]
    time = time_words(seconds)
    limit = f" of at most {time_words(most)}" if time and seconds < most and time_words(most) else ""
    return ["looking for the server", place or "on the usual ports", f"{time}{limit}"]


def _in_all(seconds: float) -> str:
    return f"{time} in all" if (time := time_words(seconds)) else ""


def time_words(seconds: float) -> str:
    """A time for the line, "" while it is not worth showing."""
    if seconds < SLOW_AFTER_SECONDS:
        return ""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
