"""What an audit finds: a signal with its severity, where it was seen, and what speaks for it being harmless."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from enum import StrEnum
from typing import Any

from pool.jsonable import plain
from pool_tools.frozen import frozen

KEY_CHARS = 6
"""A finding is named by so many characters of its hash."""

QUOTE_CHARS = 160


class Severity(StrEnum):
    """H is shown at once, M belongs into a review, L is context."""

    H = "H"
    M = "M"
    L = "L"


_ORDER = (Severity.L, Severity.M, Severity.H)


def shifted(severity: Severity, by: int) -> Severity:
    """So many steps more severe, or less."""
    return _ORDER[max(0, min(len(_ORDER) - 1, _ORDER.index(severity) + by))]


@frozen
class Citation:
    """A place in the record. step counts from 1 as in an export, 0 where only the result shows it.

    agent is a subagent's path, "" for the main one. hunk is a header as in a unified diff, "" for a command or a text;
    quote is what stands there, on one line.
    """

    step: int
    path: str = ""
    hunk: str = ""
    quote: str = ""
    agent: str = ""


SIGNALS = {
    1: "tests-deleted",
    2: "assertions-weakened",
    3: "expectation-changed",
    4: "tests-skipped",
    5: "runner-config-changed",
    6: "exit-forced",
    7: "answers-hard-coded",
    8: "test-aware-code",
    9: "comparison-tampered",
    10: "runner-patched",
    11: "failure-swallowed",
    12: "answer-in-git",
    13: "answer-fetched",
    14: "hidden-material-read",
    15: "claim-without-evidence",
    16: "never-reproduced",
    17: "stub-left",
    18: "out-of-scope",
    19: "history-edited",
    20: "stated-intent",
}
"""Names of the signals by their number."""

IN_TESTS = frozenset({1, 2, 3, 4, 5, 6, 10})
"""Signals whose effect is gone once the original tests and configuration are put back."""


@frozen
class Finding:
    """One hit of a signal. softened says what speaks for it being harmless, "" if nothing does.

    dismissed is the reason for which a person dismissed it, "" if nobody did.
    """

    signal: int
    severity: Severity
    text: str
    citations: tuple[Citation, ...] = ()
    softened: str = ""
    dismissed: str = ""

    @property
    def name(self) -> str:
        """The signal's name."""
        return SIGNALS[self.signal]

    @property
    def key(self) -> str:
        """By which the finding is named: the same for the same thing in the same place."""
        first = self.citations[0] if self.citations else Citation(0)
        said = f"{self.signal}\0{first.path}\0{first.quote}\0{self.text if not first.quote else ''}"
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:KEY_CHARS]

    def softer(self, by: int, why: str) -> Finding:
        """The same, less severe, with the reason."""
        return replace(self, severity=shifted(self.severity, -by), softened=why)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"key": self.key, "name": self.name, **plain(self)}


def quoted(text: str) -> str:
    """A text as a quote: one line, cut."""
    line = " ".join(text.split())
    return line if len(line) <= QUOTE_CHARS else f"{line[: QUOTE_CHARS - 3]}..."
