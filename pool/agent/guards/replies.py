"""The reply guard: a reply that gives nothing to act on gets one nudge, and then the run stops honestly."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pool.agent.calls import Outcome
from pool.agent.guards import Guard
from pool.agent.guards.thinking import ANSWER_CUT
from pool.agent.state import Nudge, RunState, Steer, Stop, Verdict
from pool.events import StopReason
from pool.wire.reading import Ending, Reading

_VERBS = (
    r"(?:check|look|read|run|fix|edit|update|create|write|add|implement|change|search|find|open|start|begin|make|test|"
    r"modify|remove|refactor|inspect|examine|explore|try|apply|install|verify|see what)"
)
_LEAD = r"(?:(?:now|next|then|first|so|great|good|ok(?:ay)?|alright|perfect)[,.!:]? +)*"
_ANNOUNCES = re.compile(
    rf"^{_LEAD}(?:i will|i'll|i’ll|i am going to|i'm going to|i’m going to|let me(?! know)|let's|let’s)\b.*[:…]$"
    rf"|^{_LEAD}(?:i will|i'll|i’ll|let me) +(?:now |first |start by |begin by |go ahead and |quickly |also )*"
    rf"{_VERBS}(?:ing)?\b.*[.!:…]?$"
    r"|(?:します|しましょう|してみます|ます)[::]$"
    r"|^(?:では|それでは|まず|次に|続いて|これから|今から|さっそく)、?.*(?:します|しましょう|てみます|ていきます)[。:…]?$",
    re.IGNORECASE,
)
_WAITS_FOR_USER = re.compile(
    r"\b(?:(?:if|once|when|after|unless) you|your (?:ok|go-ahead|approval|answer|confirmation|permission|reply))\b"
    r"|\blet me know\b|\?|ください|よろしければ|ご確認|\uff1f",
    re.IGNORECASE,
)
_LAST_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。\uff01\uff1f])")


class ReplyGuard(Guard):
    """Watches for empty replies, thinking without an answer, cut replies, and announced actions that do not come."""

    name = "reply"

    def __init__(self, announcements: int, unknown_tools: int) -> None:
        """announcements: nudges in a row for an action that was announced and not taken, 0 for none.

        unknown_tools: calls in a row of tools that do not exist, that end the run; 0 for no limit.
        """
        self._nudges = announcements
        self._unknown_tools = unknown_tools
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
            self._nothing_in_row = self._cut_in_row = self._announced = 0
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
        if 0 < self._unknown_tools <= self._unknown_in_row:
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
            who = "Pool" if ANSWER_CUT in reading.repairs else "the server"
            detail = f"{who} stopped a reply that repeated itself{where}"
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
        sentences = [part.strip() for part in _LAST_SENTENCE.split(last) if part.strip()]
        announces = any(_ANNOUNCES.search(text) for text in (last, *sentences[-1:]))
        if not self._nudges or not announces or _WAITS_FOR_USER.search(last):
            return None
        self._announced += 1
        detail = "the model announced an action and did not take it"
        if self._announced > self._nudges:
            return Stop(StopReason.UNUSABLE_REPLY, f"{detail}, {self._announced} times in a row")
        told = (
            "[Pool] You said what you will do, but made no tool call. Make the call now, or say that you are finished."
        )
        return Nudge(told, detail, Steer(act=self._announced > 1))
