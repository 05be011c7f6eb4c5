"""The loop watch: the same call with the same result, again and again, alone or in a cycle.

It looks at what a call does, not at how it is labelled: comments, echoed labels and blank differences in a command do
not count, nor do times in a result. A changed file or a changed result is progress and clears what was counted, so
polling with changing output and running the tests again after an edit are never touched.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Mapping
from typing import Any

from pool.config.guards import RepeatLimits
from pool_tools.frozen import frozen

LONGEST_CYCLE = 5
ROUNDS_TO_STOP = 2
"""A cycle that was told ends the run after so many more rounds."""

_COMMENT = re.compile(r"(?:^|(?<=[\s;&|]))#(?!!)[^\n]*")
_WORDS_SAID = r"""(?:"[^"`$]*"|'[^']*'|[^;&|<>"'`$\n]*)"""
_LABEL = re.compile(
    rf"^\s*(?:(?:echo|printf)\s+(?:-\w+\s+)?({_WORDS_SAID})|:\s[^;&|\n]*|:|true)\s*(?:;|&&|\n)",
)
_LAST_LABEL = re.compile(rf"(?:;|&&|\n)\s*(?:(?:echo|printf)\s+(?:-\w+\s+)?({_WORDS_SAID})|true|:)\s*;?\s*$")
_PASSING = re.compile(
    r"\b\d+(?:\.\d+)?\s?(?:ms|µs|us|ns|s|sec|secs|seconds?|min|minutes?)\b|\b\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\b"
    r"|\b\d{4}-\d{2}-\d{2}T?\b|\b0x[0-9a-fA-F]{6,}\b|\bpid \d+\b|/tmp/[\w./-]+"
)
"""What differs from run to run without meaning anything: durations, clock times, dates, addresses, temporary names."""

_WAITS = re.compile(r"\bsleep\s+[\d.]")
_WAITING_CALL = ("job", "read")
"""The tool and its action that wait for output where a `timeout` is given."""


@frozen
class LoopVerdict:
    """note is appended to the call's result; stop ends the run. detail is for people."""

    note: str = ""
    stop: bool = False
    detail: str = ""


@frozen
class Effect:
    """What a call does: signature is its name and canonical arguments; labels are words that it only says."""

    signature: str
    labels: frozenset[str] = frozenset()
    waits: bool = False


def effect_of(name: str, args: Mapping[str, Any]) -> Effect:
    """What a call does, without comments and labels in a command."""
    plain = dict(args)
    labels: set[str] = set()
    command = plain.get("command")
    if isinstance(command, str):
        text = _COMMENT.sub("", command)
        for pattern in (_LABEL, _LAST_LABEL):
            while (found := pattern.search(text)) and (shorter := text[: found.start()] + text[found.end() :]).strip():
                labels.add((found.group(1) or "").strip().strip("\"'").replace("\\n", "").strip())
                text = shorter
        plain["command"] = " ".join(text.split())
    signature = f"{name} {json.dumps(plain, sort_keys=True, ensure_ascii=False)}"
    return Effect(signature, frozenset(labels - {""}), _waits(name, args))


def _waits(name: str, args: Mapping[str, Any]) -> bool:
    """Whether a call passes time: a command that sleeps, or a look at a job that waits for its output."""
    command = args.get("command")
    if (name, args.get("action")) == _WAITING_CALL:
        return bool(args.get("timeout"))
    return isinstance(command, str) and bool(_WAITS.search(command))


def result_digest(text: str, labels: frozenset[str] = frozenset()) -> str:
    """A hash of a result, without labels and without what changes from run to run."""
    if labels:
        text = "\n".join(line for line in text.split("\n") if line.strip() not in labels)
    return hashlib.blake2b(_PASSING.sub("~", text).encode("utf-8", "replace"), digest_size=16).hexdigest()


