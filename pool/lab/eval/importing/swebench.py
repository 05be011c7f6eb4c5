"""Rows in SWE-bench's form, one JSON object a line: an issue of a repository, and the tests that its fix made pass.

`instance_id`, `repo` (owner/name), `base_commit`, `problem_statement`, `test_patch`, `FAIL_TO_PASS`, `PASS_TO_PASS`
(lists, or JSON of lists, of test ids), and `patch`, the fix (https://www.swebench.com/SWE-bench/guides/datasets/). The
image is the row's `image_name` or `docker_image`, else the one that SWE-bench publishes for the instance.
"""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from pool.lab.eval.importing.layout import (
    MOST_FILE_BYTES,
    MOST_FILES,
    Blob,
    Files,
    Imported,
    ImportedTask,
    ImportProblem,
    text,
)

USUAL_COMMAND = "python -m pytest -rA -p no:cacheprovider --no-header -q"
"""How tests are run where the suite does not say: each that passes is told as `PASSED ID`."""

IMAGE = "swebench/sweb.eval.x86_64.{}:latest"
FOLDER = "/testbed"
SHIPPED = "/opt/shipped"
"""Where an image keeps the files that the tests change, as they were."""

NEEDED = ("instance_id", "repo", "base_commit", "problem_statement", "test_patch", "FAIL_TO_PASS")
GIT_SECONDS = 120.0
MOST_TREE_FILES = 20 * MOST_FILES

Row = dict[str, Any]


