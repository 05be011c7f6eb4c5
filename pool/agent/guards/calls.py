"""Guards on what a run does: calls that repeat, edits that go back and forth, turns that lead nowhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pool.agent.calls import Outcome
from pool.agent.guards import Guard
from pool.agent.guards.loops import LoopWatch, effect_of, result_digest
from pool.agent.limits import Limits
from pool.agent.state import CallNote, RunState, Stop, Verdict
from pool.config.guards import GuardSettings
from pool.events import StopReason
from pool.wire.reading import Reading
from pool_tools import Effect

FRESH_WEIGHT = 0.5
"""What a turn counts that changed nothing but brought a result not seen before: an investigation may take longer."""

_PLANNED = re.compile(
    r"(?:^|[.!?:\n]\s*)(?:ok(?:ay)?[,.]? )?(?:(?:the )?plan(?:ning)? is (?:now )?(?:done|complete|clear)"
    r"|(?:now )?(?:i(?:'ll| will)|let me) (?:now )?(?:start|begin) "
    r"(?:coding|writing|implementing|editing|with the (?:edit|change|implementation)))"
    r"|計画は(?:でき|完了)|では、?(?:実装|修正|コーディング)を(?:始め|開始)",
    re.IGNORECASE,
)


SAME_IN_REPLY = 2
"""How often one reply may make the same call; the rest of them is answered, not run."""


class LoopGuard(Guard):
    """Ends runs that make the same call, or the same few calls, with the same results; see `LoopWatch`."""

    name = "loop"

    def __init__(self, settings: GuardSettings) -> None:
        self._watch = LoopWatch(settings.repeats, settings.cycle_rounds)
        self._in_reply = Counter[str]()
        self._forgotten = 0

    def after_reply(self, run: RunState, reading: Reading) -> Verdict | None:
        self._in_reply.clear()
        if run.forgotten != self._forgotten:
            self._forgotten = run.forgotten
            self._watch.forget_reads()
        return None

    def before_call(self, run: RunState, name: str, args: Mapping[str, Any]) -> str:
        key = effect_of(name, args).signature
        self._in_reply[key] += 1
        if self._in_reply[key] > SAME_IN_REPLY:
            return f"{name} was not run: this reply makes the same call more than {SAME_IN_REPLY} times."
        return self._watch.blocked(name, args)

    def after_call(self, run: RunState, outcome: Outcome) -> CallNote | None:
        changed, reads = changed_anew(run, outcome), outcome.effect is Effect.READ
        verdict = self._watch.after(outcome.name, outcome.args, outcome.text, changed=changed, reads=reads)
        if verdict.stop:
            return CallNote(detail=verdict.detail, stop=Stop(StopReason.LOOP, verdict.detail))
        return CallNote(verdict.note, verdict.detail) if verdict.note else None


class PingPongGuard(Guard):
    """Ends runs whose edits bring the same earlier contents of a file back, again and again.

    Taking a change back once, or to see a test fail without it, is honest. Contents that the file never had clear what
    was counted.
    """

    name = "ping-pong"

    def __init__(self, note_at: int, stop_at: int) -> None:
        self._note_at = note_at
        self._stop_at = stop_at
        self._returns = Counter[str]()

    def after_call(self, run: RunState, outcome: Outcome) -> CallNote | None:
        for change in outcome.changes:
            if change.path not in run.came_back:
                self._returns[change.path] = 0
                continue
            self._returns[change.path] += 1
            count = self._returns[change.path]
            detail = f"{change.path} went back to earlier contents {count} times"
            if self._stop_at and count >= self._stop_at:
                return CallNote(detail=detail, stop=Stop(StopReason.LOOP, detail))
            if self._note_at and count >= self._note_at:
                text = f"[Pool] {detail}. Editing back and forth leads nowhere: take another way, or say what is wrong."
                return CallNote(text, detail)
        return None


class ProgressGuard(Guard):
    """Ends runs in which nothing happens.

    Progress is a file changed to contents that it did not have before, or a test result not seen before. Turns that at
    least learn something new (a result that no call gave before) count `FRESH_WEIGHT`, until the model has said that
    its plan is complete: reading on after that counts in full, and is told after reads_after_plan turns.
    """

    name = "progress"

    def __init__(self, limits: Limits, reads_after_plan: int, only_reading: Callable[[], bool] = lambda: False) -> None:
        """only_reading says whether nothing may be changed now, so that reading is all that there is to do."""
        self._limits = limits
        self._only_reading = only_reading
        self._reads_after_plan = reads_after_plan
        self._idle = 0.0
        self._told = False
        self._planned = False
        self._reads = 0
        self._reads_told = False
        self._moved = False
        self._seen: set[str] = set()
        self._test_runs = 0
        self._moved_at = 0.0

    def before_turn(self, run: RunState) -> Verdict | None:
        limit, idle = self._limits.run.idle_stop_seconds, run.seconds - self._moved_at
        if 0 < limit <= idle:
            return Stop(StopReason.NO_PROGRESS, f"no file was changed and no new test result came for {idle:,.0f} s")
        return None

    def after_reply(self, run: RunState, reading: Reading) -> Verdict | None:
        if _PLANNED.search(reading.reasoning) or _PLANNED.search(reading.content):
            self._planned = True
        return None

    def after_call(self, run: RunState, outcome: Outcome) -> CallNote | None:
        self._moved = self._moved or changed_anew(run, outcome)
        reading = self._only_reading()
        if not reading and self._reads_after_plan and self._reads >= self._reads_after_plan and not self._reads_told:
            self._reads_told = True
            detail = f"{self._reads} turns of reading since the plan was complete"
            text = f"[Pool] {detail}. Make the change now, or say what is missing."
            return CallNote(text, detail)
        note_after = self._limits.run.idle_turns_note
        if not note_after or self._told or self._idle < note_after:
            return None
        self._told = True
        step = "Answer" if reading else "Take a step that changes something, or answer"
        text = f"[Pool] For a while no file was changed and no new test result came. {step} with what you know."
        return CallNote(text, "no progress for a while")

    def after_calls(self, run: RunState, outcomes: Sequence[Outcome]) -> Verdict | None:
        fresh = [self._is_new(o) for o in outcomes]
        tested = len(run.ledger.runs) > self._test_runs and any(fresh)
        self._test_runs = len(run.ledger.runs)
        if tested or self._moved:
            self._idle, self._told, self._moved = 0.0, False, False
            self._planned, self._reads, self._reads_told = False, 0, False
            self._moved_at = run.seconds
            return None
        self._reads += self._planned and all(o.effect is Effect.READ for o in outcomes)
        self._idle += FRESH_WEIGHT if any(fresh) and not self._planned else 1.0
        if 0 < self._limits.run.idle_turns_stop <= self._idle:
            return Stop(StopReason.NO_PROGRESS, "no file was changed and no new test result came for too many turns")
        return None

    def go_on(self, run: RunState) -> None:
        self._idle, self._told = 0.0, False
        self._moved_at = run.seconds

    def _is_new(self, outcome: Outcome) -> bool:
        effect = effect_of(outcome.name, outcome.args)
        key = f"{effect.signature} {result_digest(outcome.text, effect.labels)}"
        new = key not in self._seen
        self._seen.add(key)
        # A command that fails tells something; an edit or a read that fails only tells that it was wrong.
        return new and (outcome.status == "ok" or (outcome.status == "failed" and outcome.effect is Effect.EXECUTE))


def changed_anew(run: RunState, outcome: Outcome) -> bool:
    """Whether a call left a file with contents that it did not have before in this run."""
    return any(change.path not in run.came_back for change in outcome.changes)
