"""Commands on the repository: committing the session's work, after it was shown."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pool.agent.commands.kinds import Ask, Choice, Command, CommandError, CommandResult, Rows, Typed, words
from pool.agent.control import Conversation
from pool_tools.api import Confirm, Step
from pool_tools.text import plural, visible

if TYPE_CHECKING:
    from pool.agent.gitwork.opening import RepoGit
    from pool.agent.gitwork.proposal import CommitFile, CommitHunk, CommitProposal

SHOWN_LINES = 24
"""Of a hunk that is asked about so many lines are shown."""

_MARK_CHARS = 8
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
_numbers = itertools.count(1)


@dataclass(slots=True)
class _Line:
    """What a `/commit` line says. hunks is None for those that are proposed; of marks the proposal that was shown."""

    message: str
    everything: bool = False
    now: bool = False
    pick: int = 0
    hunks: frozenset[int] | None = None
    of: str = ""

    def text(self, **changes: object) -> str:
        """The line that goes on from this one."""
        line = _Line(self.message, self.everything, self.now, self.pick, self.hunks, self.of)
        for name, value in changes.items():
            setattr(line, name, value)
        parts = ["/commit"]
        parts += ["--all"] if line.everything else []
        parts += ["--now"] if line.now else []
        parts += [f"--pick={line.pick}"] if line.pick else []
        parts += [f"--hunks={ranges(line.hunks)}"] if line.hunks is not None else []
        parts += [f"--of={line.of}"] if line.of else []
        return " ".join([*parts, line.message]).rstrip()


async def _commit(conversation: Conversation, typed: Typed) -> CommandResult:
    # Git is not loaded before it is asked for.
    from pool.agent.gitwork.errors import GitWorkError
    from pool.agent.gitwork.opening import open_repository
    from pool.agent.gitwork.sessionwork import propose_work

    line = _parsed(typed.rest)
    session = conversation.session
    try:
        async with open_repository(session.settings) as repo:
            paths = session.agent.state.changes if session.settings.ephemeral else ()
            proposal = await propose_work(
                repo, session.hub.session, session.settings.workspace, everything=line.everything, paths=paths
            )
            mark = mark_of(proposal)
            if line.of and line.of != mark:
                raise CommandError("files have changed since the commit was shown; /commit shows it anew")
            line.of = mark
            if line.pick:
                return _picking(proposal, line)
            chosen = proposal.chosen if line.hunks is None else line.hunks
            if not chosen:
                return CommandResult((*proposal.notes, _nothing(proposal)), ok=False)
            if line.now:
                return await _done(conversation, repo, proposal, chosen, line.message)
            return await _shown(conversation, repo, proposal, line, chosen)
    except GitWorkError as error:
        raise CommandError(str(error)) from None


async def _shown(
    conversation: Conversation, repo: RepoGit, proposal: CommitProposal, line: _Line, chosen: Collection[int]
) -> CommandResult:
    """The proposal, and the question whether it is to be done."""
    from pool.agent.gitwork.message import Written, write_message
    from pool.agent.gitwork.style import read_style

    written = Written(line.message, "given")
    if not line.message:
        written = await write_message(conversation.session, proposal, chosen, await read_style(repo))
    line.message, line.hunks = written.text, frozenset(chosen)
    said = {"model": "message by the model", "rule": "message by rule", "given": "your message"}[written.by]
    why = written.note or (written.price.words if written.price else "")
    said = f"{said}: {why}" if why else said
    lines = [*written.text.split("\n"), f"({said}; /commit MESSAGE takes another)", *proposal.notes]
    rows = [_row(file, chosen) for file in proposal.files if any(h.number in chosen for h in file.hunks)]
    rows += [(visible(path), "left out", why) for path, why in proposal.left_out]
    count = plural(len(chosen), "change")
    choices = [Choice(f"commit {count}", line.text(now=True)), Choice("choose changes", line.text(pick=1, hunks=None))]
    if not line.everything:
        choices.append(Choice("take all that differs", line.text(everything=True, hunks=None, of="")))
    choices.append(Choice("leave it"))
    return CommandResult(tuple(lines), Rows(("file", "lines", ""), tuple(rows)), ask=Ask("Commit?", tuple(choices)))


async def _done(
    conversation: Conversation, repo: RepoGit, proposal: CommitProposal, chosen: Collection[int], message: str
) -> CommandResult:
    from pool.agent.gitwork.sessionwork import commit_work

    session = conversation.session
    model = session.agent.labels.model if session.settings.assisted_by else ""
    made = await commit_work(
        repo, proposal, chosen, message, _confirm(conversation), assisted_by=model, hub=conversation.hub
    )
    signed = ", signed" if made.signed else ""
    where = f" on {proposal.branch}" if proposal.branch else " on no branch"
    return CommandResult((f"committed {made.commit[:10]}{where}{signed}: {made.subject}", *made.notes))


def _confirm(conversation: Conversation) -> Confirm:
    """What is asked before a commit is signed: the person at the face, as for a call of the model."""
    number = f"commit-{next(_numbers)}"

    async def confirm(step: Step) -> str:
        return await conversation.session.agent.confirm(number, "git", step)

    return confirm


def _picking(proposal: CommitProposal, line: _Line) -> CommandResult:
    """The question about one hunk; after the last one, the commit with what was taken."""
    taken = line.hunks or frozenset[int]()
    hunks = proposal.hunks
    hunk = next((one for one in hunks if one.number == line.pick), None)
    if hunk is None:
        raise CommandError(f"there is no change {line.pick}; there are {len(hunks)}")
    last = line.pick == len(hunks)
    more = {"pick": 0 if last else line.pick + 1}
    rest = frozenset(h.number for h in hunks if h.number >= line.pick)
    yes, no = frozenset({*taken, line.pick}), taken
    choices = (
        Choice("take it", line.text(hunks=yes, **more)),
        Choice("leave it", line.text(hunks=no, **more)),
        Choice("take this and all that follow", line.text(hunks=taken | rest, pick=0)),
        Choice("stop here"),
    )
    file = proposal.file(hunk.path)
    head = f"{visible(hunk.path)}: change {line.pick} of {len(hunks)} ({hunk.whose.value})"
    return CommandResult((head, *_hunk_lines(file, hunk)), ask=Ask("Take this change?", choices))


def _hunk_lines(file: CommitFile, hunk: CommitHunk) -> list[str]:
    block = hunk.block
    if block is None:
        return [f"{file.kind}: the whole file"]
    signed = [("-", line) for line in block.old] + [("+", line) for line in block.new]
    lines = [sign + visible(line.decode("utf-8", "replace").rstrip("\n")) for sign, line in signed[:SHOWN_LINES]]
    return [*lines, *([f"… {len(signed) - SHOWN_LINES} more lines"] if len(signed) > SHOWN_LINES else [])]


def _row(file: CommitFile, chosen: Collection[int]) -> tuple[str, str, str]:
    taken = [hunk for hunk in file.hunks if hunk.number in chosen]
    blocks = [hunk.block for hunk in taken if hunk.block]
    added, removed = sum(len(b.new) for b in blocks), sum(len(b.old) for b in blocks)
    left = f"{len(file.hunks) - len(taken)} of {len(file.hunks)} stay out" if len(taken) < len(file.hunks) else ""
    mixed = "yours and the agent's in the same lines" if any(h.whose == "mixed" for h in taken) else ""
    counts = f"+{added} -{removed}" if blocks else file.kind
    return visible(file.path), counts, "; ".join(part for part in (left, mixed) if part)


def _nothing(proposal: CommitProposal) -> str:
    if proposal.hunks:
        others = plural(len(proposal.hunks), "change")
        return f"nothing of the agent's is left to commit; not the agent's: {others} (/commit --all takes them)"
    return "nothing of the agent's is left to commit"


def mark_of(proposal: CommitProposal) -> str:
    """What tells one proposal from another: a `/commit` line names the one that was shown."""
    data = hashlib.sha256(proposal.head.encode())
    for file in proposal.files:
        data.update(f"{file.path}\0{file.after_mode}\0{len(file.hunks)}\0".encode("utf-8", "surrogateescape"))
        data.update(hashlib.sha256(file.after).digest())
    return data.hexdigest()[:_MARK_CHARS]


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as text, such as `1-3,5`; `0` for none."""
    out: list[str] = []
    for _, group in itertools.groupby(enumerate(sorted(numbers)), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        out.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ",".join(out) or "0"


def _parsed(rest: str) -> _Line:
    line = _Line("")
    while found := re.match(r"--(all|now|pick|hunks|of)(?:=(\S+))?(?:\s+|$)", rest):
        name, value = found[1], found[2] or ""
        rest = rest[found.end() :]
        match name:
            case "all":
                line.everything = True
            case "now":
                line.now = True
            case "pick":
                line.pick = int(value) if value.isdecimal() and len(value) < _MARK_CHARS else 0
            case "hunks":
                line.hunks = numbers_of(value)
            case _:
                line.of = value
    line.message = rest.strip()
    return line


def numbers_of(text: str) -> frozenset[int]:
    """The numbers that `ranges` wrote. Raises `CommandError`."""
    found: set[int] = set()
    for part in text.split(","):
        bounds = _RANGE.fullmatch(part)
        if bounds is None:
            raise CommandError(f"{text!r} names no changes; write them as 1-3,5")
        found |= set(range(int(bounds[1]), int(bounds[2] or bounds[1]) + 1))
    return frozenset(found - {0})


COMMANDS = (
    Command(
        "commit",
        "commit what the agent changed, after showing it; with a message from the diff",
        _commit,
        hint="[--all] [MESSAGE]",
        needs_idle=True,
        arguments=words("--all"),
    ),
)
