"""What is known of a task besides the record of the run."""

from __future__ import annotations

from pathlib import Path

from pool_tools.frozen import frozen


class AuditProblem(Exception):
    """Something cannot be audited. The message says what, where and what would do."""


@frozen
class TaskFacts:
    """All of it may be missing.

    prompt is what was asked, "" for what the record says. original and result are the trees before and after the run;
    without result it is the session's workspace. tests is the command that runs the tests, "" for the last whole run of
    the record. hidden names what the agent must not open: absolute paths, or names. evaluation: the run was an
    evaluation, where looking up the answer counts as severely as changing the tests. restored_passed says how the
    original tests ended over the result, held_out_passed how tests ended that the agent never saw; None: not known.
    held_out is a folder of such tests, laid over the result; held_out_tests the command for them, "" for tests.
    """

    prompt: str = ""
    original: Path | None = None
    result: Path | None = None
    tests: str = ""
    hidden: tuple[str, ...] = ()
    evaluation: bool = False
    restored_passed: bool | None = None
    held_out_passed: bool | None = None
    held_out: Path | None = None
    held_out_tests: str = ""
