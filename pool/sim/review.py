"""A review by rules: the few things that a single added line shows, in the form that the client asks for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pool.sim.say import Reply

ASKED = "Review this change"
"""How a prompt begins that gives a change to be reviewed, its lines numbered as those of the new file."""

_FILE = re.compile(r"File (.+) \((?:added|modified|renamed)\b.*\)")
_ADDED = re.compile(r" *(\d+) \+ (.*)")
_RULES = (
    (
        re.compile(r"\bdef \w+\(.*=\s*(?:\[\]|\{\}|set\(\)|list\(\)|dict\(\))"),
        *("high", "correctness", "The default argument is shared by all calls"),
        "It is made once, when the function is defined; what one call puts into it, the next one finds there.",
    ),
    (
        re.compile(r"\bshell\s*=\s*True\b|\bos\.system\("),
        *("high", "security", "A command goes through the shell"),
        "Where any part of it comes from outside, that part can be a command of its own.",
    ),
    (
        re.compile(r"except(?: \w+)?:\s*(?:pass|continue)?$"),
        *("medium", "correctness", "An error may be hidden here"),
        "The handler names no error, or does nothing with it, so that a caller takes a failure for a success.",
    ),
    (
        re.compile(r"[=!]= None\b"),
        *("low", "maintainability", "None is compared by value"),
        "An object can say that it equals None; `is None` asks what is meant.",
    ),
)


def reviewed(prompt: str) -> Reply:
    """The report on a change: each rule's first line in each file."""
    findings = list(_findings(prompt))
    said = f"{len(findings)} of my {len(_RULES)} rules found something." if findings else "None of my rules fits."
    return Reply("I hold each added line against my rules.", json.dumps({"findings": findings, "summary": said}))


def _findings(prompt: str) -> Iterator[dict[str, Any]]:
    file = ""
    seen: set[tuple[str, str]] = set()
    for line in prompt.split("\n"):
        if found := _FILE.fullmatch(line):
            file = found[1]
        elif file and (added := _ADDED.fullmatch(line)):
            for pattern, severity, kind, title, reason in _RULES:
                if pattern.search(added[2]) and (file, title) not in seen:
                    seen.add((file, title))
                    place = {"file": file, "line": int(added[1])}
                    yield {**place, "severity": severity, "kind": kind, "title": title, "reason": reason}
