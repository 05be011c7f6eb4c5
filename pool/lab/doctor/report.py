"""Showing findings: aligned text for people, one JSON object for programs."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import Any, TextIO

from pool import __version__
from pool.lab.doctor.examine import SLOW_READ_RATE, SLOW_WRITE_RATE, Cost, Step
from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.subject import Sizes, Subject
from pool_tools.frozen import frozen
from pool_tools.text import plural, visible

SCHEMA_VERSION = 1
LEAST_WIDTH = 40
WIDEST = 120
"""Lines longer than this are hard to read, however wide the terminal is."""

MARKS = {Status.OK: "✓", Status.WARN: "!", Status.FAIL: "✗", Status.SKIP: "–"}
ASCII_MARKS = {Status.OK: "+", Status.WARN: "!", Status.FAIL: "x", Status.SKIP: "-"}
_COLOURS = {Status.OK: "32", Status.WARN: "33", Status.FAIL: "31", Status.SKIP: "2"}
_ERASE_LINE = "\r\x1b[K"


@frozen
class Look:
    """How text is shown. width is in columns; colours and live (a line rewritten in place) need a terminal."""

    width: int = 80
    unicode: bool = True
    colours: bool = False
    live: bool = False


class TextReport:
    """Writes findings to out as they come."""

    def __init__(self, out: TextIO, look: Look, checks: Sequence[Check], limit_seconds: float) -> None:
        self._out = out
        self._limit_seconds = limit_seconds
        self._look = look
        self._name_width = max(len(check.name) for check in checks)
        self._width = max(LEAST_WIDTH, min(look.width, WIDEST))

    def begin(self, address: str, checks: Sequence[Check], price: Cost) -> None:
        """What will be done and what it costs at most."""
        self._write(self._wrapped(f"pool doctor: {address}", "", ""))
        self._write(self._wrapped(cost_words(checks, price), "", ""))
        self._write("\n")
        self._out.flush()

    def step(self, step: Step) -> None:
        """A check begins or has ended."""
        if step.finding is not None:
            self._finding(step.finding)
        elif self._look.live:
            line = f"{step.check.name}: {step.check.title} (a request may take {self._limit_seconds:g} s)"
            self._write(f"{_ERASE_LINE}{' ' * 2}{line[: self._width - 3]}")
        self._out.flush()

    def end(self, findings: Sequence[Finding], subject: Subject, *, interrupted: bool) -> None:
        """The sums."""
        self._write(_ERASE_LINE if self._look.live else "")
        counts = {status: sum(f.status is status for f in findings) for status in Status}
        parts = [f"{counts[Status.OK]} ok"]
        parts += [f"{counts[Status.WARN]} to look at"] if counts[Status.WARN] else []
        parts += [f"{counts[Status.FAIL]} failed"] if counts[Status.FAIL] else []
        parts += [f"{counts[Status.SKIP]} not made"] if counts[Status.SKIP] else []
        head = "Interrupted: " if interrupted else ""
        tokens = f"{subject.read_tokens:,} tokens read and {subject.written_tokens:,} written"
        self._write("\n" + self._wrapped(f"{head}{', '.join(parts)}; {tokens}.", "", ""))
        if sizes := size_words(subject.sizes):
            self._write(self._wrapped(sizes, "", ""))
        self._out.flush()

    def _finding(self, finding: Finding) -> None:
        look = self._look
        mark = (MARKS if look.unicode else ASCII_MARKS)[finding.status]
        name = finding.name.ljust(self._name_width)
        indent = " " * (len(mark) + self._name_width + 3)
        lead = f"{mark} {name}  "
        text = self._wrapped(finding.words, lead, indent)
        if look.colours:
            text = f"\x1b[{_COLOURS[finding.status]}m{mark} {name}\x1b[0m{text[len(lead) - 2 :]}"
        self._write((_ERASE_LINE if look.live else "") + text)
        if finding.status is Status.OK:
            return
        if finding.means:
            self._write(self._wrapped(finding.means, indent, indent))
        if finding.remedy:
            # Never wrapped: it is there to be pasted.
            self._write(f"{indent}{'→' if look.unicode else '>'} {self._safe(finding.remedy)}\n")

    def _wrapped(self, text: str, first: str, rest: str) -> str:
        lines = textwrap.wrap(
            self._safe(text),
            self._width,
            initial_indent=first,
            subsequent_indent=rest,
            break_on_hyphens=False,
        )
        return "\n".join(lines or [first]) + "\n"

    def _safe(self, text: str) -> str:
        """Text of a server on one line, without control characters, in characters that can be shown."""
        text = visible(" ".join(text.split()))
        return text if self._look.unicode else text.encode("ascii", "backslashreplace").decode()

    def _write(self, text: str) -> None:
        self._out.write(text)


def cost_words(checks: Sequence[Check], price: Cost) -> str:
    """What is going to be done and what it costs at most, in one or two sentences."""
    count = plural(len(checks), "check")
    if not price.reads:
        return f"{count}; no tokens are needed."
    rates = f"a server that reads {SLOW_READ_RATE} and writes {SLOW_WRITE_RATE} tokens a second"
    return (
        f"{count}, at most about {price.reads:,} tokens read and {price.writes:,} written: "
        f"{price.slow_seconds:.0f} s on {rates}. A server with room for one conversation forgets the one that it has."
    )


def size_words(sizes: Sizes) -> str:
    """How good the estimates of prompts were, "" if the server counted none."""
    if not sizes.counted:
        return ""
    text = f"Pool estimated {sizes.estimated:,} tokens for prompts that the server counts as {sizes.counted:,}"
    off = sizes.estimated / sizes.counted - 1
    return f"{text}: {off:+.0%}, single ones {sizes.lowest:+.0%} to {sizes.highest:+.0%}."


def json_report(subject: Subject, steps: Sequence[Step], price: Cost, exit_code: int, *, interrupted: bool) -> str:
    """All findings as one JSON object (ASCII, so that no terminal can be hurt by it)."""
    sizes = subject.sizes
    value: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "pool": __version__,
        "address": subject.display,
        "model": subject.model,
        "exit": exit_code,
        "interrupted": interrupted,
        "cost": {"reads": price.reads, "writes": price.writes, "slow_seconds": round(price.slow_seconds, 1)},
        "spent": {"reads": subject.read_tokens, "writes": subject.written_tokens},
        "estimate": {
            "requests": sizes.requests,
            "estimated": sizes.estimated,
            "counted": sizes.counted,
            "lowest": round(sizes.lowest, 4),
            "highest": round(sizes.highest, 4),
        },
        "checks": [_entry(step.finding, step.seconds) for step in steps if step.finding is not None],
    }
    return json.dumps(value, indent=2)


def _entry(finding: Finding, seconds: float) -> dict[str, Any]:
    return {
        "name": finding.name,
        "status": finding.status.value,
        "words": finding.words,
        "means": finding.means,
        "remedy": finding.remedy,
        "seconds": round(seconds, 3),
        "data": dict(finding.data),
    }
