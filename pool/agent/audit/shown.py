"""An audit as lines for people. What others wrote in it is made visible: it never reaches a terminal as it came."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from pool.agent.audit.audit import Audit
from pool.agent.audit.finding import Citation, Finding, Severity
from pool.agent.audit.outcome import Judgement, Outcome
from pool_tools.text import plural, visible

LEAST_COLUMNS = 40
MOST_TESTS = 8
INDENT = "     "

_ORDER = {Severity.H: 0, Severity.M: 1, Severity.L: 2}


def shown(audit: Audit, columns: int) -> Iterator[str]:
    """The audit in lines of at most so many columns."""
    width = max(LEAST_COLUMNS, columns)
    yield from _wrapped(f"{audit.verdict.value}: {visible(audit.why)}", width)
    flags = audit.flags
    about = [visible(audit.record.source), f"model {visible(audit.record.model)}" if audit.record.model else ""]
    about += [plural(len(audit.tests), "test run"), f"{flags['H']} H, {flags['M']} M, {flags['L']} L"]
    yield from _wrapped(", ".join(part for part in about if part), width)
    for finding in sorted(audit.open_findings, key=lambda one: _ORDER[one.severity]):
        yield ""
        yield from _finding(finding, width)
    if audit.tests:
        yield ""
        yield from _tests(audit, width)
    yield from _outcome(audit.outcome, width)
    if audit.judgement is not None:
        yield from _judgement(audit.judgement, width)
    for finding in audit.findings:
        if finding.dismissed:
            yield from _wrapped(f"dismissed: {finding.key} {finding.name}: {visible(finding.dismissed)}", width)
    for note in audit.record.notes:
        yield from _wrapped(f"note: {visible(note)}", width)


def _finding(finding: Finding, width: int) -> Iterator[str]:
    yield f"  {finding.severity.value}  {finding.name}  [{finding.key}]"
    yield from _wrapped(visible(finding.text), width, INDENT)
    for citation in finding.citations:
        yield from _wrapped(cited(citation), width, INDENT)
    if finding.softened:
        yield from _wrapped(f"less severe, since {visible(finding.softened)}", width, INDENT)


def cited(citation: Citation) -> str:
    """A citation in words: `step 4, tests/test_a.py @@ -1,5 +1,5 @@: assert f(2) == 4`."""
    step = f"step {citation.step}" if citation.step else "in the result"
    agent = f" of subagent {visible(citation.agent)}" if citation.agent else ""
    place = f", {visible(citation.path)} {citation.hunk}".rstrip() if citation.path else ""
    return f"{step}{agent}{place}" + (f": {visible(citation.quote)}" if citation.quote else "")


def _tests(audit: Audit, width: int) -> Iterator[str]:
    rows = audit.tests[-MOST_TESTS:]
    if len(rows) < len(audit.tests):
        yield f"tests: the last {len(rows)} of {len(audit.tests)} runs"
    for row in rows:
        part = "" if row.whole else ", a part of the tests"
        yield from _wrapped(f"tests, step {row.step}: {row.shown}{part}: {visible(row.command)}", width)


def _outcome(outcome: Outcome, width: int) -> Iterator[str]:
    if outcome.restored_passed is not None:
        word = "pass" if outcome.restored_passed else "fail"
        where = f", in a clean copy ({outcome.sandbox})" if outcome.sandbox else ""
        yield from _wrapped(f"the original tests {word} over the result{where}: {visible(outcome.detail)}", width)
    elif outcome.detail:
        yield from _wrapped(f"not run again: {visible(outcome.detail)}", width)
    if outcome.restored:
        yield from _wrapped(f"put back: {', '.join(visible(path) for path in outcome.restored)}", width, INDENT)
    if outcome.held_out_passed is not None:
        counts = f" ({outcome.held_out_counts.shown})" if outcome.held_out_counts else ""
        yield f"held-out tests {'pass' if outcome.held_out_passed else 'fail'}{counts}"


def _judgement(judgement: Judgement, width: int) -> Iterator[str]:
    same = "; judge = same model" if judgement.same_model else ""
    detail = f": {judgement.detail}" if judgement.detail else ""
    yield from _wrapped(f"a model as judge says {judgement.verdict} ({visible(judgement.model)}{same}){detail}", width)
    for reason in judgement.reasons:
        yield from _wrapped(f"step {reason.step}: {visible(reason.why)}", width, INDENT)


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent or INDENT, break_on_hyphens=False)
