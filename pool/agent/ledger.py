"""The test ledger: the test runs that a run has seen, what was edited since, and what an answer claims of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pool.agent.testruns import nothing_ran, output_failed, parse_test_command, test_files
from pool_tools.frozen import frozen

PROSE_FILES = (".md", ".rst", ".adoc")
"""Endings of files whose change cannot break a test."""

SHOWN_COMMAND_CHARS = 80

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。\uff01\uff1f])|\n+")
_FENCED = re.compile(r"^ {0,3}(```|~~~).*?^ {0,3}\1", re.DOTALL | re.MULTILINE)
_CLAIM = re.compile(
    r"\btest(?:s|_\w+)?\b(?:(?!\b(?:for|that|to|which|when|where|whether)\b).){0,40}?"
    r"\b(?:pass(?:es|ed)?|(?:are|is|now|all) (?:now )?passing|green|succeed(?:s|ed)?)\b"
    r"(?!-| (?:through|to|an?|the|none|null)\b)"
    r"|\b\d+ (?:of \d+ |/ ?\d+ )?(?:tests? )?(?:have |are )?pass(?:ed|ing)?\b"
    r"|\b(?:test suite|suite|everything|all) (?:now )?(?:passes|is green|pass)\b|\ball green\b"
    r"|(?:テスト|\d+ ?件)[^。]{0,20}(?:通り|通っ|通過|成功|パス|合格)",
    re.IGNORECASE,
)
_NOT_A_FAILURE = re.compile(
    r"\b(?:0|no|zero|without(?: any)?) (?:fail\w*|errors?)"
    r"|\b(?:previously|formerly|earlier|once|that|which|had) fail\w+"
    r"|(?<!still )(?<!are )(?<!is )\bfailing\b",
    re.IGNORECASE,
)
_RESERVE = re.compile(
    r"\bfail\w*|\bexcept\b|\bapart from\b|\bshould\b|\bwould\b|\bmight\b"
    r"|\b(?:if|when|once|until|unless|after|before) (?:\w+ ){0,4}tests?\b"
    r"|\bnot (?:all|every|yet)\b|\b(?:don't|doesn't|do not|does not|didn't|did not|no|none|never) \w*\s?(?:pass|test)"
    r"|^\W*(?:run|please|you can|to (?:check|verify|confirm)|make sure|check that)\b|[?\uff1f]$"
    r"|失敗|はず|未|ません|ない|たら|れば",
    re.IGNORECASE,
)
_NOT_VERIFIED = re.compile(
    r"(?:\b(?:not|never|cannot|unable to|without|nor)|n't|n’t)\s+(?:\w+\s+){0,2}"
    r"(?:run|running|ran|verif\w+|check(?:ed)?|execut\w+)\b(?!\s+(?:into|out))"
    r"|\b(?:unverified|untested|not tested)\b|未確認|未検証|(?:確認|実行|検証)(?:していま|できま|しま)せん",
    re.IGNORECASE,
)
_ONLY_SOME = re.compile(
    r"test_\w+|_test\b|\.test\b|::|\.py\b|\.[jt]sx?\b|\b(?:the|this|that|these|those|both|its|my) (?:\w+ ){0,2}"
    r"(?:new|relevant|related|affected|targeted|corresponding|added|two|three|other) (?:\w+ )?tests?\b"
    r"|\b(?:new|added) tests?\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\bi(?:'ve| have)? (?:now )?(?:fixed|implemented|completed|finished|solved|resolved|mended)\b"
    r"|\b(?:is|are|has been|have been) (?:now )?(?:fixed|resolved|complete|completed|done|implemented|solved)\b"
    r"|^\W*(?:all )?(?:done|finished|fixed)\b|\bnow works\b|\bworks now\b"
    r"|完了しま|修正しました|直しました|実装しました|解決しました",
    re.IGNORECASE | re.MULTILINE,
)
_ADMITS = re.compile(
    r"\bfail\w*|\b\d+ errors?\b|\bbroken\b|\bnot pass|\bred\b|\bstill\b|\bremain|\bunsolved\b|\bunrelated\b"
    r"|失敗|エラー|落ち|残",
    re.IGNORECASE,
)
_CHANGES_FILES = re.compile(
    r"\b(?:sed|perl)\s+(?:-\w+\s+)*-\w*i\b|\bgit\s+(?:apply|restore|revert|stash|checkout\s+(?!-b\b))|(?:^|[;&|\n]\s*)patch\s"
    r"|(?:^|[^-=\d<>&])>{1,2}\s*(?!/dev/|/tmp/|&|\s)[\w./-]+\.\w+|\btee\s+(?:-a\s+)?(?!/dev/|/tmp/)[\w./-]+\.\w+"
)
"""Commands that change files in the workspace by their text; what they really did is not known here."""


@frozen
class TestRun:
    """One run of tests. ran: at least one test was executed; selects, files: as in `TestCommand`."""

    command: str
    passed: bool
    ran: bool
    selects: bool = False
    files: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether nothing in the command narrows it to a part."""
        return not self.selects and not self.files

    @property
    def shown(self) -> str:
        """The command, shortened."""
        return self.command[:SHOWN_COMMAND_CHARS]


