"""Recognising test runs: which commands run tests, how much of them, and whether their output says that they passed."""

from __future__ import annotations

import re

from pool_tools.frozen import frozen

_SEPARATOR = re.compile(r"(&&|\|\||[;|\n])")
_WRAPPERS = re.compile(
    r"""[\s'"!({]*(?:(?:
      [A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|[^\s"']*)
      | sudo | env | time | command | exec | nice | then | do | if | while
      | g?timeout(?:\s+-{1,2}[a-z]\S*)*\s+[\d.]+[smhd]?
      | (?:uv|poetry|pipenv|hatch|pdm|rye|xvfb)[ -]run(?:\s+-\S+)*
      | bundle\s+exec | npx | bunx | docker(?:\s|-)compose\s+(?:run|exec)(?:\s+-\S+)*\s+\S+
      | (?:\S*/)?(?:ba|z|da)?sh\s+-\w*c
      | coverage\s+run(?:\s+-(?!m\b)\S+)*
    )\s+['"({]*)*""",
    re.VERBOSE,
)
_RUNNER = re.compile(
    r"""(?:
      (?:(?:\S*/)?(?:python|pypy)[\d.]*\s+(?:-(?!m\b)\S+\s+)*)?(?:-m\s+)?(?:\S*/)?(?:pytest|py\.test|unittest|nose2|tox|nox)
      | (?:\S*/)?(?:python|pypy)[\d.]*\s+(?:\S*/)?(?:manage\.py\s+test|(?:run_?)?tests?\.py|test_\w+\.py|\w+_test\.py)
      | (?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:test(?::\S+)?|t) | (?:\S*/)?(?:jest|vitest|mocha) | node\s+--test
      | cargo\s+(?:\+\S+\s+)?(?:nextest\s+run|test) | go\s+test | g?make\s+(?:-\S+\s+)*(?:tests?|check)
      | ctest | (?:\./)?mvnw?\s+(?:-\S+\s+)*(?:test|verify) | (?:\./)?gradlew?\s+(?:-\S+\s+)*(?:test|check)
      | rspec | mix\s+test | dotnet\s+test | (?:\S*/)?phpunit | deno\s+test | bats | swift\s+test | zig\s+build\s+test
      | (?:(?:ba)?sh\s+|\./)(?:\S*/)?(?:run[-_]?)?tests?(?:\.sh)?
    )(?=[\s'")};>&]|$)""",
    re.VERBOSE,
)
_HIDES_STATUS = frozenset({"|", ";", "\n", "||"})
_PIPEFAIL = re.compile(r"\bset\s+-\w*o\s+pipefail|\bpipefail\b")

_SELECTS = re.compile(
    r"::|\s-k[\s=]|\s-m\s+\S|--lf\b|--last-failed|--sw\b|--stepwise|--deselect|--ignore|\s-run[\s=]|--testNamePattern"
    r"|\s-t\s|--grep\b|\s-R\s|--only\b|\s-Dtest=|--tests\s|--filter\b"
)
_REDIRECTION = re.compile(r"\d?>&?\s*\S*|&>\s*\S*|<\s*\S+")
_TAKES_VALUE = frozenset(
    "-n -p -c -o -W -j -s -e -C -r -f --tb --maxfail --timeout --durations --jobs --rootdir --manifest-path --color "
    "--cov --config --project --package --workers --settings --features --target --profile --parallel".split()
)
_EVERYTHING = frozenset(". ./ ./... ... tests test spec specs src discover all".split())

_FAILURES = re.compile(
    r"\b(?!0\b)\d+ (?:failed|failing|failures?|errors?)\b|(?-i:\bFAILED\b)|(?-i:\bFAIL\b)|\b(?:failures|errors)=[1-9]"
    r"|\bfailures: [1-9]|\b\d+ tests? failed\b",
    re.IGNORECASE,
)
_NONE_RUN = re.compile(
    r"\bno tests? (?:ran|found|to run|files)\b|\bcollected 0 items\b|\bRan 0 tests\b|\brunning 0 tests\b"
    r"|No module named '?(?:pytest|nose2|tox)|command not found",
    re.IGNORECASE,
)
_SOME_RUN = re.compile(r"\b[1-9]\d* (?:passed|passing|ok)\b|\bRan [1-9]\d* tests?\b|\brunning [1-9]\d* tests?\b")
_TEST_FILE = re.compile(r"[\w./-]*\b(?:test_\w+|\w+_test|[\w-]+\.(?:test|spec))\.(?:py|[cm]?[jt]sx?|go|rb|rs|exs)\b")


@frozen
class TestCommand:
    """The part of a shell command that runs tests.

    selects: an option picks some of the tests. files: files and folders that it names, () for all. masked: the exit
    status of the whole command is another's, so that the output must tell.
    """

    selects: bool
    files: tuple[str, ...]
    masked: bool


def parse_test_command(command: str) -> TestCommand | None:
    """The test run in a shell command, None if it runs none, as far as its text tells."""
    parts = _SEPARATOR.split(command)
    for i in range(0, len(parts), 2):
        start = _WRAPPERS.match(parts[i])
        runner = _RUNNER.match(parts[i], start.end() if start else 0)
        if runner is None:
            continue
        after = parts[i + 1] if i + 1 < len(parts) else ""
        rest = "".join(parts[i + 2 :]).strip()
        masked = after in _HIDES_STATUS and bool(rest) and not (after == "|" and _PIPEFAIL.search(command))
        arguments = parts[i][runner.end() :]
        return TestCommand(bool(_SELECTS.search(f" {arguments}")), _named(arguments), masked)
    return None


def output_failed(text: str) -> bool:
    """Whether the output of a test run tells of failures."""
    return bool(_FAILURES.search(text))


def nothing_ran(text: str) -> bool:
    """Whether the output of a test run says that no test was executed."""
    return bool(_NONE_RUN.search(text)) and not _SOME_RUN.search(text)


def test_files(text: str) -> set[str]:
    """Names of test files in a text, without their folders."""
    return {found.rpartition("/")[2] for found in _TEST_FILE.findall(text)}


def _named(arguments: str) -> tuple[str, ...]:
    words = _REDIRECTION.sub(" ", arguments).replace('"', " ").replace("'", " ").split()
    out: list[str] = []
    skip = False
    for word in words:
        if skip or word.startswith("-") or word in ("&", ")", "}"):
            skip = not skip and word in _TAKES_VALUE
            continue
        if word.rstrip("/") not in _EVERYTHING and word not in _EVERYTHING:
            out.append(word)
    return tuple(out)
