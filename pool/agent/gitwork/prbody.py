"""What a pull request says: title and body in Markdown, from commits, changes and the run's books."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pool.agent.gitwork.opening import RepoGit
from pool.agent.ledger import TestLedger
from pool.events import RunFinished, StopReason
from pool_tools.frozen import frozen
from pool_tools.text import plural, printable, visible

MOST_FILES = 100
MOST_COMMITS = 50
MOST_ANSWER_CHARS = 4_000
TITLE_CHARS = 72
NAMED_FILES = 5

_BACK_QUOTES = re.compile("`+")

USUAL_BRANCHES = ("main", "master", "trunk", "develop")


@frozen
class Facts:
    """What is known of the work. commits are subjects, oldest first; files `(path, added, removed)`, "-" where binary.

    open_files are changed and not committed. branch is "" where HEAD is detached.
    """

    branch: str
    base: str
    commits: tuple[str, ...]
    files: tuple[tuple[str, str, str], ...]
    open_files: tuple[str, ...]


async def gather(repo: RepoGit, started_at: str) -> Facts:
    """The facts since the branch left the default branch, or since started_at, a commit, on the default branch itself.

    Raises `GitWorkError`.
    """
    status = await repo.status()
    base = await _base(repo, status.branch) or started_at
    span = f"{base}..HEAD" if base else "HEAD"
    log = await repo.ask("log", "--reverse", "--format=%s", span) if status.commit else None
    commits = [line for line in log.text.split("\n") if line] if log else []
    files: list[tuple[str, str, str]] = []
    if status.commit:
        since = (base,) if base else (await _empty_tree(repo),)
        numbers = await repo.ask("diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", *since, "HEAD")
        for record in filter(None, numbers.text.split("\0")):
            added, removed, path = record.split("\t", 2)
            files.append((path, added, removed))
    left = sorted({e.path for e in (*status.staged, *status.unstaged, *status.conflicts)} | set(status.untracked))
    return Facts(status.branch, base, tuple(commits), tuple(files), tuple(left))


def written(facts: Facts, ledger: TestLedger, finished: RunFinished, prompt: str, unverified: str) -> str:
    """The text: a title as the first heading, then what changed, what was tested, and what is not verified."""
    parts = [f"# {_title(facts, prompt)}", *_summary(finished), *_changes(facts), *_tests(ledger)]
    return "\n".join([*parts, *_not_verified(facts, ledger, finished, unverified)]) + "\n"


def _title(facts: Facts, prompt: str) -> str:
    first = next((line.strip() for line in prompt.split("\n") if line.strip()), "Changes")
    title = facts.commits[0] if len(facts.commits) == 1 else first
    text = " ".join(visible(title).split())
    return text if len(text) <= TITLE_CHARS else f"{text[: TITLE_CHARS - 1].rstrip()}…"


def _summary(finished: RunFinished) -> Iterator[str]:
    answer = printable(finished.answer).strip()
    if answer:
        cut = "" if len(answer) <= MOST_ANSWER_CHARS else "\n\n(shortened)"
        yield from ("", "## Summary by the agent", "", *_quoted(f"{answer[:MOST_ANSWER_CHARS]}{cut}"))


def _quoted(text: str) -> Iterator[str]:
    """What a model said, as a quotation: its headings are not the body's."""
    yield from (f"> {line}".rstrip() for line in text.split("\n"))


def _changes(facts: Facts) -> Iterator[str]:
    yield from ("", "## Changes", "")
    if facts.commits:
        yield from (f"- {_inline(subject)}" for subject in facts.commits[:MOST_COMMITS])
        if len(facts.commits) > MOST_COMMITS:
            yield f"- and {len(facts.commits) - MOST_COMMITS} more commits"
        yield ""
    if not facts.files:
        yield "No committed changes."
        return
    yield from ("| file | added | removed |", "|---|---:|---:|")
    yield from (f"| {_code(path)} | {added} | {removed} |" for path, added, removed in facts.files[:MOST_FILES])
    if len(facts.files) > MOST_FILES:
        yield f"| and {len(facts.files) - MOST_FILES} more files | | |"


def _tests(ledger: TestLedger) -> Iterator[str]:
    yield from ("", "## Tests", "")
    if not ledger.runs:
        yield "No test was run."
        return
    for run in ledger.runs:
        result = ("passed" if run.passed else "failed") if run.ran else "ran no test"
        yield f"- {_code(' '.join(run.shown.split()))}: {result}{'' if run.whole else ' (a part of the tests)'}"


def _not_verified(facts: Facts, ledger: TestLedger, finished: RunFinished, unverified: str) -> Iterator[str]:
    found: list[str] = []
    if finished.reason is not StopReason.COMPLETED:
        detail = f": {_inline(finished.detail)}" if finished.detail else ""
        found.append(f"The run did not complete ({finished.reason.value}{detail}).")
    if unverified:
        found.append(f"The agent's answer is not backed by what was run: {_inline(unverified)}.")
    if not ledger.runs:
        found.append("Nothing here was tested in this run.")
    elif not ledger.runs[-1].passed:
        found.append("The last test run failed.")
    elif ledger.edited_since:
        found.append("Files were changed after the last test run.")
    elif not any(run.whole and run.ran and run.passed for run in ledger.runs):
        found.append("Only a part of the tests was run.")
    if facts.open_files:
        names = ", ".join(_code(path) for path in facts.open_files[:NAMED_FILES])
        more = ", …" if len(facts.open_files) > NAMED_FILES else ""
        found.append(f"{plural(len(facts.open_files), 'file')} with changes not committed: {names}{more}.")
    yield from ("", "## Not verified", "")
    yield from [f"- {one}" for one in found] or ["Nothing that is known of."]


def _inline(text: str) -> str:
    """A line that others wrote, without marks that would make it more than text."""
    flat = " ".join(visible(text).split())
    return "".join(f"\\{char}" if char in "\\`*_[]<>#|" else char for char in flat)


def _code(text: str) -> str:
    """A name as code, also one with back quotes in it."""
    shown = visible(text).replace("|", "\\|")
    mark = "`" * (1 + max((len(run) for run in _BACK_QUOTES.findall(shown)), default=0))
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{mark}{pad}{shown}{pad}{mark}"


async def _base(repo: RepoGit, branch: str) -> str:
    """Where the branch left the default branch, "" on that itself or where none is known."""
    default = (await repo.git.read("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")).line
    candidates = [default] if default else []
    candidates += [name for name in USUAL_BRANCHES if name != branch]
    if branch in USUAL_BRANCHES and default.rpartition("/")[2] in ("", branch):
        return ""
    for name in candidates:
        found = await repo.git.read("merge-base", "--end-of-options", name, "HEAD")
        if found.ok:
            return found.line
    return ""


async def _empty_tree(repo: RepoGit) -> str:
    return (await repo.ask("hash-object", "-t", "tree", "/dev/null")).line
