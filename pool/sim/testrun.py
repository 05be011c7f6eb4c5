"""What a test run said, from pytest's output."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SUMMARY = re.compile(r"((?:\d+ [a-z]+(?:, )?)+|no tests ran) in [\d.]+s", re.IGNORECASE)
_COUNT = re.compile(r"(\d+) ([a-z]+)")
_FAILED = re.compile(r"^(FAILED|ERROR) (\S+?)(?: - .*)?$", re.MULTILINE)
_PLACE = re.compile(r"^(?!E )(\S+?\.py):(\d+): ", re.MULTILINE)
_NOT_RAISED = re.compile(r"DID NOT RAISE <class '(?:[\w.]+\.)?(\w+)'>")
_ABSENT = re.compile(r"No such file or directory: (?:\w+\()?'([^'\n]+)'")
_HEADING = re.compile(r"^_{3,} (?:ERROR at \w+ of )?(\w[\w.\[\]-]*) _{3,}$", re.MULTILINE)
_MISSING = re.compile(
    r"No module named pytest|command not found|: not found|No such file or directory: '?python|"
    r"can't open file|not recognized as",
)


@dataclass(frozen=True, slots=True)
class TestRun:
    """Counts, the ids of tests that failed or could not be collected, files named in tracebacks, and what was missed.

    not_raised: exception classes that tests expected and did not get. absent: files that were not there.
    """

    __test__ = False

    passed: int
    failed: int
    errors: int
    failing: tuple[str, ...] = ()
    places: tuple[tuple[str, int], ...] = ()
    not_raised: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def green(self) -> bool:
        """Whether there were tests and all passed."""
        return self.passed > 0 and not self.failed and not self.errors

    @property
    def counts(self) -> str:
        """For people: `5 failed, 7 passed`."""
        parts = [(self.failed, "failed"), (self.errors, "could not be run"), (self.passed, "passed")]
        return ", ".join(f"{number} {word}" for number, word in parts if number) or "no tests were found"

    @property
    def test_files(self) -> tuple[str, ...]:
        """The files of failing tests, in order, each once."""
        return tuple(dict.fromkeys(name.partition("::")[0] for name in self.failing if ".py" in name))

    @property
    def test_names(self) -> tuple[str, ...]:
        """The functions of failing tests, without parameters."""
        names = [name.rpartition("::")[2].partition("[")[0] for name in self.failing if "::" in name]
        return tuple(dict.fromkeys(names))


def parse_run(output: str) -> TestRun | None:
    """Read the output of pytest; None if no run ended in it."""
    summaries = list(_SUMMARY.finditer(output))
    if not summaries:
        return None
    counts = {word: int(number) for number, word in _COUNT.findall(summaries[-1][1])}
    places = tuple((path, int(line)) for path, line in _PLACE.findall(output))
    failing = tuple(dict.fromkeys(name for _, name in _FAILED.findall(output)))
    if not failing:
        # The list at the end was cut off or switched off: headings and places still tell.
        files = [path for path, _ in places if path.rpartition("/")[2].startswith("test")] or [""]
        failing = tuple(f"{files[0]}::{name}" for name in dict.fromkeys(_HEADING.findall(output)))
    return TestRun(
        passed=counts.get("passed", 0),
        failed=counts.get("failed", 0),
        errors=counts.get("error", 0) + counts.get("errors", 0),
        failing=failing,
        places=places,
        not_raised=tuple(dict.fromkeys(_NOT_RAISED.findall(output))),
        absent=tuple(dict.fromkeys(_ABSENT.findall(output))),
    )


def lacks_runner(output: str) -> bool:
    """Whether a command failed because Python or pytest is not there under that name."""
    return bool(_MISSING.search(output))
