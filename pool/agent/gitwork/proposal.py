"""What a commit would hold: the changes of the work tree against the last commit, and whose each of them is."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pool.agent.gitwork.authorship import Whose, agent_changes, agents_version, whose
from pool.agent.gitwork.blobs import READ_MOST, fed, read_blobs
from pool.agent.gitwork.blocks import Block, applied
from pool.agent.gitwork.errors import GitWorkError
from pool.agent.gitwork.opening import ARGUMENT_PATHS, RepoGit
from pool.sessions.checkpoints.beneath import parent_of, read_at
from pool.sessions.checkpoints.changes import ChangesView
from pool.sessions.checkpoints.textdiff import is_binary
from pool_tools.frozen import frozen
from pool_tools.git.status import Status, operation_in, parse
from pool_tools.text import visible

EXECUTABLE, PLAIN, LINK = "100755", "100644", "120000"
"""Modes of files in a tree."""

SUBMODULE = "160000"


@frozen
class CommitHunk:
    """A change that can be taken or left. number is its name in the proposal, from 1.

    block is None where the file is taken as a whole: new, deleted, binary, or only its mode changed.
    """

    number: int
    path: str
    whose: Whose
    block: Block | None


@frozen
class CommitFile:
    """A changed file, by its path from the top of the repository. Modes are git's, "" for no file.

    before is what the last commit holds as a checkout would write it, after what is there now.
    """

    path: str
    before: bytes
    after: bytes
    before_mode: str
    after_mode: str
    hunks: tuple[CommitHunk, ...]

    @property
    def kind(self) -> str:
        """new, deleted or modified."""
        if not self.before_mode:
            return "new"
        return "modified" if self.after_mode else "deleted"

    @property
    def binary(self) -> bool:
        return is_binary(self.before) or is_binary(self.after)

    def with_hunks(self, chosen: Collection[int]) -> tuple[str, bytes] | None:
        """Mode and contents if these hunks are committed; None where nothing of it is chosen."""
        taken = [hunk for hunk in self.hunks if hunk.number in chosen]
        if not taken:
            return None
        if len(taken) == len(self.hunks) or any(hunk.block is None for hunk in taken):
            return self.after_mode, self.after
        return self.after_mode, applied(self.before, [hunk.block for hunk in taken if hunk.block])


@dataclass(slots=True)
class CommitProposal:
    """What could be committed, and what a commit would hold unless told otherwise.

    head is the commit that it stands on, "" for none; branch "" where HEAD is detached. left_out says of files, and
    notes of the whole, what a person should know.
    """

    head: str
    branch: str
    files: tuple[CommitFile, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    message: str = ""
    everything: bool = False
    staged: frozenset[str] = field(default_factory=frozenset[str])

    @property
    def hunks(self) -> tuple[CommitHunk, ...]:
        return tuple(hunk for file in self.files for hunk in file.hunks)

    @property
    def chosen(self) -> frozenset[int]:
        """Numbers of the hunks that are committed unless told otherwise: what the agent did, with `--all` all."""
        return frozenset(h.number for h in self.hunks if self.everything or h.whose is not Whose.YOURS)

    def file(self, path: str) -> CommitFile:
        return next(file for file in self.files if file.path == path)


async def propose(
    repo: RepoGit, view: ChangesView | None, *, everything: bool = False, paths: Iterable[str] = ()
) -> CommitProposal:
    """What of the work tree's changes would be committed.

    view is that of the session whose work it is. paths are further files that the agent is known to have changed,
    though not how; they and those of view are relative to the session's workspace. everything: all that differs from
    the last commit. Raises `GitWorkError` where nothing can be committed now.
    """
    repo.refuse_if_locked()
    lead = _lead(repo.top, view.root) if view is not None else ""
    own = {f"{lead}{change.path}": change for change in agent_changes(view)} if view is not None else {}
    touched = {*own, *(f"{lead}{path}" for path in paths)}
    status, changed = await _changed(repo, None if everything else touched)
    _refuse_unfinished(status)
    wanted = sorted(touched | (changed if everything else set[str]()))
    kept, left_out = await _committable(repo, [path for path in wanted if path in changed or path in touched])
    heads = await _heads(repo, kept, status.commit)
    befores = await read_blobs(repo, [f"HEAD:{path}" for path in heads], filtered=True)
    before = {path: data for path, data in zip(heads, befores, strict=True) if data is not None}
    file_mode = (await repo.git.read("config", "--type=bool", "--get", "core.fileMode")).line != "false"
    files: list[CommitFile] = []
    number = 1
    for path in kept:
        old_mode = heads.get(path, "")
        if old_mode and path not in before:
            left_out.append((path, "what the last commit holds cannot be read, or is too large"))
            continue
        found = read_file(repo.top, path)
        if isinstance(found, str):
            left_out.append((path, found))
            continue
        mode = _mode(found[0], old_mode, file_mode=file_mode)
        old, new = before.get(path, b""), found[1]
        if (mode, new) == (old_mode, old) or (not mode and not old_mode):
            continue
        change = own.get(path)
        agents = agents_version(view, change, old) if view is not None and change is not None else None
        hunks = list(_hunks(number, path, (old_mode, old), (mode, new), agents, known=path in touched))
        number += len(hunks)
        files.append(CommitFile(path, old, new, old_mode, mode, tuple(hunks)))
    staged = frozenset(entry.path for entry in status.staged)
    notes = _notes(status)
    return CommitProposal(
        status.commit, status.branch, tuple(files), tuple(left_out), notes, everything=everything, staged=staged
    )


def read_file(top: Path, path: str) -> tuple[int, bytes] | str:
    """A file's `st_mode` (0 for none) and contents, of a link its target; why it cannot be read."""
    handle = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with parent_of(handle, path) as (folder, name):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                return 0, b""
            read = read_at(folder, name, READ_MOST)
    except (FileNotFoundError, NotADirectoryError):
        return 0, b""
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    finally:
        os.close(handle)
    if read is None:
        return "it is no file, too large, or cannot be read"
    return read[1].st_mode, read[0]


