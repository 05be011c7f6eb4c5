"""Guards: small rules that watch a run and may nudge or stop it. The loop asks them at five fixed points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pool.agent.calls import Outcome
from pool.agent.state import CallNote, RunState, Verdict
from pool.wire.reading import Reading


class Guard:
    """A rule with a name. Each hook may return a verdict; the first one counts. Guards keep state for one run."""

    name = "guard"

    def before_turn(self, run: RunState) -> Verdict | None:
        """Before a request is sent."""

    def after_reply(self, run: RunState, reading: Reading) -> Verdict | None:
        """After a reply was read, before its calls run."""

    def before_call(self, run: RunState, name: str, args: Mapping[str, Any]) -> str:
        """Before a valid call runs: why it will not, told to the model; "" lets it run."""
        return ""

    def after_call(self, run: RunState, outcome: Outcome) -> CallNote | None:
        """After a call, in call order, before its result enters the history."""

    def after_calls(self, run: RunState, outcomes: Sequence[Outcome]) -> Verdict | None:
        """After a turn's calls have run."""

    def go_on(self, run: RunState) -> None:
        """A person lets a run go on that a guard has stopped: make room for more, where the stop was this guard's."""


__all__ = ["Guard"]
