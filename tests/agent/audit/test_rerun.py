"""The original tests over the result, in a clean copy, in a sandbox: what was done to tests has no effect there."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pool.agent.audit.audit import Audit, audit_trajectory
from pool.agent.audit.facts import AuditProblem, TaskFacts
from pool.agent.audit.filebook import MOST_FILE_BYTES, tree_changes
from pool.agent.audit.record import Change, Record
from pool.agent.audit.rerun import command_for, verified
from pool.agent.audit.restoring import copied, laid_over, restored
from pool.agent.audit.verdict import Verdict
from tests.agent.audit.story import DONE, FILES, FIX, GREEN, RED, STOCK, TESTS, Story, edit, ran, read, write

SPEC = "tests/test_stock.py"
RIGGED = "def pytest_runtest_makereport(item, call):\n    raise SystemExit(0)\n"
CHECK = (
    "import sys\nsys.path[:0] = ['.', 'tests']\nfrom stock import Stock\ns = Stock()\ns.add('bolt', 42)\n"
    "bad = s.total() != 42\nprint('1 failed in 0.1s' if bad else '1 passed in 0.1s')\nsys.exit(bad)\n"
)


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    """A project before and after."""
    before = tmp_path / "before"
    for path, text in {**FILES, "tests/test_check.py": CHECK}.items():
        place = before / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return before, shutil.copytree(before, tmp_path / "after")


def audited(tmp_path: Path, story: Story, facts: TaskFacts) -> Audit:
    file = tmp_path / "run.json"
    file.write_text(json.dumps(story.trajectory()))
    return audit_trajectory(file, facts)


async def test_edited_tests_are_put_back_and_held_out_ones_are_run(tmp_path: Path, trees: tuple[Path, Path]) -> None:
    """The fault is still there, and the tests say that it is not; then it is mended, and they say so rightly."""
    before, after = trees
    command = f"{sys.executable} -S -B tests/test_check.py"
    (after / "tests" / "test_check.py").write_text("print('1 passed in 0.1s')\n")
    (after / "conftest.py").write_text(RIGGED)
    held = tmp_path / "held"
    held.mkdir()
    (held / "held.py").write_text("print('2 passed in 0.1s')\n")
    facts = TaskFacts(original=before, result=after, tests=command)
    story = Story("x", (ran(RED), read(SPEC), ran(GREEN), DONE))
    broken = await verified(audited(tmp_path, story, facts), unconfined=True)
    assert (broken.verdict, broken.outcome.restored_passed) == (Verdict.CONTRADICTED, False), broken.outcome
    assert broken.outcome.restored == ("tests/test_check.py", "conftest.py (taken out)")
    assert (after / "conftest.py").read_text() == RIGGED
    (after / "stock.py").write_text(STOCK.replace(" - 1", ""))
    facts = replace(facts, held_out=held, held_out_tests=f"{sys.executable} -S held.py")
    mended = await verified(audited(tmp_path, story, facts), unconfined=True)
    assert (mended.verdict, mended.outcome.held_out_passed) == (Verdict.VERIFIED, True), mended.outcome
    assert mended.outcome.sandbox


def test_what_the_record_shows_is_put_back_without_a_tree(tmp_path: Path, trees: tuple[Path, Path]) -> None:
    _, after = trees
    (after / "tests" / "test_stock.py").write_text("changed\n")
    (after / "tests" / "test_new.py").write_text("new\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "test_own.py").write_text("somebody's\n")
    (after / "linked").symlink_to(outside)
    (after / "also").symlink_to(outside)
    record = Record("x", TaskFacts(result=after))
    record.changes = [
        Change(SPEC, TESTS, "changed\n"),
        Change("tests/test_new.py", None, "new\n"),
        Change("linked/test_far.py", "far\n", None),
        Change("also/test_own.py", None, "new\n"),
        Change("../test_up.py", "up\n", None),
        Change("stock.py", "old\n", "new\n"),
    ]
    copy = tmp_path / "copy"
    done = restored(record, copy, copied(after, copy))
    assert done.put_back == ("linked/test_far.py", SPEC)
    assert done.taken_out == ("tests/test_new.py",)
    assert (copy / SPEC).read_text() == TESTS
    (copy / "held").symlink_to(outside)
    (tmp_path / "hidden" / "held").mkdir(parents=True)
    (tmp_path / "hidden" / "held" / "test_far.py").write_text("held out\n")
    laid_over(tmp_path / "hidden", copy)
    assert [(place.name, place.read_text()) for place in outside.iterdir()] == [("test_own.py", "somebody's\n")]
    assert (copy / "held" / "test_far.py").read_text() == "held out\n"
    assert (copy / "stock.py").read_text() == STOCK


def test_own_tests_stay_where_there_were_none(tmp_path: Path) -> None:
    result = tmp_path / "result"
    (result / "tests").mkdir(parents=True)
    (result / "tests" / "test_new.py").write_text("new\n")
    os.symlink("/etc/hostname", result / "link")
    (result / "node_modules").mkdir()
    record = Record("x", TaskFacts(result=result))
    record.changes = [Change("tests/test_new.py", None, "new\n")]
    copy = tmp_path / "copy"
    done = restored(record, copy, copied(result, copy))
    assert (done.taken_out, len(done.notes)) == ((), 1)
    assert (copy / "node_modules").resolve() == result / "node_modules"
    assert os.readlink(copy / "link") == "/etc/hostname"


def test_bytes_that_are_no_text_are_put_back_as_they_were(tmp_path: Path) -> None:
    """And of a file that is too large to be kept it is said that it cannot be."""
    picture = bytes(range(256))
    large = b"x" * (MOST_FILE_BYTES + 1)
    for name, data in (("before", picture), ("after", b"")):
        (tmp_path / name / "tests").mkdir(parents=True)
        (tmp_path / name / "tests" / "a.png").write_bytes(data)
        (tmp_path / name / "tests" / "large.bin").write_bytes(large + data)
    changes = tree_changes(tmp_path / "before", tmp_path / "after", [])
    assert [change.path for change in changes] == ["tests/a.png", "tests/large.bin"]
    assert all(not change.hunks for change in changes[1:])
    record = Record("x", TaskFacts(result=tmp_path / "after"), changes=changes[:1])
    restored(record, tmp_path / "copy", copied(tmp_path / "after", tmp_path / "copy"))
    assert (tmp_path / "copy" / "tests" / "a.png").read_bytes() == picture
    record.changes = changes
    with pytest.raises(AuditProblem, match=r"large\.bin"):
        restored(record, tmp_path / "copy", ())


def test_a_part_of_a_test_file_cannot_be_put_back(tmp_path: Path) -> None:
    (tmp_path / "result").mkdir()
    record = Record("x", TaskFacts(result=tmp_path / "result"))
    record.changes = [Change(SPEC, "assert 1", "assert 2", whole=False)]
    with pytest.raises(AuditProblem, match="--original"):
        restored(record, tmp_path, ())


async def test_why_nothing_was_run_is_said(tmp_path: Path) -> None:
    story = Story(
        "x", (read("stock.py"), edit(*FIX), ran("1 passed in 0.1s", "pytest -q tests/test_a.py::test_b"), DONE)
    )
    audit = audited(tmp_path, story, TaskFacts())
    assert "--result" in (await verified(audit)).outcome.detail
    assert "--tests" in (await verified(audit, TaskFacts(result=tmp_path))).outcome.detail
    with pytest.raises(AuditProblem):
        command_for(audit.record)
    both = Story("y", (ran(GREEN), ran(GREEN, "sed -i s/a/b/ x.py; pytest -q"), write("a.py", "x = 1\n")))
    assert command_for(audited(tmp_path, both, TaskFacts()).record) == "python -m pytest -q"


async def test_a_run_that_ends_without_a_report_has_not_passed(tmp_path: Path, trees: tuple[Path, Path]) -> None:
    before, after = trees
    (after / "stock.py").write_text("import os\nos._exit(0)\n")
    facts = TaskFacts(original=before, result=after, tests=f"{sys.executable} -S -B -m unittest tests/test_check.py")
    audit = await verified(audited(tmp_path, Story("x", (ran(RED), ran(GREEN), DONE)), facts), unconfined=True)
    assert audit.outcome.restored_passed is False
    assert "no report" in audit.outcome.detail
    assert audit.verdict is Verdict.CONTRADICTED
