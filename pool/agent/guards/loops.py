"""The loop guard: the same call with the same result, again and again, alone or in a cycle.

It looks at what a call does, not at how it is labelled: comments and blank differences in a command do not count. A
changed file or a changed result is progress and clears what was counted, so polling with changing output and running
the tests again after an edit are never touched.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NOTE_AT = 3
FIRM_NOTE_AT = 4
BLOCK_AT = 5
STOP_AT = 6
LONGEST_CYCLE = 5
CYCLE_REPEATS = 3
"""A cycle of 2 to `LONGEST_CYCLE` calls is told after so many rounds, and ends the run after two more."""

_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*")
_ECHO_LABEL = re.compile(r"""^\s*echo\s+(?:"[^"]*"|'[^']*'|[^;&|]*)\s*(?:;|&&)\s*""")


@dataclass(frozen=True, slots=True)
class LoopVerdict:
    """note is appended to the call's result; stop ends the run. detail is for people."""

    note: str = ""
    stop: bool = False
    detail: str = ""


def signature(name: str, args: Mapping[str, Any]) -> str:
    """What a call does: its name and canonical arguments, without comments and labels in a command."""
    plain = dict(args)
    command = plain.get("command")
    if isinstance(command, str):
        text = _COMMENT.sub("", command)
        while (shorter := _ECHO_LABEL.sub("", text)) != text:
            text = shorter
        plain["command"] = " ".join(text.split())
    return f"{name} {json.dumps(plain, sort_keys=True, ensure_ascii=False)}"


class LoopWatch:
    """Counts repeats since the last progress. Ask `blocked` before a call and `after` with its result."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._results: dict[str, str] = {}
        self._recent: deque[str] = deque(maxlen=LONGEST_CYCLE * (CYCLE_REPEATS + 2))
        self._cycle_told = False

    def blocked(self, name: str, args: Mapping[str, Any]) -> str:
        """Why this call will not be run, "" if it will: it has given the same result too often."""
        count = self._counts.get(signature(name, args), 0)
        if count < BLOCK_AT - 1:
            return ""
        return (
            f"{name} was not run: it was made {count} times with the same arguments and gave the same result each "
            "time. It will not be run again until something changes. Do something else, or say what is in the way."
        )

    def after(self, name: str, args: Mapping[str, Any], text: str, *, changed: bool) -> LoopVerdict:
        """Note a call's result. changed says that it changed a file."""
        key = signature(name, args)
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
        told = text.startswith(f"{name} was not run")
        if changed or (key in self._results and self._results[key] != digest and not told):
            self._counts.clear()
            self._recent.clear()
            self._cycle_told = False
        self._results[key] = digest
        self._counts[key] = self._counts.get(key, 0) + 1
        self._recent.append(f"{key} {digest}")
        return self._repeat(name, self._counts[key]) or self._cycle() or LoopVerdict()

    def _repeat(self, name: str, count: int) -> LoopVerdict | None:
        detail = f"{name}: the same call gave the same result {count} times"
        if count >= STOP_AT:
            return LoopVerdict(stop=True, detail=detail)
        if count >= FIRM_NOTE_AT:
            note = f"[Pool] {count} times the same call and result. The next one is not run. Change your approach."
            return LoopVerdict(note, detail=detail)
        if count >= NOTE_AT:
            note = f"[Pool] Call {count} with the same arguments and the same result. Do something else."
            return LoopVerdict(note, detail=detail)
        return None

    def _cycle(self) -> LoopVerdict | None:
        length, rounds = _cycle_in(list(self._recent))
        if rounds < CYCLE_REPEATS:
            return None
        detail = f"a cycle of {length} calls came {rounds} times with the same results"
        if rounds >= CYCLE_REPEATS + 2:
            return LoopVerdict(stop=True, detail=detail)
        note = f"[Pool] You go in a circle: {detail}. Nothing changes. Take another way, or say what is in the way."
        return LoopVerdict(note, detail=detail)


def _cycle_in(calls: list[str]) -> tuple[int, int]:
    """Length and rounds of the cycle of 2 or more calls that the list ends with; (0, 0) if it ends with none."""
    for length in range(2, LONGEST_CYCLE + 1):
        last = calls[-length:]
        if len(last) < length or len(set(last)) == 1:
            continue
        rounds = 1
        while calls[-length * (rounds + 1) : -length * rounds] == last:
            rounds += 1
        if rounds >= CYCLE_REPEATS:
            return length, rounds
    return 0, 0
