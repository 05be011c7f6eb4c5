"""The test ledger: which test runs a run has seen, how they ended, and what was edited since."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_RUNNERS = re.compile(
    r"(?:^|[;&|(]\s*|\s)(?:"
    r"(?:python\d?(?:\.\d+)?\s+-m\s+)?(?:pytest|unittest|nose2)\b|py\.test\b|tox\b|nox\b"
    r"|(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?test|npx\s+(?:jest|vitest|mocha)|jest\b|vitest\b"
    r"|cargo\s+(?:nextest\s+run|test)|go\s+test|make\s+(?:\S+\s+)*(?:test|check)\b|ctest\b|mvn\s+\S*test|gradle\s+test"
    r"|(?:bundle\s+exec\s+)?rspec\b|mix\s+test|dotnet\s+test|phpunit\b|deno\s+test|bats\b"
    r")"
)
_NARROWED = re.compile(
    r"::|\s-k[\s=]|\s-m\s+\w|--lf\b|--last-failed|--deselect|--ignore|\s-run[\s=]|--testNamePattern|\s-t\s"
)
_FAILED = re.compile(r"\b([1-9]\d*) (?:failed|failures?|errors?)\b|\bFAILED\b|\btest result: FAILED", re.IGNORECASE)
_NONE_RUN = re.compile(r"\bno tests ran\b|collected 0 items|\bRan 0 tests\b|\b0 passed\b(?!.*[1-9]\d* passed)")
_CLAIM = re.compile(
    r"\b(?:all|every|the)\b[^.\n]{0,40}\btests?\b[^.\n]{0,30}\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?)\b"
    r"|\b\d+ (?:of \d+ )?(?:tests? )?pass(?:ed|ing)?\b(?!,? (?:and )?\d+ fail)"
    r"|\btests? (?:now )?(?:all )?pass\b|\btest suite (?:now )?(?:passes|is green)\b"
    r"|テスト(?:は|が)?(?:すべて|全て|全部)?[^。\n]{0,12}(?:通り|通っ|成功|パス)",
    re.IGNORECASE,
)
_HEDGED = re.compile(
    r"\b(?:not|never|n't|cannot|could not|unable|without)\b[^.\n]{0,40}\b(?:run|ran|verif|check|execut|test)"
    r"|\bshould\b[^.\n]{0,20}\bpass\b|\bfail(?:s|ed|ing)?\b|失敗|未確認|確認していません",
    re.IGNORECASE,
)


def is_test_command(command: str) -> bool:
    """Whether a shell command runs tests, as far as its text tells."""
    return bool(_RUNNERS.search(command))


@dataclass(frozen=True, slots=True)
class TestRun:
    """One run of tests. whole: nothing in the command narrows it to a part; ran: at least one test was executed."""

    command: str
    passed: bool
    whole: bool
    ran: bool


@dataclass(slots=True)
class TestLedger:
    """Test runs in order. edits_since counts changed files after the last one; acted says that the run did anything."""

    runs: list[TestRun] = field(default_factory=list[TestRun])
    edits_since: int = 0
    acted: bool = False

    def command(self, command: str, text: str, exit_status: int | None) -> None:
        """Note a finished command with its output."""
        self.acted = True
        if not is_test_command(command):
            return
        failed = exit_status != 0 or bool(_FAILED.search(text))
        self.runs.append(TestRun(command, not failed, not _NARROWED.search(command), not _NONE_RUN.search(text)))
        self.edits_since = 0

    def edited(self, files: int = 1) -> None:
        """Note changed files."""
        self.acted = True
        self.edits_since += files

    def against(self, answer: str) -> str:
        """Why a claim in the answer that tests pass is not backed, "" if it is, or if none is made."""
        if not self.acted or not claims_success(answer):
            return ""
        if not self.runs:
            return "no test was run in this run"
        last = self.runs[-1]
        if not last.passed:
            return f"the last test run failed ({last.command[:80]})"
        if not last.ran:
            return f"the last test run executed no test ({last.command[:80]})"
        if self.edits_since:
            return "files were changed after the last test run"
        if not last.whole and not any(r.whole and r.passed for r in self.runs):
            return f"only a part of the tests was run ({last.command[:80]})"
        return ""


def claims_success(answer: str) -> bool:
    """Whether a final answer says, without reserve, that the tests pass."""
    return bool(_CLAIM.search(answer)) and not _HEDGED.search(answer)
