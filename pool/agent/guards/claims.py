"""The claims guard: "all tests pass" and "it is done" must be backed by what was run."""

from __future__ import annotations

from pool.agent.guards import Guard
from pool.agent.state import Nudge, RunState, Verdict
from pool.wire.reading import Ending, Reading


class ClaimsGuard(Guard):
    """Compares the final answer with the test ledger; tells the model once, then marks the result unverified.

    A run that changed nothing and ran nothing is left alone: it may report what it read.
    """

    name = "claims"

    def __init__(self) -> None:
        self._told = False

    def after_reply(self, run: RunState, reading: Reading) -> Verdict | None:
        if reading.ending is not Ending.WHOLE or reading.calls or reading.broken:
            return None
        why = run.ledger.against(reading.content)
        if not why:
            run.unverified = ""
            return None
        if self._told:
            run.unverified = why.replace("you say", "the answer says", 1)
            return None
        self._told = True
        text = f"[Pool] {why[0].upper()}{why[1:]}. Run the tests now, or correct your answer."
        return Nudge(text, f"a claim is not backed: {why}")
