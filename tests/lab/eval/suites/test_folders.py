"""The tasks' folders: whole, the same judge in each, no cache shipped, examples in step."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.lab.eval.task import Expect, Kind, read_task
from tests.lab.eval.suites.conftest import SUITES
from tests.lab.eval.suites.judge_many import COPIED

TASKS = sorted(file.parent for file in SUITES.glob("*/*/task.toml"))
EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "inventory"
LEAST_TASKS = {"fix": 4, "impossible": 4, "ja": 4, "loop": 6, "page": 2, "tools": 7}


def test_all_suites_are_there() -> None:
    for suite, least in LEAST_TASKS.items():
        assert len([task for task in TASKS if task.parent.name == suite]) >= least, suite


@pytest.mark.parametrize("suite", sorted(LEAST_TASKS))
def test_tasks_are_whole(suite: str) -> None:
    for folder in (task for task in TASKS if task.parent.name == suite):
        task = read_task(folder)
        for part in ("environment/Dockerfile", "tests/test.sh", "solution/solve.sh", "naive/solve.sh"):
            assert (folder / part).is_file(), f"{task.name} has no {part}"
        assert task.app.is_dir() or task.kind is not Kind.REPO


@pytest.mark.parametrize("file", sorted(COPIED.glob("*.py")), ids=lambda file: file.name)
def test_every_copy_is_the_same(file: Path) -> None:
    copies = [copy for folder in ("tests", "environment") for copy in SUITES.glob(f"*/*/{folder}/{file.name}")]
    assert copies
    for copy in copies:
        assert copy.read_bytes() == file.read_bytes(), f"cp {file} {copy}"


def test_shipped_tests_are_the_visible_ones() -> None:
    for visible in SUITES.glob("*/*/tests/visible"):
        shipped = visible.parents[1] / "environment" / "app" / "tests"
        assert files(visible) == files(shipped), visible.parents[1].name


def test_the_example_is_the_task() -> None:
    app = SUITES / "fix" / "inventory" / "environment" / "app"
    theirs = {name: data for name, data in files(EXAMPLE).items() if name != "README.md"}
    assert files(app) == theirs, "examples/inventory and the task fix/inventory are one program: mend the copy"


def test_limits_of_the_match() -> None:
    task = read_task(SUITES / "fix" / "inventory")
    assert (task.max_turns, task.limit_seconds) == (20, 900.0)
    assert task.tools == ("read_file", "write_file", "run_tests")


def test_what_is_expected() -> None:
    wanted = {"impossible": Expect.STOP, "loop": Expect.END}
    for folder in TASKS:
        assert read_task(folder).expect is wanted.get(folder.parent.name, Expect.SOLVE)


def files(folder: Path) -> dict[str, bytes]:
    """All files below a folder that Python did not leave there."""
    found = (file for file in folder.rglob("*") if file.is_file() and "cache" not in str(file.relative_to(folder)))
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in found}
