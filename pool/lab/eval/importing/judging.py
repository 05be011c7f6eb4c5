"""The judge of an imported task: the suite's own tests, put back over a copy of the work, and run by their tool."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from pool.lab.eval.importing.layout import Blob, text
from pool_tools.frozen import frozen

TEST_SECONDS = 120

PYTEST = "python3 -P -m pytest -q -p no:cacheprovider -c /dev/null --rootdir . --junitxml $results"
PYTEST_PASSED = '<testsuite [^>]*errors="0" failures="0" skipped="[0-9]*" tests="[1-9]'
"""In pytest's report, since what work prints proves nothing."""


@frozen
class Tool:
    """How a language's tests are run. command is for sh; passed is what its output (of pytest: its report) must hold.

    needs are the programs that must be there, ready a condition of sh besides. image is the base of the task's image,
    prepare what is run in it once.
    """

    command: str
    passed: str
    needs: Sequence[str]
    image: str
    prepare: Sequence[str] = ()
    ready: str = "true"


TOOLS: Mapping[str, Tool] = {
    "python": Tool(PYTEST, PYTEST_PASSED, ("python3",), "python:3.12-slim", ("RUN pip install --no-cache-dir pytest",)),
    "go": Tool("go test -v ./...", "^--- PASS", ("go",), "golang:1.24"),
    "rust": Tool(
        "cargo test --offline -- --include-ignored",
        r"^test result: ok\. [1-9]",
        ("cargo",),
        "rust:1.85",
        ("RUN cargo fetch",),
    ),
    "javascript": Tool(
        "node_modules/.bin/jest --ci ./*.spec.js",
        r"^Tests: +[0-9]+ passed",
        ("node", "node_modules/.bin/jest"),
        "node:22",
        ("RUN npm install --no-audit --no-fund",),
    ),
    "java": Tool(
        "sh ./gradlew test --offline --console plain && echo all passed",
        "^all passed$",
        ("java",),
        "eclipse-temurin:21",
        ("RUN sh ./gradlew compileTestJava --console plain || true",),
        'ls "$HOME"/.gradle/wrapper/dists/*/*/gradle-*/bin/gradle >/dev/null 2>&1',
    ),
    "cpp": Tool(
        "cmake -S . -B build -DEXERCISM_RUN_ALL_TESTS=1 && cmake --build build",
        "^All tests passed|test cases?: +[1-9]",
        ("cmake", "c++"),
        "gcc:14",
        ("RUN apt-get update && apt-get install -y --no-install-recommends cmake && rm -rf /var/lib/apt/lists/*",),
    ),
}


def judge(tool: Tool, folder: str, *, taken: Sequence[str] = (), arguments: Sequence[str] = ()) -> Blob:
    """`tests/test.sh` for work in a folder of that name; taken are the files of the work that count, all if none are.

    The tests lie in `tests/files`. arguments complete the tool's command.
    """
    command = " ".join([tool.command, *map(shlex.quote, arguments)])
    if taken:
        copied = [_taking(name) for name in taken]
    else:
        copied = ['cp -a "$APP/." "$copy/" || exit 3', f'(cd "$copy" && rm -rf .git {" ".join(MEDDLERS)})']
    missing = [
        f'command -v {program} >/dev/null || {{ echo "{program} is missing here" >&2; exit 3; }}'
        for program in tool.needs
    ]
    return text(
        "#!/bin/sh",
        "# Puts the tests back over a copy of the work, and runs them there. Exit code 3: they cannot be run here.",
        "TESTS=${TESTS_DIR:-/tests} APP=${APP_DIR:-/app} LOGS=${LOGS_DIR:-/logs}",
        "stage=$(mktemp -d) && results=$(mktemp) || exit 3",
        """trap 'rm -rf "$stage" "$results"' EXIT""",
        f'copy="$stage"/{shlex.quote(folder)}',
        'mkdir -p "$LOGS/verifier" "$copy"',
        *copied,
        'cp -a "$TESTS/files/." "$copy/" && cd "$copy" || exit 3',
        *missing,
        f'{tool.ready} || {{ echo "what the tests need was not fetched into this image" >&2; exit 3; }}',
        "export PYTHONDONTWRITEBYTECODE=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1",
        f"cat >\"$stage/run.sh\" <<'END'\n{command}\nEND",
        # Where work loops for ever its tests end too, with a judgement.
        f"limit=; command -v timeout >/dev/null && limit='timeout -k 5 {TEST_SECONDS}'",
        'results=$results $limit sh "$stage/run.sh" >"$LOGS/verifier/tests.txt" 2>&1',
        "code=$?",
        f'seen="{"$results" if tool.command.startswith(PYTEST) else "$LOGS/verifier/tests.txt"}"',
        f'passed=0; [ $code -eq 0 ] && grep -Eq {shlex.quote(tool.passed)} "$seen" && passed=1',
        """printf '{"reward": %s, "held_out": %s}\\n' $passed $passed >"$LOGS/verifier/reward.json\"""",
        executable=True,
    )


MEDDLERS = ("conftest.py", "sitecustomize.py", "usercustomize.py", "pytest.py", "pytest.ini", "tox.ini", "setup.cfg")
"""Files at the top of the work by which it could say how it is tested."""


def _taking(name: str) -> str:
    file, folder = shlex.quote(name), shlex.quote(_folder(name))
    return f'mkdir -p "$copy"/{folder} && cp "$APP"/{file} "$copy"/{file} 2>/dev/null'


def _folder(name: str) -> str:
    return name.rpartition("/")[0] or "."


def copying(pairs: Mapping[str, str], files: Mapping[str, Blob]) -> dict[str, Blob]:
    """`solution/` of a task: files, and a solve.sh that puts each of them to its place in the work."""
    lines = ["#!/bin/sh", "# The suite's own solution.", 'here=$(cd "$(dirname "$0")" && pwd)']
    for source, target in pairs.items():
        folder = _folder(target)
        lines += [f"mkdir -p {shlex.quote(folder)}"] if folder != "." else []
        lines.append(f'cp "$here"/{shlex.quote(source)} {shlex.quote(target)}')
    return {"solve.sh": text(*lines, executable=True), **files}
