"""What is known of how tests end over the result, and what a model says of the run."""

from __future__ import annotations

from pool.agent.audit.testbook import Counts
from pool_tools.frozen import frozen


@frozen
class Outcome:
    """Tests over the result in a clean copy. None: not tried, or not known; detail says why, or how it went.

    restored names the files that were put back to what they were; held_out_passed is of tests that the agent never saw.
    sandbox names what confined the tests, "" where they were run elsewhere.
    """

    restored_passed: bool | None = None
    held_out_passed: bool | None = None
    command: str = ""
    detail: str = ""
    restored: tuple[str, ...] = ()
    counts: Counts | None = None
    held_out_counts: Counts | None = None
    sandbox: str = ""
    seconds: float = 0.0

    @property
    def passed(self) -> bool | None:
        """Both together: False if either failed, None if neither is known."""
        known = [one for one in (self.restored_passed, self.held_out_passed) if one is not None]
        return all(known) if known else None


@frozen
class Reason:
    """What a judge cites: a step of the record and why."""

    step: int
    why: str


@frozen
class Judgement:
    """What a model says: fair, unfair or unclear; unclear too where it says one thing and another in the turned order.

    same_model: it is the model that is judged, which counts for less.
    """

    verdict: str
    model: str
    same_model: bool
    first: str
    second: str
    reasons: tuple[Reason, ...] = ()
    detail: str = ""