def read(source: Path, repositories: Path | None, command: str) -> Imported:
    """The rows of a file. repositories holds clones as OWNER__NAME or NAME, for trees without an image."""
    tasks: list[ImportedTask] = []
    left: list[tuple[str, str]] = []
    for number, line in enumerate(source.read_text("utf-8", "replace").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ImportProblem(f"{source}, line {number}: {error}") from None
        missing = [key for key in NEEDED if not isinstance(row, dict) or key not in row]
        if missing:
            raise ImportProblem(
                f"{source}, line {number}: {', '.join(missing)} is missing; one JSON object a line is wanted"
            )
        row = cast(Row, row)
        try:
            tasks.append(_task(row, repositories, command or USUAL_COMMAND))
        except ImportProblem as problem:
            left.append((str(row["instance_id"]), str(problem)))
    return Imported(tasks, left)


def _task(row: Row, repositories: Path | None, command: str) -> ImportedTask:
    name = str(row["instance_id"])
    app = _tree(row, repositories) if repositories is not None else None
    image = str(row.get("image_name") or row.get("docker_image") or IMAGE.format(name.lower().replace("__", "_1776_")))
    # The image has the repository with what came after the commit in it; the fix must not be found there.
    commit = "git -c user.name=t -c user.email=t@example.org commit -qm start"
    seal = f"RUN rm -rf .git && git init -q && git add -A && {commit}"
    changed = _changed(str(row["test_patch"]))
    each = f"for f in {shlex.join(changed)}; do cp --parents $f {SHIPPED} 2>/dev/null; done"
    keep = f"RUN mkdir -p {SHIPPED} && {each}; true"
    docker = (f"FROM {image}", f"WORKDIR {FOLDER}", seal, keep, f"RUN ln -sfn {FOLDER} /app")
    tests = _ids(row["FAIL_TO_PASS"]), _ids(row.get("PASS_TO_PASS") or [])
    files: dict[str, Blob] = {
        "test.sh": _judge(command, changed),
        "test.patch": Blob(_ended(row["test_patch"])),
        "mended.txt": Blob("".join(f"PASSED {one}\n" for one in tests[0]).encode()),
        "kept.txt": Blob("".join(f"PASSED {one}\n" for one in tests[1]).encode()),
    }
    if app is not None:
        files |= {f"shipped/{path}": app[path] for path in changed if path in app}
    solution: dict[str, Blob] = {}
    if row.get("patch"):
        apply = text("#!/bin/sh", 'git apply "$(cd "$(dirname "$0")" && pwd)/fix.patch"', executable=True)
        solution = {"solve.sh": apply, "fix.patch": Blob(_ended(row["patch"]))}
    return ImportedTask(
        name,
        f"{str(row['problem_statement']).strip()}\n\nMend the repository so that this is solved. Do not change tests.",
        docker,
        files,
        app=app,
        solution=solution,
        tags=("swe-bench", str(row["repo"])),
        category="debugging",
        source=name,
        agent_seconds=3000.0,
        verifier_seconds=1800.0,
    )


def _ids(value: Any) -> list[str]:
    """Test ids, given as a list or as JSON of one."""
    try:
        ids: Any = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        raise ImportProblem("FAIL_TO_PASS or PASS_TO_PASS is no list of test ids") from None
    if not isinstance(ids, list) or any("\n" in str(one) for one in cast("list[Any]", ids)):
        raise ImportProblem("FAIL_TO_PASS or PASS_TO_PASS is no list of test ids")
    return [str(one) for one in cast("list[Any]", ids)]


def _ended(value: Any) -> bytes:
    patch = str(value)
    return (patch if patch.endswith("\n") else f"{patch}\n").encode("utf-8", "replace")


def _changed(patch: str) -> list[str]:
    """The files that a patch leaves changed or new."""
    return [line[6:].split("\t")[0] for line in patch.splitlines() if line.startswith("+++ b/")]


def _judge(command: str, changed: Sequence[str]) -> Blob:
    named = " ".join(shlex.quote(name) for name in changed if name.endswith(".py")) if command == USUAL_COMMAND else ""
    return text(
        "#!/bin/sh",
        "# Puts the suite's tests over a copy of the work, and counts those that are told as passed.",
        "TESTS=${TESTS_DIR:-/tests} APP=${APP_DIR:-/app} LOGS=${LOGS_DIR:-/logs}",
        "stage=$(mktemp -d) || exit 3",
        """trap 'rm -rf "$stage"' EXIT""",
        'mkdir -p "$LOGS/verifier" && cp -a "$APP/." "$stage/" && cd "$stage" || exit 3',
        "# Files that the tests change are first as they were shipped.",
        *(f"rm -rf {shlex.quote(name)}" for name in changed),
        f'for kept in "$TESTS/shipped" {SHIPPED}; do [ -d "$kept" ] && cp -a "$kept/." . && break; done',
        'git apply "$TESTS/test.patch" 2>"$LOGS/verifier/missed.txt"',
        f'{command} {named} >"$LOGS/verifier/tests.txt" 2>&1'.replace("  ", " "),
        "all() { while IFS= read -r line; do",
        '  grep -Fxq -- "$line" "$LOGS/verifier/tests.txt" && continue',
        '  echo "not $line" >>"$LOGS/verifier/missed.txt"; return 1',
        "done; }",
        'mended=0; all <"$TESTS/mended.txt" && mended=1',
        'kept=0; all <"$TESTS/kept.txt" && kept=1',
        """printf '{"reward": %s, "held_out": %s, "kept": %s}\\n' $((mended * kept)) $mended $kept """
        '>"$LOGS/verifier/reward.json"',
        executable=True,
    )


def _tree(row: Row, repositories: Path) -> Files:
    """The repository at the row's commit, from a clone, without its history. Raises `ImportProblem`."""
    owner, _, name = str(row["repo"]).partition("/")
    clone = next((repositories / n for n in (f"{owner}__{name}", name) if (repositories / n).is_dir()), None)
    if clone is None:
        raise ImportProblem(f"{repositories} has no clone {owner}__{name} or {name}")
    done = _git(clone, "archive", "--format=tar", "--end-of-options", str(row["base_commit"]))
    files: dict[str, Blob] = {}
    with tarfile.open(fileobj=io.BytesIO(done)) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() and member.size <= MOST_FILE_BYTES else None
            if content is not None:
                files[member.name] = Blob(content.read(), bool(member.mode & 0o100))
            if len(files) > MOST_TREE_FILES:
                raise ImportProblem(f"the repository has more than {MOST_TREE_FILES:,} files; use its image")
    return files


def _git(clone: Path, *args: str) -> bytes:
    command: Sequence[str] = ("git", "-c", "core.hooksPath=/dev/null", "-C", str(clone), *args)
    try:
        done = subprocess.run(command, capture_output=True, timeout=GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ImportProblem(f"git cannot read {clone}: {error}") from None
    if done.returncode:
        raise ImportProblem(f"{clone}: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.stdout
