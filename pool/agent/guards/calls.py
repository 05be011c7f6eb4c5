"""Guards on what a run does: calls that repeat, and turns that lead nowhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from pool.agent.calls import Outcome
from pool.agent.guards import Guard
from pool.agent.guards.loops import LoopWatch, signature
from pool.agent.state import CallNote, RunState, Stop, Verdict
from pool.events import StopReason


class LoopGuard(Guard):
    """Ends runs that make the same call, or the same few calls, with the same results; see `LoopWatch`."""

    name = "loop"

    def __init__(self) -> None:
        self._watch = LoopWatch()

    def before_call(self, run: RunState, name: str, args: Mapping[str, Any]) -> str:
        return self._watch.blocked(name, args)

    def after_call(self, run: RunState, outcome: Outcome) -> CallNote | None:
        verdict = self._watch.after(outcome.name, outcome.args, outcome.text, changed=bool(outcome.changes))
        if verdict.stop:
            return CallNote(detail=verdict.detail, stop=Stop(StopReason.LOOP, verdict.detail))
        return CallNote(verdict.note, verdict.detail) if verdict.note else None


class ProgressGuard(Guard):
    """Ends runs in which nothing happens.

    Progress is a changed file or a test result not seen before. Turns that at least learn something new (a result that
    no call gave before) count half, so that an investigation may take twice as long.
    """

    name = "progress"

    def __init__(self, note_after: int, stop_after: int) -> None:
        self._note_after = note_after
        self._stop_after = stop_after
        self._idle = 0.0
        self._told = False
        self._seen: set[str] = set()
        self._test_runs = 0

    def after_call(self, run: RunState, outcome: Outcome) -> CallNote | None:
        if not self._note_after or self._told or self._idle < self._note_after:
            return None
        self._told = True
        text = (
            f"[Pool] {self._idle:.0f} turns have passed without a changed file or a new test result. "
            "Take a step that changes something, or answer with what you know."
        )
        return CallNote(text, "no progress for a while")

    def after_calls(self, run: RunState, outcomes: Sequence[Outcome]) -> Verdict | None:
        fresh = [self._is_new(o) for o in outcomes]
        tested = len(run.ledger.runs) > self._test_runs and any(fresh)
        self._test_runs = len(run.ledger.runs)
        if tested or any(o.changes for o in outcomes):
            self._idle, self._told = 0.0, False
        else:
            self._idle += 0.5 if any(fresh) else 1.0
        if self._stop_after and self._idle >= self._stop_after:
            return Stop(StopReason.NO_PROGRESS, "no file was changed and no new test result came for too many turns")
        return None

    def _is_new(self, outcome: Outcome) -> bool:
        text = f"{signature(outcome.name, outcome.args)} {outcome.text}"
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
        new = digest not in self._seen
        self._seen.add(digest)
        return new and outcome.status in ("ok", "failed")