def _refuse_unfinished(status: Status) -> None:
    if status.conflicts or status.operation:
        what = status.operation or "a merge with conflicts"
        raise GitWorkError(
            f"{what} is in progress: finish it (resolve the conflicts, git add, git commit or git ... --continue) or "
            "give it up (git ... --abort) first; nothing was committed"
        )


def _notes(status: Status) -> tuple[str, ...]:
    if not status.commit:
        return ("this will be the first commit",)
    if status.detached:
        return ("HEAD is detached: the commit will belong to no branch; git switch -c NAME keeps it",)
    return ()


def _lead(top: Path, root: Path) -> str:
    """The way from the top of the repository to a session's workspace, "" or ending in `/`."""
    way = os.path.relpath(os.path.realpath(root), top)
    if way.startswith(".."):
        raise GitWorkError(f"the session worked in {visible(str(root))}, which is not in the repository {top}")
    return "" if way == "." else f"{way}/"


async def _changed(repo: RepoGit, paths: Collection[str] | None) -> tuple[Status, set[str]]:
    """The work tree's state, and what differs from the last commit and is not ignored; only of paths if they are given.

    Many paths are not asked for one by one.
    """
    few = sorted(paths) if paths is not None and len(paths) <= ARGUMENT_PATHS else []
    output = await repo.ask(*_STATUS, *(("--", *few) if few else ()))
    if output.cut and paths is None:
        raise GitWorkError("too many files differ from the last commit to be looked at; commit them with git")
    status = parse(output.text)
    status.operation = operation_in(str(repo.repository.folder))
    return status, {entry.path for entry in (*status.staged, *status.unstaged)} | set(status.untracked)


_STATUS = ("status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all", "--no-renames")


