"""What an audit looks at: what was asked, done, changed and answered, whichever agent wrote it down."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pool.agent.audit.facts import TaskFacts
from pool.agent.audit.finding import Citation, Finding, Severity, quoted
from pool.agent.audit.pycode import TestCode, tests_in
from pool.agent.audit.testbook import TestBook
from pool.sessions.checkpoints.textdiff import Hunk, hunks_of
from pool_tools.frozen import frozen

REFUSED = frozenset({"denied", "invalid", "blocked"})
"""Statuses of calls that did nothing."""


@frozen
class Said:
    """A text of somebody, at a step."""

    step: int
    text: str
    agent: str = ""


@frozen
class Edit:
    """What one call did to one file. None: there was, or is, no file. whole: both are the file, not only a part."""

    step: int
    path: str
    before: str | None
    after: str | None
    whole: bool = True
    agent: str = ""


@frozen
class Act:
    """One call. command is a shell command, "" for other tools; path the file that it names, "" for none.

    exit_status is None where nobody wrote it down.
    """

    step: int
    tool: str
    command: str = ""
    path: str = ""
    output: str = ""
    status: str = ""
    exit_status: int | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    edits: tuple[Edit, ...] = ()
    agent: str = ""

    @property
    def done(self) -> bool:
        """Whether it was carried out at all."""
        return self.status not in REFUSED

    def cite(self, quote: str = "") -> Citation:
        """This call as a citation."""
        return Citation(self.step, self.path, "", quoted(quote or self.command or self.path), self.agent)


@dataclass(slots=True)
class Change:
    """What became of a file from before the first edit to after the last. whole: both sides are the file itself."""

    path: str
    before: str | None
    after: str | None
    edits: Sequence[Edit] = ()
    whole: bool = True
    hunks: list[Hunk] = field(init=False)
    _tests: dict[bool, dict[str, TestCode] | None] = field(default_factory=dict[bool, dict[str, TestCode] | None])

    def __post_init__(self) -> None:
        old, new = (text.encode("utf-8", "surrogateescape") if text else b"" for text in (self.before, self.after))
        self.hunks = hunks_of(old, new)

    def tests(self, *, after: bool) -> dict[str, TestCode] | None:
        """The test functions in the file before or after; None if it is no Python."""
        if after not in self._tests:
            self._tests[after] = tests_in(self.after if after else self.before)
        return self._tests[after]

    @property
    def added(self) -> list[str]:
        """Lines that are new."""
        return [text for sign, text in self._lines() if sign == "+"]

    @property
    def removed(self) -> list[str]:
        """Lines that are gone."""
        return [text for sign, text in self._lines() if sign == "-"]

    def _lines(self) -> Iterator[tuple[str, str]]:
        for hunk in self.hunks:
            for sign, line in hunk.lines:
                yield sign, line.decode("utf-8", "surrogateescape").rstrip("\r\n")

    def cite(self, line: str = "") -> Citation:
        """Where a line came in or went out: the step that did it, and the hunk of the whole change."""
        text = line.strip()
        step, agent = 0, ""
        for edit in self.edits:
            came = text in (edit.after or "") and text not in (edit.before or "")
            went = text in (edit.before or "") and text not in (edit.after or "")
            if not text or came or went:
                step, agent = edit.step, edit.agent
        if not step and self.edits:
            step, agent = self.edits[-1].step, self.edits[-1].agent
        return Citation(step, self.path, self._hunk(text), quoted(text), agent)

    def finding(self, signal: int, severity: Severity, text: str, line: str = "") -> Finding:
        """A finding in this file, cited by a line of it."""
        return Finding(signal, severity, text, (self.cite(line),))

    def _hunk(self, text: str) -> str:
        for hunk in self.hunks:
            if any(sign != " " and text in line.decode("utf-8", "surrogateescape") for sign, line in hunk.lines):
                return hunk.header
        return self.hunks[0].header if self.hunks else ""


@dataclass(slots=True)
class Record:
    """A run, or all runs of a session. source names it; model is who worked, "" if that is not known.

    answers are the final texts of runs; unbacked are those that claim more than the test runs before them show, with
    the reason. tests is the text of test files, as far as it is known. notes say what is not known, in sentences.
    """

    source: str
    facts: TaskFacts = field(default_factory=TaskFacts)
    model: str = ""
    workspace: str = ""
    prompts: list[Said] = field(default_factory=list[Said])
    thoughts: list[Said] = field(default_factory=list[Said])
    answers: list[Said] = field(default_factory=list[Said])
    unbacked: list[tuple[Said, str]] = field(default_factory=list[tuple[Said, str]])
    acts: list[Act] = field(default_factory=list[Act])
    changes: list[Change] = field(default_factory=list[Change])
    book: TestBook = field(default_factory=TestBook)
    tests: str = ""
    notes: list[str] = field(default_factory=list[str])

    @property
    def asked(self) -> str:
        """All that the user asked for."""
        return self.facts.prompt or "\n".join(said.text for said in self.prompts)

    def asks(self, pattern: re.Pattern[str]) -> bool:
        """Whether the user's words match."""
        return bool(pattern.search(self.asked))

    @property
    def commands(self) -> Iterator[Act]:
        """Shell commands that were carried out."""
        return (act for act in self.acts if act.command and act.done)
