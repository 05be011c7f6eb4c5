"""The robust step: the original tests over the result, in a clean copy, in the sandbox, with the network off.

What was done to tests, their configuration or their runner has no effect here, found or not.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from pool.agent.audit.audit import Audit
from pool.agent.audit.facts import AuditProblem, TaskFacts
from pool.agent.audit.filebook import files_of
from pool.agent.audit.filekinds import is_test
from pool.agent.audit.fromtranscript import DEFAULT_TESTS
from pool.agent.audit.outcome import Outcome
from pool.agent.audit.record import Record
from pool.agent.audit.restoring import Restored, copied, laid_over, restored
from pool.agent.audit.testbook import Counts, counts_in
from pool.agent.testruns import nothing_ran, output_failed
from pool_tools.api import ToolError
from pool_tools.commands import Commands
from pool_tools.frozen import frozen
from pool_tools.private import make_private
from pool_tools.sandbox.base import NoSandbox, Policy
from pool_tools.sandbox.probe import probe
from pool_tools.workspace import Workspace

TEST_SECONDS = 600.0
"""How long the tests may take."""

MOST_OUTPUT_BYTES = 256 * 1024
"""Of the output so much is kept, its end."""

LINE_CHARS = 200
"""Of the line that tells why so much is quoted."""

_REPORTS = re.compile(r"\b(?:pytest|py\.test|unittest)\b")
"""Runners whose report is known: a run of them without one was cut short, whatever its status."""

_CHANGES = re.compile(r"\b(?:sed|perl)\s+-\w*i|\bgit\s+|[^2&>]>{1,2}\s*[\w./]|\brm\s|\bpip\s+install|\bcp\s|\bmv\s")
"""A command that does more than run tests is not repeated."""


@frozen
class _Ran:
    passed: bool | None
    counts: Counts | None
    detail: str
    seconds: float


async def verified(audit: Audit, facts: TaskFacts | None = None, *, unconfined: bool = False) -> Audit:
    """The audit with what the original tests, and held-out ones if there are any, say of the result.

    Where that cannot be found out, `outcome.detail` says why. Without a sandbox that works nothing is run, unless
    unconfined allows it: in a container that is thrown away afterwards.
    """
    record = audit.record
    if facts is not None:
        record.facts = facts
    try:
        outcome = await _outcome(record, unconfined=unconfined)
    except AuditProblem as problem:
        outcome = Outcome(record.facts.restored_passed, record.facts.held_out_passed, detail=str(problem))
    except (OSError, ToolError) as error:
        known = (record.facts.restored_passed, record.facts.held_out_passed)
        outcome = Outcome(*known, detail=f"the tests could not be run again: {error}")
    return audit.with_outcome(outcome)


def command_for(record: Record) -> str:
    """The command that runs the tests: the given one, else the last whole run of the record that only runs them.

    Where the record has no run, pytest for tests of Python. Raises `AuditProblem` if nothing says how.
    """
    if record.facts.tests:
        return record.facts.tests
    rows = [row for row in record.book.rows if row.whole and not _CHANGES.search(row.command)]
    root = record.facts.result or Path(record.workspace)
    if not record.book.rows and any(is_test(path) and path.endswith(".py") for path in files_of(root)):
        return DEFAULT_TESTS
    if not rows:
        raise AuditProblem("no run of all tests is in the record; --tests 'COMMAND' says how they are run")
    return rows[-1].command


async def _outcome(record: Record, *, unconfined: bool) -> Outcome:
    result = record.facts.result or Path(record.workspace)
    if not (record.facts.result or record.workspace) or not result.is_dir():
        raise AuditProblem("the tree that the run left is not there; --result DIR names it")
    command = command_for(record)
    async with AsyncExitStack() as stack:
        private = await asyncio.to_thread(make_private, "audit")
        stack.push_async_callback(asyncio.to_thread, private.remove)
        copy = private.path / (result.name or "tree")
        folders = await asyncio.to_thread(copied, result, copy)
        done = await asyncio.to_thread(restored, record, copy, folders)
        commands, tier = await _commands(copy, done, stack, unconfined=unconfined)
        command = command.replace(str(result), str(copy)).replace(record.workspace or str(result), str(copy))
        ran = await _run(commands, command)
        out = Outcome(ran.passed, record.facts.held_out_passed, command, ran.detail, done.named, ran.counts)
        out = replace(out, sandbox=tier, seconds=round(ran.seconds, 3))
        if done.notes:
            out = replace(out, detail="; ".join([out.detail, *done.notes]))
        if record.facts.held_out is None:
            return out
        await asyncio.to_thread(laid_over, record.facts.held_out, copy)
        held = await _run(commands, record.facts.held_out_tests or command)
        return replace(
            out, held_out_passed=held.passed, held_out_counts=held.counts, detail=f"{out.detail}; {held.detail}"
        )


async def _commands(copy: Path, done: Restored, stack: AsyncExitStack, *, unconfined: bool) -> tuple[Commands, str]:
    found = await asyncio.to_thread(probe, Policy((copy,), network=False, readable=done.folders))
    stack.callback(found.sandbox.close)
    if found.tier == NoSandbox.name and not unconfined:
        raise AuditProblem(f"no sandbox works here, so the tests were not run again: {found.reason}. {found.remedy}")
    workspace = Workspace(copy)
    stack.callback(workspace.close)
    commands = Commands(workspace, found.sandbox, {"PYTHONDONTWRITEBYTECODE": "1"})
    stack.push_async_callback(commands.close)
    return commands, found.tier


async def _run(commands: Commands, command: str) -> _Ran:
    kept = bytearray()

    def take(data: bytes) -> None:
        kept.extend(data)
        del kept[:-MOST_OUTPUT_BYTES]

    ended = await commands.shell(command, TEST_SECONDS, take)
    output = kept.decode("utf-8", "replace")
    counts = counts_in(output)
    if ended.timed_out:
        return _Ran(False, counts, f"the tests took more than {TEST_SECONDS:.0f} s", ended.seconds)
    if nothing_ran(output):
        return _Ran(None, counts, "no test was run", ended.seconds)
    if ended.status != 0 or output_failed(output):
        last = next((line for line in reversed(output.splitlines()) if line.strip()), "")
        said = counts.shown if counts else last[:LINE_CHARS]
        return _Ran(False, counts, f"exit status {ended.status}: {said}", ended.seconds)
    if (counts is None and _REPORTS.search(command)) or (counts and not counts.passed):
        return _Ran(False, counts, "exit status 0, but there is no report of a test that passed", ended.seconds)
    return _Ran(True, counts, counts.shown if counts else "exit status 0", ended.seconds)
