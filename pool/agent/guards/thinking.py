"""The overthinking guard: watches the thought while it streams, has it cut, and ends runs that only think."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence

from pool.agent.calls import Outcome
from pool.agent.guards import Guard
from pool.agent.guards.answers import AnswerSignals
from pool.agent.guards.calls import changed_anew
from pool.agent.guards.signals import TAIL_BYTES, Finding, ThoughtSignals
from pool.agent.state import CallNote, Nudge, RunState, Steer, Stop, Verdict
from pool.config.guards import GuardSettings
from pool.events import StopReason
from pool.wire.reading import ContentText, Ending, Reading, ReadingEvent, ReasoningText, UsageSoFar
from pool.wire.tokens import raw_tokens
from pool_tools.frozen import frozen

CUT_AT_LIMIT = "thought-cut-at-limit"
CUT_IN_CIRCLES = "thought-cut-in-circles"
ANSWER_CUT = "answer-cut-in-circles"
CUT_FOR_USER = "thought-cut-for-user"
"""The repair of a reading whose thought was ended because the user has something to say."""

CLOSED_BY_HAND = "thought-closed"
"""The repair that a reading names when its thought was closed by Pool and the turn went on."""

CLOSING_SENTENCE = "I have thought enough. I act now."
"""What a thought ends with that Pool closes: a closing sentence works better than a bare cut."""

KEEP_STEP_CHARS = 512
DIGEST_CHARS = 240
"""How much of a thought is kept of which nothing but repetition is left."""


_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。\uff01\uff1f\n]")


@frozen
class Cut:
    """Why a reply is to end now: in one line for people, and as the name of a repair. guard cuts, "" if none does."""

    detail: str
    why: str
    guard: str = "thinking"


class ReplyWatch:
    """Watches one reply. Tokens are the server's running count where it sends one, else estimated from the bytes."""

    def __init__(
        self,
        soft_tokens: int,
        hard_tokens: int,
        note: Callable[[str], object],
        settings: GuardSettings,
        user_waits: Callable[[], bool] = lambda: False,
    ) -> None:
        """soft_tokens: note is called once with a line for people. hard_tokens: the thought is cut; 0: never.

        user_waits says whether the user has something to say, for which the thought is cut too.
        """
        self._user_waits = user_waits
        self._answer = AnswerSignals(settings.signals.answer_zlib_ratio)
        self._soft = soft_tokens
        self._hard = hard_tokens
        self._note = note
        self._signals = ThoughtSignals(settings)
        self._zlib_ratio = settings.signals.zlib_ratio
        self._estimated = 0.0
        self._counted = 0
        self._answering = False
        self._parts: list[str] = []
        self.keep = -1
        """How many characters of the thought are worth keeping, -1 for all; set when it is cut."""

    @property
    def answer_keep(self) -> int:
        """How many characters of the answer come before the part that only repeats itself."""
        return self._answer.keep

    @property
    def counted(self) -> bool:
        """Whether the server has sent a running count."""
        return self._counted > 0

    @property
    def tokens(self) -> int:
        """Tokens of reasoning so far."""
        return self._counted or round(self._estimated)

    def look(self, event: ReadingEvent) -> Cut | None:
        """Take the next event of the reply; a cut if the thought should end here."""
        match event:
            case ContentText(text=text):
                self._answering = self._answering or bool(text.strip())
                if found := self._answer.feed(text):
                    return Cut(f"the answer repeats itself: {found.detail}", ANSWER_CUT, "reply")
            case UsageSoFar(usage=usage) if not self._answering:
                self._counted = usage.completion
            case ReasoningText(text=text):
                self._parts.append(text)
                self._estimated += raw_tokens(text.encode("utf-8", "replace"))
                if self._user_waits():
                    return Cut("the user has something to say", CUT_FOR_USER, "")
                found = self._signals.feed(text)
                return self._limit() or (self._cut_for(found) if found else None)
            case _:
                pass
        return None

    def _limit(self) -> Cut | None:
        if self._hard and self.tokens >= self._hard:
            return Cut(f"the thought reached its limit of {self._hard:,} tokens", CUT_AT_LIMIT)
        if self._soft and self.tokens >= self._soft:
            self._soft = 0
            self._note(f"{self.tokens:,} tokens of thought in this turn; the limit is {self._hard:,}")
        return None

    def _cut_for(self, found: Finding) -> Cut:
        if found.name in ("repetition", "same-sentence"):
            self.keep = repetition_start("".join(self._parts), self._zlib_ratio)
        return Cut(f"the thought went in circles: {found.detail}", CUT_IN_CIRCLES)


def repetition_start(thought: str, zlib_ratio: float) -> int:
    """Where the part of a thought begins that only repeats itself: that compresses to less than zlib_ratio."""
    for at in range(0, len(thought), KEEP_STEP_CHARS):
        rest = thought[at:].encode("utf-8", "replace")
        if len(zlib.compress(rest, 6)) < len(rest) * zlib_ratio:
            return at
    return max(0, len(thought) - TAIL_BYTES)


def closed_thought(thought: str, keep: int) -> str:
    """A thought with its runaway end dropped, cut at a sentence, and closed. keep is as in `ReplyWatch`."""
    kept = thought if keep < 0 else thought[:keep]
    ends = [m.end() for m in _SENTENCE_END.finditer(kept)]
    if ends and ends[-1] > len(kept) // 2:
        kept = kept[: ends[-1]]
    if not kept.strip():
        sentences = [" ".join(x.split()) for x in _SENTENCE_END.split(thought[:DIGEST_CHARS])]
        kept = ". ".join(x for x in dict.fromkeys(sentences) if x)
    kept = kept.rstrip()
    return f"{kept}\n{CLOSING_SENTENCE}"


class ThinkingGuard(Guard):
    """Counts cut thoughts since the last progress, and the reasoning tokens of the run (a budget guard limits them)."""

    name = "thinking"

    def __init__(self, settings: GuardSettings) -> None:
        self._settings = settings
        self._cuts = 0
        self._tests = 0

    def after_reply(self, run: RunState, reading: Reading) -> Verdict | None:
        run.reasoning_tokens += round(raw_tokens(reading.reasoning.encode("utf-8", "replace")))
        cuts = [r for r in reading.repairs if r in (CUT_AT_LIMIT, CUT_IN_CIRCLES)]
        self._cuts += len(cuts)
        if cuts and self._is_enough(acting=bool(reading.calls)):
            circles = CUT_IN_CIRCLES in cuts
            reason = StopReason.OVERTHINKING if circles else StopReason.MAX_REASONING
            return Stop(reason, f"{self._cuts} thoughts had to be cut, and nothing was done in between")
        if reading.ending is Ending.STOPPED and CUT_FOR_USER not in reading.repairs:
            text = "[Pool] Your thought was cut: planning is done. Take the next step with a tool, or answer now."
            return Nudge(text, "the thought was cut", Steer(no_thought=True))
        return None

    def _is_enough(self, *, acting: bool) -> bool:
        """Whether so many cuts end the run. A cut that led to a call has done its work, so more of those may pass."""
        limit = self._settings.cuts_acting if acting else self._settings.cuts
        return 0 < limit <= self._cuts

    def after_call(self, run: RunState, outcome: Outcome) -> CallNote | None:
        if changed_anew(run, outcome):
            self._cuts = 0
        return None

    def after_calls(self, run: RunState, outcomes: Sequence[Outcome]) -> Verdict | None:
        if len(run.ledger.runs) > self._tests:
            self._cuts = 0
        self._tests = len(run.ledger.runs)
        return None
