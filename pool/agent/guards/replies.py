"""The reply guard: a reply that gives nothing to act on gets one nudge, and then the run stops honestly."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pool.agent.calls import Outcome
from pool.agent.guards import Guard
from pool.agent.state import Nudge, RunState, Steer, Stop, Verdict
from pool.events import StopReason
from pool.wire.reading import Ending, Reading

ANNOUNCEMENT_NUDGES = 2
UNKNOWN_TOOLS_IN_ROW = 3

_ANNOUNCES = re.compile(
    r"^(?:(?:now|next|then|first|ok(?:ay)?|alright)[, ]+)*"
    r"(?:i will|i'll|i’ll|i am going to|i'm going to|i’m going to|let me|let's|let’s)\b.*[:…]$"
    r"|^(?:now|next)[, ]+(?:i will|i'll|let me)\b.*[.]$"
    r"|(?:します|しましょう|ます)[::]$",
    re.IGNORECASE,
)


class ReplyGuard(Guard):
    """Watches for empty replies, thinking without an answer, cut replies, and announced actions that do not come."""

    name = "reply"

    def __init__(self) -> None:
        self._nothing_in_row = 0
        self._cut_in_row = 0
        self._announced = 0
        self._unknown_in_row = 0

    def after_reply(self, run: RunState, reading: Reading) -> Verdict | None:
        if reading.ending is Ending.STOPPED:
            return None
        if reading.ending is not Ending.WHOLE:
            return self._cut(reading)
        if reading.calls or any(b.name or b.id for b in reading.broken):
            self._nothing_in_row = self._cut_in_row = 0
            return None
        if reading.broken:
            return self._unusable(f"your tool call could not be read: {reading.broken[0].why}", "a call came as text")
        if not reading.content.strip():
            return self._nothing(reading)
        self._nothing_in_row = self._cut_in_row = 0
        return self._announcement(reading.content)

    def after_calls(self, run: RunState, outcomes: Sequence[Outcome]) -> Verdict | None:
        for outcome in outcomes:
            unknown = outcome.status == "invalid" and outcome.data.get("unknown_tool") is True
            self._unknown_in_row = self._unknown_in_row + 1 if unknown else 0
        if self._unknown_in_row >= UNKNOWN_TOOLS_IN_ROW:
            names = ", ".join(sorted({o.name for o in outcomes}))
            return Stop(StopReason.UNUSABLE_REPLY, f"the model kept calling tools that do not exist ({names})")
        return None

    def _unusable(self, told: str, detail: str) -> Verdict:
        self._nothing_in_row += 1
        if self._nothing_in_row > 1:
            return Stop(StopReason.UNUSABLE_REPLY, f"{detail}, again after the model was told")
        return Nudge(f"[Pool] Nothing was done: {told}. Send the call again as a proper tool call, or answer.", detail)

    def _nothing(self, reading: Reading) -> Verdict:
        if reading.finish == "tool_calls":
            told, detail = (
                "the server announced a tool call, but none arrived",
                "a tool call was announced and none came",
            )
        elif reading.reasoning.strip():
            told = "your whole reply was thinking; nothing outside of it arrived"
            detail = "the model only thought and gave no answer"
        else:
            told, detail = "your reply was empty", "the model returned nothing"
        return self._unusable(told, detail)

    def _cut(self, reading: Reading) -> Verdict:
        self._cut_in_row += 1
        where = next((f" inside a call to {b.name}" for b in reading.broken if b.name), "")
        limit = f" after {reading.usage.completion:,} tokens" if reading.usage else ""
        if reading.ending is Ending.REPETITION:
            detail = f"the server stopped a reply that repeated itself{where}"
        elif not reading.content.strip() and reading.reasoning.strip() and not where:
            detail = f"the output budget went into thinking{limit}"
        else:
            detail = f"the reply was cut at the output limit{limit}{where}"
        if self._cut_in_row > (2 if where else 1):
            reason = StopReason.LOOP if reading.ending is Ending.REPETITION else StopReason.MAX_TOKENS
            return Stop(reason, f"{detail}, again after the model was told")
        told = f"[Pool] {detail[0].upper()}{detail[1:]}. Nothing of an unfinished call was run."
        if where:
            return Nudge(f"{told} Work in smaller steps: write or edit less at a time.", detail)
        return Nudge(f"{told} Go on briefly: act with a tool call, or finish your answer in a few sentences.", detail)

    def _announcement(self, content: str) -> Verdict | None:
        last = content.strip().splitlines()[-1].strip(" *_`")
        if not _ANNOUNCES.search(last) or self._announced >= ANNOUNCEMENT_NUDGES:
            return None
        self._announced += 1
        told = (
            "[Pool] You said what you will do, but made no tool call. Make the call now, or say that you are finished."
        )
        steer = Steer(act=self._announced > 1)
        return Nudge(told, "the model announced an action and did not take it", steer)
