"""A whole review: what was reviewed, what was found, what was not looked at, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pool.agent.review.finding import Finding, Place, Severity
from pool.agent.review.parts import LeftOut
from pool.events import STOP_TABLE, StopReason, Usage
from pool.jsonable import plain
from pool_tools.frozen import frozen
from pool_tools.text import plural

REVIEW_TYPE = "review"
REVIEW_VERSION = 1
EXIT_FOUND = 3
"""Exit code of a review with a finding that is as bad as `--fail-on` says; no run ends with it."""


@frozen
class PartEnd:
    """How the review of a part ended. detail is one line, "" for one that is complete; session is that of its run."""

    files: tuple[str, ...]
    reason: StopReason
    exit_code: int
    detail: str = ""
    session: str = ""


@frozen
class Review:
    """A review. what says what was reviewed; findings are ranked, worst first; summaries are the model's words.

    added and removed count the reviewed lines. parts are in order; a part that did not end well was not reviewed.
    """

    what: str
    findings: tuple[Finding, ...] = ()
    summaries: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    parts: tuple[PartEnd, ...] = ()
    added: int = 0
    removed: int = 0
    model: str = ""
    server: str = ""
    seconds: float = 0.0
    usage: Usage = Usage()

    @property
    def unreviewed(self) -> tuple[PartEnd, ...]:
        """The parts that were not reviewed to their end."""
        return tuple(part for part in self.parts if part.exit_code)

    def counted(self, fail_on: Severity | None) -> list[Finding]:
        """The findings that make a review fail: at least that bad, and at a line of the diff. None: none does."""
        if fail_on is None:
            return []
        return [f for f in self.findings if f.severity.weight >= fail_on.weight and f.place is not Place.OUTSIDE]

    def exit_code(self, fail_on: Severity | None) -> int:
        """`EXIT_FOUND` for findings that count, else that of the first part that was not reviewed, else 0."""
        if self.counted(fail_on):
            return EXIT_FOUND
        return next((part.exit_code for part in self.unreviewed), 0)

    def to_dict(self) -> dict[str, Any]:
        """The review as one JSON object, with its `type` and its version `v` first."""
        return {"type": REVIEW_TYPE, "v": REVIEW_VERSION, **plain(self)}


def heading(review: Review) -> str:
    """What was reviewed, in a line."""
    return f"{review.what}: {plural(len(review.files), 'file')}, +{review.added:,} -{review.removed:,}"


def verdict(review: Review) -> str:
    """What was found, in a line."""
    if not review.files:
        return "nothing to review"
    if not review.findings:
        return "no findings" if not review.unreviewed else "no findings in what was reviewed"
    counts = [(s, sum(f.severity is s for f in review.findings)) for s in Severity]
    said = ", ".join(f"{count} {severity.value}" for severity, count in counts if count)
    outside = sum(f.place is Place.OUTSIDE for f in review.findings)
    more = f"; {outside} outside of the diff" if outside else ""
    return f"{plural(len(review.findings), 'finding')}: {said}{more}"


def unreviewed_lines(review: Review) -> list[str]:
    """What was not reviewed, and why, a line each."""
    lines = [f"not reviewed: {', '.join(part.files)}: {part.detail}" for part in review.unreviewed]
    return [*lines, *(f"left out: {one.path} ({one.why})" for one in review.left_out)]


def ended(reason: StopReason, detail: str, files: Sequence[str], session: str = "", number: int = 0) -> PartEnd:
    """The end of a part by its run's stop reason; number is that of a signal."""
    return PartEnd(tuple(files), reason, STOP_TABLE[reason].exit + number, detail or reason.value, session)
