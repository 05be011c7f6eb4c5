"""Guards: small rules that watch a run and may nudge or stop it. The loop asks them at three fixed points."""

from __future__ import annotations

from collections.abc import Sequence

from pool.agent.calls import Outcome
from pool.agent.state import RunState, Verdict
from pool.wire.reading import Reading


class Guard:
    """A rule with a name. Each hook may return a verdict; the first one counts. Guards keep state for one run."""

    name = "guard"

    def before_turn(self, run: RunState) -> Verdict | None:
        """Before a request is sent."""

    def after_reply(self, run: RunState, reading: Reading) -> Verdict | None:
        """After a reply was read, before its calls run."""

    def after_calls(self, run: RunState, outcomes: Sequence[Outcome]) -> Verdict | None:
        """After a turn's calls have run."""


__all__ = ["Guard"]
