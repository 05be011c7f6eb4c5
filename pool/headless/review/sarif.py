"""A review in the Static Analysis Results Interchange Format, SARIF 2.1.0, as code hosts and editors read it.

The format is OASIS's; a test holds the output to its schema.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any
from urllib.parse import quote

from pool import __version__
from pool.agent.review.finding import KINDS, Finding, Kind, Place, Severity
from pool.agent.review.report import Review, unreviewed_lines
from pool.jsonable import plain
from pool_tools.text import printable

VERSION = "2.1.0"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "SRCROOT"
"""What the paths of findings are relative to."""

_LEVELS = {Severity.HIGH: "error", Severity.MEDIUM: "warning", Severity.LOW: "note"}
_ORDER = list(Kind)

Json = dict[str, Any]


def sarif(review: Review, fail_on: Severity | None) -> Json:
    """A review as a SARIF log with one run; a part that was not reviewed is a notification of its invocation."""
    invocation: Json = {"executionSuccessful": not review.unreviewed, "exitCode": review.exit_code(fail_on)}
    if said := unreviewed_lines(review):
        level = "error" if review.unreviewed else "note"
        invocation["toolExecutionNotifications"] = [{"level": level, "message": {"text": _text(s)}} for s in said]
    run: Json = {
        "tool": {"driver": _driver()},
        "automationDetails": {"id": "pool-review/"},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The top of the repository that was reviewed."}}},
        "invocations": [invocation],
        "results": [_result(finding) for finding in review.findings],
        "properties": {
            "what": _text(review.what),
            "model": _text(review.model),
            "files": len(review.files),
            "usage": plain(review.usage),
            "seconds": review.seconds,
        },
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def _driver() -> Json:
    rules = [
        {"id": kind.value, "name": kind.value.replace("-", " ").title().replace(" ", ""), **_described(KINDS[kind])}
        for kind in _ORDER
    ]
    return {"name": "Pool", "version": __version__, "rules": rules}


def _described(text: str) -> Json:
    return {"shortDescription": {"text": text}}


def _result(finding: Finding) -> Json:
    region: Json = {"startLine": finding.line, "endLine": finding.end_line}
    if finding.quote:
        region["snippet"] = {"text": _text(finding.quote)}
    place = {"artifactLocation": {"uri": _uri(finding.file), "uriBaseId": ROOT}, "region": region}
    properties: Json = {"severity": finding.severity.value, "place": finding.place.value}
    if finding.place is Place.OUTSIDE:
        properties["outside"] = finding.why_outside
    return {
        "ruleId": finding.kind.value,
        "ruleIndex": _ORDER.index(finding.kind),
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{_text(finding.title)}\n\n{_text(finding.reason)}"},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"place/v1": _fingerprint(finding)},
        "properties": properties,
    }


def _fingerprint(finding: Finding) -> str:
    """The same for the same line, wherever it moves, and however a model words the finding."""
    line = " ".join(finding.quote.split()) or str(finding.line)
    key = "\0".join((finding.file, finding.kind.value, line))
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def _uri(path: str) -> str:
    """A path as a relative URI, its bytes as they are on disk."""
    return quote(os.fsencode(path), safe="/")


def _text(text: str) -> str:
    """Text without terminal escapes and with nothing that is no Unicode."""
    return printable(text)