async def _committable(repo: RepoGit, paths: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """The paths that can be committed here, and why others cannot."""
    ignored = set(await _ignored(repo, [path for path in paths if _is_there(repo.top, path)]))
    submodules = {record.partition("\t")[2] for record in await repo.of_paths(paths, "ls-files", "--stage", "-z")
                  if record.startswith(SUBMODULE)}  # fmt: skip
    hidden = {os.path.relpath(path, repo.top) for path in repo.hidden}
    kept: list[str] = []
    left_out: list[tuple[str, str]] = []
    for path in paths:
        inner = _nested(repo.top, path)
        if inner:
            left_out.append((path, f"it lies in another repository ({visible(inner)}): commit there first"))
        elif path in submodules:
            left_out.append((path, "a submodule: commit in it, then git add it"))
        elif path in ignored:
            left_out.append((path, "git ignores it"))
        elif path in hidden:
            left_out.append((path, "it looks like a secret; git add it yourself if it is none"))
        else:
            kept.append(path)
    return kept, left_out


async def _ignored(repo: RepoGit, paths: Sequence[str]) -> list[str]:
    """Those of paths that git ignores and does not keep."""
    # This command knows no literal names; with a dot in front a name cannot be anything else.
    other = repo.with_env({"GIT_LITERAL_PATHSPECS": "0"})
    done = await fed(other, [f"./{path}" for path in paths], "check-ignore", "-z", "--stdin", codes=_IGNORE_CODES)
    return [path.removeprefix("./") for path in done.text.split("\0") if path]


_IGNORE_CODES = (0, 1)
"""Exit statuses of `git check-ignore` where some are ignored, and where none is."""


def _nested(top: Path, path: str) -> str:
    """The repository below top that holds path, "" if none does."""
    parts = path.split("/")[:-1]
    folders = ("/".join(parts[: n + 1]) for n in range(len(parts)))
    return next((folder for folder in folders if os.path.lexists(top / folder / ".git")), "")


def _is_there(top: Path, path: str) -> bool:
    """Whether a path can be asked for: there is something, in this repository, and not behind a link."""
    parts = path.split("/")[:-1]
    folders = [top / "/".join(parts[: n + 1]) for n in range(len(parts))]
    return os.path.lexists(top / path) and not any(f.is_symlink() or os.path.lexists(f / ".git") for f in folders)


async def _heads(repo: RepoGit, paths: Sequence[str], commit: str) -> dict[str, str]:
    """The modes of paths in the last commit, of those that it holds."""
    if not commit:
        return {}
    out: dict[str, str] = {}
    for record in await repo.of_paths(paths, "ls-tree", "-z", "HEAD"):
        head, _, path = record.partition("\t")
        mode, kind, _ = head.split(" ")
        if kind == "blob":
            out[path] = mode
    return out


def _mode(found: int, old: str, *, file_mode: bool) -> str:
    if not found:
        return ""
    if stat.S_ISLNK(found):
        return LINK
    if not file_mode and old in (PLAIN, EXECUTABLE):
        return old
    return EXECUTABLE if found & stat.S_IXUSR else PLAIN


def _hunks(
    number: int,
    path: str,
    before: tuple[str, bytes],
    after: tuple[str, bytes],
    agents: bytes | None,
    *,
    known: bool,
) -> Iterator[CommitHunk]:
    """The hunks of a file, which are numbered from number on. known: the agent had a hand in it."""
    (old_mode, old), (mode, new) = before, after
    whole = not old_mode or not mode or LINK in (old_mode, mode) or is_binary(old) or is_binary(new) or old == new
    if whole:
        by = Whose.YOURS if not known else Whose.AGENT if agents == new else Whose.MIXED
        yield CommitHunk(number, path, by, None)
        return
    found = whose(old, agents, new)
    for at, (block, by) in enumerate(found):
        yield CommitHunk(number + at, path, by if known else Whose.YOURS, block)
