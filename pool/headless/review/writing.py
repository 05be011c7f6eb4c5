"""A review as text for people, as JSON, and as SARIF in a file."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from pool.agent.review.finding import Finding, Place, Severity
from pool.agent.review.report import Review, heading, unreviewed_lines, verdict
from pool.headless.columns import pad
from pool.headless.plain import one_line, safe
from pool.headless.review.sarif import sarif

MOST_COLUMNS = 100
"""Reasons are no wider than this, since nobody reads longer lines with ease."""

INDENT = 8
_COLOURS = {Severity.HIGH: "\x1b[31m", Severity.MEDIUM: "\x1b[33m", Severity.LOW: "\x1b[36m"}
_OFF = "\x1b[0m"


def write(review: Review, form: str, fail_on: Severity | None) -> None:
    """Write a review on stdout: text, json or sarif."""
    match form:
        case "json":
            row = {**review.to_dict(), "exit_code": review.exit_code(fail_on)}
            sys.stdout.write(json.dumps(row, ensure_ascii=True, separators=(",", ":")) + "\n")
        case "sarif":
            sys.stdout.write(json.dumps(sarif(review, fail_on), ensure_ascii=True, indent=1) + "\n")
        case _:
            columns = min(MOST_COLUMNS, shutil.get_terminal_size().columns)
            colours = sys.stdout.isatty() and "NO_COLOR" not in os.environ
            sys.stdout.writelines(f"{line}\n" for line in text_lines(review, columns, colours=colours))
    sys.stdout.flush()


def write_sarif(review: Review, fail_on: Severity | None, file: Path) -> None:
    """Write a review as SARIF to a file. Raises `OSError`."""
    file.write_text(json.dumps(sarif(review, fail_on), ensure_ascii=True, indent=1) + "\n", encoding="utf-8")


def text_lines(review: Review, columns: int, *, colours: bool = False) -> Iterator[str]:
    """A review as lines for people, safe for a terminal."""
    yield one_line(heading(review))
    for finding in review.findings:
        yield from _finding(finding, columns, colours=colours)
    for summary in review.summaries if not review.findings else ():
        yield from _wrapped(summary, columns, 0)
    for line in unreviewed_lines(review):
        yield one_line(line)
    yield verdict(review)


def _finding(finding: Finding, columns: int, *, colours: bool) -> Iterator[str]:
    word = pad(finding.severity.value, INDENT)
    shown = f"{_COLOURS[finding.severity]}{word}{_OFF}" if colours else word
    first, *more = _wrapped(f"{one_line(finding.at)}: {one_line(finding.title)}", columns, INDENT)
    yield shown + first[INDENT:]
    yield from more
    if finding.place is Place.OUTSIDE:
        yield from _wrapped(f"(outside of the diff: {finding.why_outside})", columns, INDENT)
    yield from _wrapped(finding.reason, columns, INDENT)


def _wrapped(text: str, columns: int, indent: int) -> list[str]:
    lead = " " * indent
    lines = [
        line
        for paragraph in safe(text, terminal=True).split("\n")
        for line in textwrap.wrap(paragraph, max(20, columns - indent), break_long_words=False, break_on_hyphens=False)
    ]
    return [lead + line for line in lines] or [lead]
