"""Making the commit: in an index of its own, with the user's hooks and signing, and nothing lost of what is staged.

The commit is made from a temporary index that holds the last commit and the chosen hunks. Afterwards the real index is
brought up to it: entries that were as in the last commit follow, and what the user had staged besides stays staged.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence

from pool.agent.gitwork.begun import Begun, left_begun, note_begun, note_ended
from pool.agent.gitwork.blobs import read_blobs, update_index, write_blobs
from pool.agent.gitwork.blocks import merged
from pool.agent.gitwork.errors import GitWorkError
from pool.agent.gitwork.opening import RepoGit
from pool.agent.gitwork.proposal import LINK, CommitProposal
from pool_tools.api import Confirm, ToolError
from pool_tools.frozen import frozen
from pool_tools.git.failures import failure, reach_of
from pool_tools.git.runner import Output
from pool_tools.git.status import operation_in
from pool_tools.text import printable, visible

NO_OBJECT = "0" * 40

# A copy of the real index knows which files are as they were, so that git need not read all of them.
_TEMPORARY_INDEX = """
[ ! -f "$1" ] || cp -- "$1" "$GIT_INDEX_FILE" || exit 1
shift
exec git read-tree "$@"
"""

ASSISTED_BY = "Assisted-by"


@frozen
class Committed:
    """A commit that was made. told is what git and the hooks said; notes are for people."""

    commit: str
    subject: str
    files: tuple[str, ...]
    signed: bool
    told: str
    notes: tuple[str, ...] = ()


@frozen
class _Entry:
    """A file in a tree or an index."""

    mode: str
    oid: str


def with_trailer(message: str, model: str) -> str:
    """The message with an `Assisted-by:` trailer that names the model, once."""
    line = f"{ASSISTED_BY}: Pool ({' '.join(model.split()) or 'unknown model'})"
    text = message.rstrip()
    if line in text.split("\n"):
        return text
    last = text.rpartition("\n\n")[2] if "\n\n" in text else ""
    trailers = bool(last) and all(_is_trailer(one) for one in last.split("\n"))
    return f"{text}\n{line}" if trailers else f"{text}\n\n{line}"


def _is_trailer(line: str) -> bool:
    name, colon, value = line.partition(": ")
    return bool(colon and value) and name.replace("-", "").isalnum()


async def commit(
    repo: RepoGit, proposal: CommitProposal, hunks: Collection[int] | None, message: str, confirm: Confirm
) -> Committed:
    """Commit hunks of a proposal, by their numbers; None for those that it has chosen. confirm is asked before signing.

    Hooks run in the sandbox and may stop it. Raises `GitWorkError` if no commit was made; the index and the work tree
    are then as they were, but for what hooks did.
    """
    chosen = proposal.chosen if hunks is None else frozenset(hunks)
    if not message.strip():
        raise GitWorkError("the commit needs a message")
    taken = {file.path: state for file in proposal.files if (state := file.with_hunks(chosen))}
    if not taken:
        raise GitWorkError("nothing is chosen, so nothing was committed")
    await _check_unmoved(repo, proposal)
    new = await _kept(repo, taken)
    before = await _entries(repo, list(taken), "ls-tree", "-z", "HEAD") if proposal.head else {}
    staged = await _entries(repo, list(taken), "ls-files", "--stage", "-z")
    await _check_staging(repo, before, staged, new)
    note_begun(repo.repository, Begun(proposal.head, {p: _pair(before.get(p)) for p in taken}))
    try:
        output, signed = await _commit(repo, proposal, new, message, confirm)
    except GitWorkError:
        note_ended(repo.repository)
        raise
    done = (await repo.ask("rev-parse", "HEAD")).line
    notes = await _follow(repo, list(taken), before)
    note_ended(repo.repository)
    subject = (await repo.ask("log", "-1", "--format=%s")).line
    told = printable(output.text).strip("\n")
    return Committed(done, subject, tuple(sorted(taken)), signed, told, tuple(notes))


async def finish_begun(repo: RepoGit) -> list[str]:
    """Bring the index up to a commit whose process was ended before it could; what was done, for people.

    Nothing is done while git is in the middle of something else.
    """
    begun = left_begun(repo.repository)
    if begun is None or operation_in(str(repo.repository.folder)):
        return []
    repo.refuse_if_locked()
    parents = (await repo.git.read("rev-list", "--parents", "--max-count=1", "HEAD", "--")).line.split()
    if not parents or parents[0] == begun.head:
        note_ended(repo.repository)
        return []
    paths = list(begun.before)
    if (parents[1:2] or [""]) != [begun.head]:
        note_ended(repo.repository)
        names = ", ".join(visible(path) for path in paths[:3]) + (" …" if len(paths) > 3 else "")
        return [f"Pool was ended in a commit that others followed: git diff --cached tells what is staged of {names}"]
    notes = await _follow(repo, paths, {path: _Entry(*pair) for path, pair in begun.before.items() if pair})
    note_ended(repo.repository)
    return [f"the index was brought up to {parents[0][:10]}, in the making of which Pool was ended", *notes]


def _pair(entry: _Entry | None) -> tuple[str, str] | None:
    return (entry.mode, entry.oid) if entry else None


async def _check_unmoved(repo: RepoGit, proposal: CommitProposal) -> None:
    repo.refuse_if_locked()
    head = (await repo.git.read("rev-parse", "--verify", "--quiet", "HEAD")).line
    if head != proposal.head:
        raise GitWorkError("the branch has moved since the commit was proposed; propose it again")


async def _kept(repo: RepoGit, taken: dict[str, tuple[str, bytes]]) -> dict[str, _Entry | None]:
    """The chosen contents as objects; None for a file that goes."""
    out: dict[str, _Entry | None] = {path: None for path, (mode, _) in taken.items() if not mode}
    for link in (False, True):
        items = [(path, data) for path, (mode, data) in taken.items() if mode and (mode == LINK) is link]
        oids = await write_blobs(repo, items, filtered=not link)
        out |= {path: _Entry(taken[path][0], oid) for (path, _), oid in zip(items, oids, strict=True)}
    return out


async def _entries(repo: RepoGit, paths: Sequence[str], *args: str) -> dict[str, _Entry]:
    """The entries of paths, from `ls-tree` or `ls-files --stage`."""
    out: dict[str, _Entry] = {}
    for record in await repo.of_paths(paths, *args):
        head, _, path = record.partition("\t")
        mode, kind_or_oid, oid_or_stage = head.split(" ")
        oid = oid_or_stage if args[0] == "ls-tree" else kind_or_oid
        out[path] = _Entry(mode, oid)
    return out


async def _check_staging(
    repo: RepoGit, before: dict[str, _Entry], staged: dict[str, _Entry], new: dict[str, _Entry | None]
) -> None:
    """Raise if what the user has staged cannot be kept beside the commit, before anything is done."""
    clashes = [path for path, entry in (await _followers(repo, before, staged, new)).items() if entry is _CLASH]
    if clashes:
        names = ", ".join(visible(path) for path in clashes[:3])
        raise GitWorkError(
            f"you have staged other changes to the same lines of {names}: commit or unstage them first (git restore "
            "--staged), or leave that file out; nothing was committed"
        )


_CLASH = _Entry("", "")


async def _followers(
    repo: RepoGit, before: dict[str, _Entry], staged: dict[str, _Entry], new: dict[str, _Entry | None]
) -> dict[str, _Entry | None]:
    """The index entries that follow the commit: None to drop one, `_CLASH` where the staging cannot be kept."""
    out: dict[str, _Entry | None] = {}
    for path, entry in new.items():
        mine, old = staged.get(path), before.get(path)
        if mine in (old, entry):
            out[path] = entry
            continue
        if mine is None or entry is None or LINK in (mine.mode, entry.mode):
            out[path] = _CLASH
            continue
        text = await _staged_beside(repo, old, mine, entry)
        if text is None:
            out[path] = _CLASH
            continue
        oid = (await write_blobs(repo, [(path, text)], filtered=False))[0]
        out[path] = _Entry(mine.mode, oid)
    return out


async def _staged_beside(repo: RepoGit, old: _Entry | None, mine: _Entry, new: _Entry) -> bytes | None:
    """What is staged once the commit has new: both changes; None where they are in the same lines."""
    names = [mine.oid, new.oid, *([old.oid] if old else [])]
    ours, theirs, base = [*await read_blobs(repo, names, filtered=False), b""][:3]
    if ours is None or theirs is None or base is None:
        return None
    return merged(base, ours, theirs)


async def _commit(
    repo: RepoGit, proposal: CommitProposal, new: dict[str, _Entry | None], message: str, confirm: Confirm
) -> tuple[Output, bool]:
    scratch = repo.git.commands.scratch()
    name = f"index-{secrets.token_hex(8)}"
    inner = repo.with_env({"GIT_INDEX_FILE": scratch.path(name)})
    try:
        tree = ("--reset", proposal.head) if proposal.head else ("--empty",)
        await inner.script("git read-tree", _TEMPORARY_INDEX, "sh", str(repo.repository.index), *tree)
        await update_index(inner, [_row(path, entry) for path, entry in new.items()])
        args = ("commit", f"--message={message.strip()}")
        signed = await inner.signing.wanted()
        output = await (inner.signing.commit(args, confirm) if signed else inner.git.write(*args))
    except ToolError as error:
        raise GitWorkError(str(error), denied="denied" in str(error)) from None
    finally:
        scratch.remove(scratch.path(name))
    if not output.ok:
        raise GitWorkError(failure("git commit", output, reach_of(repo.git.commands)))
    return output, signed


async def _follow(repo: RepoGit, paths: list[str], before: dict[str, _Entry]) -> list[str]:
    """Bring the real index up to the commit; what could not be done. Hooks may have changed what was committed."""
    output = await repo.ask("diff-tree", "-r", "--root", "-z", "--no-commit-id", "--name-only", "HEAD")
    touched = sorted({*paths, *(path for path in output.text.split("\0") if path)})
    added = [path for path in touched if path not in paths]
    if added and before:
        # A hook has put more into the commit.
        before = before | await _entries(repo, added, "ls-tree", "-z", "HEAD~")
    staged = await _entries(repo, touched, "ls-files", "--stage", "-z")
    now = await _entries(repo, touched, "ls-tree", "-z", "HEAD")
    found = await _followers(repo, before, staged, {path: now.get(path) for path in touched})
    rows = [_row(path, entry) for path, entry in found.items() if entry is not _CLASH]
    notes = [f"what you had staged of {visible(p)} was left as it was" for p, e in found.items() if e is _CLASH]
    try:
        await update_index(repo, rows)
        await repo.git.write("update-index", "-q", "--refresh")
    except GitWorkError as error:
        notes.append(f"the index could not be brought up to the commit; git reset -- PATHS does it. {error}")
    return notes


def _row(path: str, entry: _Entry | None) -> str:
    """A line for `git update-index --index-info`."""
    return f"{entry.mode} {entry.oid} 0\t{path}" if entry else f"0 {NO_OBJECT} 0\t{path}"
