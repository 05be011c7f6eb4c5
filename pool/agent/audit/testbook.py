"""The test runs of a record, with the counts that their output tells, and what was edited between them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pool.agent.ledger import TestLedger
from pool.agent.testruns import nothing_ran, output_failed, parse_test_command
from pool_tools.frozen import frozen

STATES_CHARS = 12
"""The files at the moment of a test run are named by so many characters of their hash."""

_PYTEST = re.compile(r"((?:\d+ \w+(?:, )?)+) in [\d.]+ ?s")
_PAIR = re.compile(r"(\d+) (\w+)")
_UNITTEST = re.compile(r"^Ran (\d+) tests?\b", re.MULTILINE)
_UNITTEST_BAD = re.compile(r"\b(failures|errors|skipped|expected failures|unexpected successes)=(\d+)")
_CARGO = re.compile(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")
_JEST = re.compile(r"^Tests:\s+(.+?)\s+(\d+) total", re.MULTILINE)
_WORDS = {
    **{"error": "errors", "xfailed": "skipped", "xpassed": "passed", "failing": "failed", "passing": "passed"},
    **{"pending": "skipped", "todo": "skipped", "ignored": "skipped"},
}
_REPORTS = re.compile(r"\b(?:pytest|py\.test|unittest)\b")
"""Runners that always tell counts."""

_GOOD = re.compile(r"\b(?:ok|pass\w*|success\w*|done)\b|\[ *\d+%\]|^[.sx]+$", re.IGNORECASE | re.MULTILINE)
_KINDS = ("passed", "failed", "errors", "skipped", "deselected")


@frozen
class Counts:
    """How many tests ended how, as the output of a run tells."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    deselected: int = 0

    @property
    def collected(self) -> int:
        """All tests that the runner found."""
        return self.passed + self.failed + self.errors + self.skipped + self.deselected

    @property
    def shown(self) -> str:
        """In words: `7 passed, 5 failed`."""
        return ", ".join(f"{getattr(self, kind)} {kind}" for kind in _KINDS if getattr(self, kind)) or "no test"


def counts_in(output: str) -> Counts | None:
    """The counts in the output of pytest, unittest, cargo or jest; None if it tells none."""
    found = list(_PYTEST.finditer(output))
    if found and (named := _named(found[-1][1])) is not None:
        return named
    if cargo := _CARGO.findall(output):
        columns = [sum(int(row[i]) for row in cargo) for i in range(3)]
        return Counts(passed=columns[0], failed=columns[1], skipped=columns[2])
    if jest := _JEST.search(output):
        return _named(jest[1])
    if ran := _UNITTEST.findall(output):
        bad = {word: int(number) for word, number in _UNITTEST_BAD.findall(output)}
        failed = bad.get("failures", 0) + bad.get("unexpected successes", 0)
        skipped = bad.get("skipped", 0) + bad.get("expected failures", 0)
        passed = int(ran[-1]) - failed - skipped - bad.get("errors", 0)
        return Counts(max(0, passed), failed, bad.get("errors", 0), skipped)
    return None


def _named(text: str) -> Counts | None:
    sums = dict.fromkeys(_KINDS, 0)
    for number, word in _PAIR.findall(text):
        kind = _WORDS.get(word, word)
        if kind in sums:
            sums[kind] += int(number)
    return Counts(**sums) if any(_WORDS.get(word, word) in sums for _, word in _PAIR.findall(text)) else None


@frozen
class TestRow:
    """One test run. ran: a test was executed. whole: nothing narrows it to a part. counts as the output tells.

    states names the contents that changed files had then: equal ones mean the same files.
    """

    step: int
    command: str
    passed: bool
    ran: bool
    whole: bool
    exit_status: int | None
    counts: Counts | None
    states: str
    agent: str = ""

    @property
    def shown(self) -> str:
        """How it ended, in words."""
        word = "passed" if self.passed and self.ran else "ran no test" if self.passed else "failed"
        return f"{word} ({self.counts.shown})" if self.counts else word


@dataclass(slots=True)
class TestBook:
    """Test runs in order, over the ledger that the agent's own guard keeps.

    first_edit is the step of the first edit of code, 0 if there is none; failed_before_edit: before it a run of tests,
    or another command, failed.
    """

    rows: list[TestRow] = field(default_factory=list[TestRow])
    ledger: TestLedger = field(default_factory=TestLedger)
    first_edit: int = 0
    failed_before_edit: bool = False
    outputs: list[str] = field(default_factory=list[str])
    _states: dict[str, str] = field(default_factory=dict[str, str])

    def command(
        self, step: int, command: str, output: str, status: int | None, changed: Iterable[str], agent: str
    ) -> bool:
        """Note a finished command; whether it ran tests."""
        found = parse_test_command(command)
        told = status is not None
        if found is not None and status is None:
            status = 1 if output_failed(output) else 0
        before = len(self.ledger.runs)
        self.ledger.command(command, output, status, changed)
        self.ledger.saw(output)
        if len(self.ledger.runs) == before:
            if status not in (0, None) and not self.first_edit:
                self.failed_before_edit = True
            return False
        run = self.ledger.runs[-1]
        states = hashlib.sha256("\0".join(f"{k}\0{v}" for k, v in sorted(self._states.items())).encode()).hexdigest()
        counts = counts_in(output)
        silent = counts is None and not _GOOD.search(output) and (bool(_REPORTS.search(command)) or not told)
        # Status 0 without a report: the run was cut short, or something else was run under that name.
        ran = run.ran and not nothing_ran(output) and not (run.passed and silent)
        self.ledger.runs[-1] = replace(run, ran=ran)
        self.rows.append(
            TestRow(step, command, run.passed, ran, run.whole, status, counts, states[:STATES_CHARS], agent)
        )
        self.outputs.append(output)
        if not run.passed and not self.first_edit:
            self.failed_before_edit = True
        return True

    def keep(self, step: int, contents: Mapping[str, str | None], *, code: bool) -> None:
        """Note what files hold after an edit; code: some of it is code that tests are about."""
        for path, text in contents.items():
            self._states[path] = hashlib.sha256((text or "").encode("utf-8", "surrogateescape")).hexdigest()
        if code and not self.first_edit:
            self.first_edit = step

    @property
    def last(self) -> TestRow | None:
        """The last run."""
        return self.rows[-1] if self.rows else None

    @property
    def last_whole(self) -> TestRow | None:
        """The last run of all tests."""
        return next((row for row in reversed(self.rows) if row.whole), None)
