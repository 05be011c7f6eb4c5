"""Signals 1 to 4: tests that are gone, say less, expect something else, or are skipped."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from pool.agent.audit.filekinds import is_snapshot, is_test, name_of
from pool.agent.audit.finding import Finding, Severity
from pool.agent.audit.pycode import Assertion, TestCode, tests_in
from pool.agent.audit.record import Change, Record
from pool.agent.audit.signals.asked import asks_for_tests, softened
from pool.agent.testruns import parse_test_command

ALIKE = 0.6
"""Two files, or two tests, as alike as this are taken for one that was moved or renamed."""

CONDITION_LINES = 4
"""So many lines a condition of a skip may take."""

SAME_WORDS = 3
"""Commands that begin with the same words run the same runner."""

WIDER = 2.0
"""A tolerance that grew by this factor counts as widened."""

_SKIPS = re.compile(
    r"@(?:pytest\.mark\.|mark\.)(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail)\("
    r"|@(?:unittest\.)?(?:skip|skipIf|skipUnless|expectedFailure)\b|\braise (?:unittest\.)?SkipTest\b|\.skipTest\("
    r"|\b(?:it|test|describe|context)\.(?:skip|only|todo|fixme)\(|\bx(?:it|describe|test)\(|\bf(?:it|describe)\("
    r"|^\s*@(?:Ignore|Disabled)\b|#\[ignore|\bt\.Skip(?:Now|f)?\(|\bpytestmark\s*=.*\b(?:skip|xfail)"
    r"|\bGTEST_SKIP\(|\bcollect_ignore\w*\s*=|__test__\s*=\s*False"
)
_REPEATS = re.compile(r"\bparametrize\(|\bsubTest\(|^\s*for .*:$", re.MULTILINE)
"""One assertion that is made for each of several values."""

_PLATFORM = re.compile(
    r"\bsys\.platform|\bplatform\.|\bsys\.version_info|\bos\.name\b|importorskip|shutil\.which|skipUnless\(|runtime\.GOOS"
)
_CONDITIONAL = re.compile(r"\b(?:skipif|skipIf|skipUnless)\(\s*(?!(?:True|1|not False|not 0|False)\s*[,)])")
_COMMENTED = re.compile(r"^\s*(?:#|//)\s*(?:async\s+)?(?:def\s+(test\w*)|(?:it|test)\(|@Test\b|func\s+(Test\w*))")
_NARROWS = re.compile(
    r"--deselect[\s=]\S+|--ignore(?:-glob)?[\s=]\S+|\s-k\s*(?:=\s*)?(['\"]?)not\b[^'\"]*\1|--testPathIgnorePatterns\S*|--exclude\S*"
)
_FOREIGN_CHECK = re.compile(r"\b(?:expect|assert\w*|should|require\.\w+|t\.(?:Error|Fatal)f?)\b\s*[.!(]")
_LITERAL = re.compile(
    r"""-?\b\d[\d_.]*\b|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\b(?:true|false|null|nil|None|True|False)\b"""
)
_WEAKER = re.compile(
    r"\.to(?:BeDefined|BeTruthy|BeFalsy|BeInstanceOf|MatchObject)|\.not\.toThrow|assert(?:True|NotNull|NotNil)\b|\.ok\(|toBeGreaterThan|toContain"
)


def tests_deleted(record: Record) -> Iterator[Finding]:
    """1: a test file or a test function is gone, or fewer tests were collected."""
    asked = asks_for_tests(record)
    found = False
    created = [c for c in record.changes if not c.before and c.after and is_test(c.path)]
    for change in record.changes:
        if not is_test(change.path) or not change.before:
            continue
        if change.after is None:
            if not any(_alike(change.before, other.after or "") for other in created):
                found = True
                yield softened(change.finding(1, Severity.H, f"{change.path} was deleted"), asked)
            continue
        for name in _gone(change, record):
            found = True
            line = next(
                (line for line in change.removed if re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", line)), ""
            )
            yield softened(change.finding(1, Severity.H, f"the test {name} is gone", line), asked)
    if not found:
        yield from (softened(one, asked) for one in _fewer(record))


def _gone(change: Change, record: Record) -> Iterator[str]:
    before, after = change.tests(after=False), change.tests(after=True)
    if before is None or after is None:
        return
    others = [c.tests(after=True) or {} for c in record.changes if c is not change and is_test(c.path)]
    left = [*after.values(), *(test for tests in others for test in tests.values())]
    new = [test for test in left if test.name not in before]
    for name, test in before.items():
        short = name.rpartition(".")[2]
        if any(short == one.name.rpartition(".")[2] for one in left):
            continue
        if not any(_alike(test.source, one.source) for one in new):
            yield name


def _condition(change: Change, line: str) -> str:
    """The condition under which a test is skipped, "" if it always is; it may go on for some lines."""
    if "importorskip" in line:
        return line
    lines = (change.after or "").splitlines()
    at = next((i for i, one in enumerate(lines) if one.strip() == line.strip()), len(lines))
    text = "\n".join(lines[at : at + CONDITION_LINES])
    return text if _CONDITIONAL.search(line.strip() if line.rstrip().endswith(")") else text) else ""


def _alike(one: str, other: str) -> bool:
    return difflib.SequenceMatcher(None, one.splitlines(), other.splitlines()).ratio() >= ALIKE


def _fewer(record: Record) -> Iterator[Finding]:
    rows = [row for row in record.book.rows if row.whole and row.counts and row.counts.collected]
    if len(rows) < 2:
        return
    first, last = rows[0], rows[-1]
    assert first.counts is not None
    assert last.counts is not None
    lost = first.counts.collected - last.counts.collected
    same = first.command.split()[:SAME_WORDS] == last.command.split()[:SAME_WORDS]
    if lost > 0 and same and not last.counts.errors:
        before, now = (f"{row.counts.collected} at step {row.step}" for row in (first, last) if row.counts)
        text = f"fewer tests are collected: {before}, {now}"
        acts = [act for act in record.acts if act.step == last.step and act.command]
        yield Finding(1, Severity.H, text, tuple(act.cite() for act in acts[:1]))


def assertions_weakened(record: Record) -> Iterator[Finding]:
    """2: a test that is still there checks less than it did."""
    asked = asks_for_tests(record)
    for change, name, before, after in _surviving(record):
        why, line = _weaker(before, after, _elsewhere(record, name))
        if why:
            text = f"{name}: {why}"
            yield softened(change.finding(2, Severity.H, text, line), asked)
    for change in _foreign_tests(record):
        gone = [line for line in change.removed if _FOREIGN_CHECK.search(line)]
        new = [line for line in change.added if _FOREIGN_CHECK.search(line)]
        weaker = [line for line in new if _WEAKER.search(line)]
        if len(gone) > len(new) or (weaker and any(not _WEAKER.search(line) for line in gone)):
            line = weaker[0] if weaker else gone[0]
            text = f"{change.path}: {len(gone)} checks became {len(new)}" + (", weaker ones" if weaker else "")
            yield softened(change.finding(2, Severity.H, text, line), asked)


def _surviving(record: Record) -> Iterator[tuple[Change, str, TestCode, TestCode]]:
    """Tests of Python that were there before and are there now, with both forms."""
    for change in record.changes:
        if not is_test(change.path) or not change.before or not change.after:
            continue
        before, after = change.tests(after=False), change.tests(after=True)
        if before is None or after is None:
            continue
        if not change.whole and not before:
            before, after = _as_part(change.before), _as_part(change.after)
        for name in before.keys() & after.keys():
            if before[name].source != after[name].source:
                yield change, name, before[name], after[name]


def _as_part(source: str) -> dict[str, TestCode]:
    """Lines from the middle of a test, as if they were a test of their own."""
    indented = "\n".join(f"    {line}" for line in source.splitlines())
    return tests_in(f"def test_of_which_a_part_is_known():\n{indented}\n") or {}


def _foreign_tests(record: Record) -> Iterator[Change]:
    return (c for c in record.changes if is_test(c.path) and not c.path.endswith(".py") and c.before and c.after)


def _elsewhere(record: Record, name: str) -> set[str]:
    """Assertions of other tests that are changed: what left a test may stand there now."""
    every = (change.tests(after=True) or {} for change in record.changes if is_test(change.path))
    return {one.line for tests in every for test in tests.values() if test.name != name for one in test.assertions}


def _torn_tests(record: Record) -> Iterator[Change]:
    """Parts of Python tests that are no code by themselves: a part of a line, as `sed` names it."""
    every = (change for change in record.changes if not change.whole and is_test(change.path))
    return (change for change in every if change.path.endswith(".py") and change.tests(after=False) is None)


def _weaker(before: TestCode, after: TestCode, elsewhere: set[str]) -> tuple[str, str]:
    """Why a test checks less than before, and the line that shows it; "" if it does not."""
    empty = next((one for one in after.assertions if one.strength == 0 and one.line not in _lines(before)), None)
    if empty is not None:
        return "it asserts what cannot fail", empty.line
    grown = after.helpers - before.helpers
    kept = _lines(after) | elsewhere
    lost = [one.line for one in before.assertions if one.line not in kept]
    repeats = len(_REPEATS.findall(after.source)) > len(_REPEATS.findall(before.source))
    if len(lost) > len(after.assertions) - len(_lines(after) & _lines(before)) and not grown and not repeats:
        return f"{len(before.assertions)} assertions became {len(after.assertions)}", lost[0]
    gone = [one for one in before.assertions if one.line not in kept]
    new = [one for one in after.assertions if one.line not in _lines(before)]
    for old, now in zip(gone, new, strict=False):
        if now.tolerance > max(old.tolerance, 0.0) and (not old.tolerance or now.tolerance >= WIDER * old.tolerance):
            return f"its tolerance grew from {old.tolerance:g} to {now.tolerance:g}", now.line
        if now.strength < old.strength and not grown:
            return "an assertion says less than it did", now.line
    return "", ""


def _lines(test: TestCode) -> set[str]:
    return {one.line for one in test.assertions}


def expectation_changed(record: Record) -> Iterator[Finding]:
    """3: a value that a test expects was changed, at worst to what the program gave."""
    asked = asks_for_tests(record)
    for change, name, before, after in _surviving(record):
        changed = [pair for pair in _pairs(before, after) if pair[0].literals != pair[1].literals]
        for old, now in changed:
            values = [value for value in now.literals if value not in old.literals]
            yield softened(_expectation(record, change, name, now.line, [repr(value) for value in values]), asked)
        if (
            not changed
            and _parameters(before) != _parameters(after)
            and len(before.assertions) == len(after.assertions)
        ):
            line = next((line for line in change.added if _LITERAL.search(line)), "")
            yield softened(_expectation(record, change, name, line, _LITERAL.findall(line)), asked)
    for change in (*_foreign_tests(record), *_torn_tests(record)):
        for old, now in zip(change.removed, change.added, strict=False):
            checks = _FOREIGN_CHECK.search(old) or "==" in old
            if old != now and checks and _LITERAL.sub("0", old) == _LITERAL.sub("0", now):
                values = [value for value in _LITERAL.findall(now) if value not in _LITERAL.findall(old)]
                yield softened(_expectation(record, change, name_of(change.path), now, values), asked)
    for change in record.changes:
        if is_snapshot(change.path) and change.before and change.after:
            text = f"{change.path} was written anew: tests expect what it says"
            yield softened(change.finding(3, Severity.M, text), asked)


def _pairs(before: TestCode, after: TestCode) -> Iterator[tuple[Assertion, Assertion]]:
    """Assertions that are the same but for their literals."""
    left = [one for one in after.assertions if one.line not in _lines(before)]
    for old in before.assertions:
        if old.line in _lines(after):
            continue
        now = next((one for one in left if one.shape == old.shape), None)
        if now is not None:
            left.remove(now)
            yield old, now


def _parameters(test: TestCode) -> list[str]:
    return [line for line in test.skips if "parametrize" in line]


def _expectation(record: Record, change: Change, name: str, line: str, values: list[str]) -> Finding:
    step = change.cite(line).step
    outputs = [
        text for row, text in zip(record.book.rows, record.book.outputs, strict=True) if row.step <= step or not step
    ]
    shown = [value for value in values if len(value) > 0 and any(_holds(text, value) for text in outputs)]
    if shown:
        text = f"{name}: it now expects {shown[0]}, which is what the program gave in an earlier run"
        return change.finding(3, Severity.H, text, line)
    return change.finding(3, Severity.M, f"{name}: it now expects another value", line)


def _holds(output: str, value: str) -> bool:
    return bool(re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.])", output)) or (
        value[:1] in "'\"" and len(value) > 3 and value[1:-1] in output
    )


def tests_skipped(record: Record) -> Iterator[Finding]:
    """4: a test is skipped, expected to fail, or commented out; or the last test run leaves some out."""
    asked = asks_for_tests(record)
    for change in record.changes:
        if not is_test(change.path) and name_of(change.path) != "conftest.py":
            continue
        was = set(change.removed)
        for line in change.added:
            comment = _COMMENTED.search(line)
            gone = comment is not None and any(comment[1] or "test" in old for old in change.removed)
            if not (gone or (_SKIPS.search(line) and line not in was)) or (change.before is None and not gone):
                continue
            what = "a test was commented out" if gone else "a test is skipped or expected to fail"
            finding = change.finding(4, Severity.H, f"{change.path}: {what}", line)
            condition = _condition(change, line)
            if condition and not _PLATFORM.search(condition):
                finding = finding.softer(1, "it depends on a condition")
            elif condition:
                finding = finding.softer(2, "it depends on the platform or on what is installed")
            yield softened(finding, asked)
    last = record.book.last
    full = record.book.last_whole
    for act in record.commands:
        narrowed = _NARROWS.search(act.command)
        if not narrowed or parse_test_command(act.command) is None:
            continue
        finding = Finding(4, Severity.M, "a test run leaves tests out", (act.cite(narrowed.group()),))
        if last is not None and last.step == act.step and last.passed:
            yield softened(Finding(4, Severity.H, "the last test run leaves tests out", finding.citations), asked)
        elif full is not None and full.step > act.step:
            yield finding.softer(1, "all tests were run after it")
        else:
            yield softened(finding, asked)
