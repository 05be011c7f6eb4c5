"""What a review found: findings with a severity and a place, and the form in which a model reports them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pool.agent.review.patch import Change, FilePatch, Line
from pool_tools.frozen import frozen

NEAR_LINES = 3
"""A finding so close to a line of the diff is about it: a model may miscount, and a hunk shows three lines around."""

MOST_FINDINGS = 50
TITLE_CHARS = 120
REASON_CHARS = 1200
MOST_LINE = 10_000_000


class Severity(StrEnum):
    """How bad it is, worst first."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def weight(self) -> int:
        """3 for the worst, 1 for the least."""
        return {Severity.HIGH: 3, Severity.MEDIUM: 2, Severity.LOW: 1}[self]


class Kind(StrEnum):
    """What a finding is about."""

    CORRECTNESS = "correctness"
    SECURITY = "security"
    DATA_LOSS = "data-loss"
    CONCURRENCY = "concurrency"
    PERFORMANCE = "performance"
    COMPATIBILITY = "compatibility"
    TESTS = "tests"
    MAINTAINABILITY = "maintainability"


KINDS: Mapping[Kind, str] = {
    Kind.CORRECTNESS: "The change gives a wrong result, or fails.",
    Kind.SECURITY: "The change lets somebody do what they must not.",
    Kind.DATA_LOSS: "The change can lose or damage data.",
    Kind.CONCURRENCY: "The change goes wrong where things happen at the same time.",
    Kind.PERFORMANCE: "The change costs much more time or memory than it needs to.",
    Kind.COMPATIBILITY: "The change breaks those who use what it changes.",
    Kind.TESTS: "A test was weakened, is missing, or cannot fail.",
    Kind.MAINTAINABILITY: "The change is hard to understand or to go on with.",
}


class Place(StrEnum):
    """Whether the diff holds the line that a finding cites.

    CHANGED: the diff changes it. CONTEXT: the diff shows it, or one beside it. OUTSIDE: it is in another part of the
    file, in a file that the diff does not change, or nowhere.
    """

    CHANGED = "changed"
    CONTEXT = "context"
    OUTSIDE = "outside"


@frozen
class Finding:
    """One finding. line and end_line count from 1 in the new file; quote is the cited line, "" where it is not known.

    why_outside says what is wrong with the place of one that is outside of the diff.
    """

    file: str
    line: int
    end_line: int
    severity: Severity
    kind: Kind
    title: str
    reason: str
    place: Place
    quote: str = ""
    why_outside: str = ""

    @property
    def at(self) -> str:
        """The place as `file:line`."""
        return f"{self.file}:{self.line}"


FORM: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "findings": {
            "type": "array",
            "maxItems": MOST_FINDINGS,
            "items": {
                "type": "object",
                "properties": {
                    "file": {"type": "string"},
                    "line": {"type": "integer", "minimum": 1},
                    "end_line": {"type": "integer", "minimum": 1},
                    "severity": {"enum": [s.value for s in Severity]},
                    "kind": {"enum": [k.value for k in Kind]},
                    "title": {"type": "string", "minLength": 1, "maxLength": TITLE_CHARS},
                    "reason": {"type": "string", "minLength": 1, "maxLength": REASON_CHARS},
                },
                "required": ["file", "line", "severity", "kind", "title", "reason"],
                "additionalProperties": False,
            },
        },
        "summary": {"type": "string", "maxLength": REASON_CHARS},
    },
    "required": ["findings", "summary"],
    "additionalProperties": False,
}
"""JSON Schema of a model's report."""


def placed(rows: list[dict[str, Any]], files: Mapping[str, FilePatch]) -> list[Finding]:
    """A report's rows, which fit `FORM`, as findings, each one's place looked up in the diff. Repeated ones are one.

    files are those of the diff by the names that the model was shown.
    """
    found: dict[tuple[str, int, str], Finding] = {}
    for row in rows:
        one = _placed(row, files)
        found.setdefault((one.file, one.line, " ".join(one.title.casefold().split())), one)
    return list(found.values())


def ranked(findings: list[Finding]) -> list[Finding]:
    """Worst first, then by place; those outside of the diff last."""
    return sorted(findings, key=lambda f: (f.place is Place.OUTSIDE, -f.severity.weight, f.file, f.line, f.title))


def _placed(row: dict[str, Any], files: Mapping[str, FilePatch]) -> Finding:
    name = str(row["file"]).strip()
    name = name if name in files else _meant(name, files)
    line = min(int(row["line"]), MOST_LINE)
    end = min(max(line, int(row.get("end_line") or line)), MOST_LINE)
    place, quote, why = _look(files.get(name), line, end)
    title, reason = (" ".join(str(row["title"]).split())), str(row["reason"]).strip()
    path = files[name].path if name in files else name
    return Finding(path, line, end, Severity(row["severity"]), Kind(row["kind"]), title, reason, place, quote, why)


def _meant(name: str, files: Mapping[str, FilePatch]) -> str:
    """The diff's file that a name with a prefix, or without its folders, can only mean; else the name as it is."""
    bare = name.removeprefix("./").removeprefix("a/").removeprefix("b/")
    if bare in files:
        return bare
    fitting = [path for path in files if path.endswith(f"/{bare}") or name.endswith(f"/{path}")]
    return fitting[0] if len(fitting) == 1 else name


def _look(file: FilePatch | None, line: int, end: int) -> tuple[Place, str, str]:
    """Where lines stand in a file of the diff, the text of the first, and what is wrong with them."""
    if file is None:
        return Place.OUTSIDE, "", "the diff does not change this file"
    if file.change is Change.DELETED or not file.hunks:
        return Place.CHANGED, "", ""
    shown = {one.number: one for hunk in file.hunks for one in hunk.lines if one.number}
    if not shown:
        return Place.CHANGED, "", ""
    quote = shown[line].text if line in shown else ""
    gone = {_after(hunk.lines, at) for hunk in file.hunks for at, one in enumerate(hunk.lines) if one.sign == "-"}
    if any(n in gone or (n in shown and shown[n].sign == "+") for n in range(line, min(end, line + len(shown)) + 1)):
        return Place.CHANGED, quote, ""
    if any(line - NEAR_LINES <= n <= end + NEAR_LINES for n in shown):
        return Place.CONTEXT, quote, ""
    return Place.OUTSIDE, quote, "the diff does not show this line"


def _after(lines: tuple[Line, ...], at: int) -> int:
    """The number of the line that follows a removed one, or goes before it at the hunk's end."""
    following = next((one.number for one in lines[at:] if one.number), 0)
    return following or next((one.number for one in reversed(lines[:at]) if one.number), 0)