class LoopWatch:
    """Counts repeats since the last progress. Ask `blocked` before a call and `after` with its result."""

    def __init__(self, limits: RepeatLimits, cycle_rounds: int) -> None:
        self._limits = limits
        self._rounds = cycle_rounds
        self._counts: dict[str, int] = {}
        self._results: dict[str, str] = {}
        self._reads: set[str] = set()
        self._recent: deque[str] = deque(maxlen=LONGEST_CYCLE * (cycle_rounds + ROUNDS_TO_STOP))

    def blocked(self, name: str, args: Mapping[str, Any]) -> str:
        """Why this call will not be run, "" if it will: it has given the same result too often."""
        effect = effect_of(name, args)
        count = self._counts.get(effect.signature, 0)
        if not self._limits.block or count < self._limits.block * self._patience(effect) - 1:
            return ""
        return (
            f"{name} was not run: it was made {count} times with the same arguments and gave the same result each "
            "time. It will not be run again until something changes. Do something else, or say what is in the way."
        )

    def forget_reads(self) -> None:
        """What was read is not in the conversation any more: reading it again is no repeat."""
        for key in self._reads:
            self._counts.pop(key, None)
        self._recent.clear()

    def after(
        self, name: str, args: Mapping[str, Any], text: str, *, changed: bool, reads: bool = False
    ) -> LoopVerdict:
        """Note a call's result.

        changed says that it changed a file to contents that it did not have before, reads that it can change nothing.
        """
        effect = effect_of(name, args)
        key = effect.signature
        told = text.startswith(f"{name} was not run: it was made ")
        digest = self._results.get(key, "") if told else result_digest(text, effect.labels)
        if changed or self._results.get(key, digest) != digest:
            self._counts.clear()
            self._recent.clear()
        self._results[key] = digest
        self._reads |= {key} if reads else set()
        self._counts[key] = self._counts.get(key, 0) + 1
        self._recent.append(f"{key} {digest}")
        found = [v for v in (self._repeat(name, self._counts[key], self._patience(effect)), self._cycle()) if v]
        return next((v for v in found if v.stop), found[0] if found else LoopVerdict())

    def _patience(self, effect: Effect) -> int:
        return max(1, self._limits.polling) if effect.waits else 1

    def _repeat(self, name: str, count: int, patience: int) -> LoopVerdict | None:
        limits = self._limits
        detail = f"{name}: the same call gave the same result {count} times"
        if limits.stop and count >= limits.stop * patience:
            return LoopVerdict(stop=True, detail=detail)
        if limits.firm and count >= limits.firm * patience:
            note = f"[Pool] {count} times the same call and result. Soon it is not run any more. Change your approach."
            return LoopVerdict(note, detail=detail)
        if limits.note and count >= limits.note * patience:
            note = f"[Pool] Call {count} with the same arguments and the same result. Do something else."
            return LoopVerdict(note, detail=detail)
        return None

    def _cycle(self) -> LoopVerdict | None:
        if not self._rounds:
            return None
        length, rounds = _cycle_in(list(self._recent), self._rounds)
        if not length:
            return None
        detail = f"a cycle of {length} calls came {rounds} times with the same results"
        if rounds >= self._rounds + ROUNDS_TO_STOP:
            return LoopVerdict(stop=True, detail=detail)
        note = f"[Pool] You go in a circle: {detail}. Nothing changes. Take another way, or say what is in the way."
        return LoopVerdict(note, detail=detail)


def _cycle_in(calls: list[str], least: int) -> tuple[int, int]:
    """Length and rounds of the cycle of 2 or more calls that the list ends with; (0, 0) below least rounds."""
    for length in range(2, LONGEST_CYCLE + 1):
        last = calls[-length:]
        if len(last) < length or len(set(last)) == 1:
            continue
        rounds = 1
        while calls[-length * (rounds + 1) : -length * rounds] == last:
            rounds += 1
        if rounds >= least:
            return length, rounds
    return 0, 0