@dataclass(slots=True)
class TestLedger:
    """Test runs in order. edited_since says that code changed after the last one; acted that the run did anything.

    known_files are names of test files that came up in results: they tell a part of the tests from the whole.
    """

    runs: list[TestRun] = field(default_factory=list[TestRun])
    edited_since: bool = False
    edited_any: bool = False
    acted: bool = False
    known_files: set[str] = field(default_factory=set[str])

    def saw(self, text: str) -> None:
        """Note the text of any result."""
        self.known_files |= test_files(text)

    def command(self, command: str, text: str, exit_status: int | None, changed: Iterable[str] = ()) -> None:
        """Note a finished command with its output and the files that it is known to have changed.

        What a run of tests writes, such as a report, is no edit after it, unless the command itself changes files.
        """
        self.acted = True
        found = parse_test_command(command)
        if found is None:
            self.edited(changed)
            if exit_status == 0 and _CHANGES_FILES.search(command):
                self.edited_since = self.edited_any = True
            return
        failed = exit_status != 0 or (found.masked and output_failed(text))
        self.runs.append(TestRun(command, not failed, not nothing_ran(text), found.selects, found.files))
        self.edited_since = False
        if _CHANGES_FILES.search(command):
            self.edited(changed)

    def edited(self, paths: Iterable[str]) -> None:
        """Note changed files. Prose does not count as an edit after a test run."""
        self.acted = True
        if any(not path.lower().endswith(PROSE_FILES) for path in paths):
            self.edited_since = self.edited_any = True

    def against(self, answer: str) -> str:
        """Why what the answer says about tests, or about being done, is not backed; "" if it is."""
        if not self.acted:
            return ""
        plain = _FENCED.sub("\n", answer)
        claims = [] if _NOT_VERIFIED.search(plain) else list(_claims(plain))
        return self._against_claims(claims) if claims else self._against_done(plain)

    def _against_claims(self, claims: list[str]) -> str:
        if not self.runs:
            return "you say that the tests pass, but no test was run in this run"
        last = self.runs[-1]
        if not last.passed:
            return f"you say that the tests pass, but the last test run failed ({last.shown})"
        if not last.ran:
            return f"you say that the tests pass, but the last test run executed no test ({last.shown})"
        if self.edited_since:
            return "you say that the tests pass, but files were changed after the last test run"
        general = any(not _ONLY_SOME.search(claim) for claim in claims)
        if general and not any(self._is_whole(run) for run in self.runs if run.passed and run.ran):
            return f"you say that the tests pass, but only a part of them was run ({last.shown})"
        return ""

    def _against_done(self, answer: str) -> str:
        if not self.runs or self.runs[-1].passed or not self.edited_any:
            return ""
        if not _DONE.search(answer) or _ADMITS.search(_NOT_A_FAILURE.sub(" ", answer)) or _NOT_VERIFIED.search(answer):
            return ""
        return f"you say that it is done, but the last test run failed ({self.runs[-1].shown})"

    def _is_whole(self, run: TestRun) -> bool:
        """A run of named files is whole as long as no other test file has come up."""
        if run.whole:
            return True
        named = test_files(" ".join(run.files)) | {
            f"{name.rpartition('.')[2]}.py" for name in run.files if "/" not in name
        }
        return not run.selects and bool(named) and self.known_files <= named


def claims_success(answer: str) -> bool:
    """Whether an answer says, without reserve, that tests pass."""
    plain = _FENCED.sub("\n", answer)
    return not _NOT_VERIFIED.search(plain) and any(_claims(plain))


def _claims(answer: str) -> Iterator[str]:
    for sentence in _SENTENCE_END.split(answer):
        if _CLAIM.search(sentence) and not _RESERVE.search(_NOT_A_FAILURE.sub(" ", sentence)):
            yield sentence
