"""Which change is to be reviewed: what is not committed, what is staged, a branch, a commit, a range, or a patch."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pool.agent.gitwork.errors import GitWorkError
from pool.agent.gitwork.opening import RepoGit, open_repository
from pool.agent.review.parts import LeftOut
from pool.agent.review.patch import Change, FilePatch, numbered, read_patch
from pool.config.settings import Settings
from pool.sessions.checkpoints.changes import ChangesView, FileChange
from pool.sessions.checkpoints.gitobjects import NoObject
from pool.sessions.checkpoints.repository import repository_of
from pool.sessions.checkpoints.states import Kind
from pool_tools.frozen import frozen
from pool_tools.home import expanded
from pool_tools.secretfiles import looks_secret
from pool_tools.text import visible

MOST_PATCH_BYTES = 8 * 1024 * 1024
"""Larger patches are refused; git's own are held to the same size."""

SHORT = 10
"""Characters of a commit's id that are shown."""

_DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "-M", "--unified=3")
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""What a first commit is compared with: git's id of a tree without files, in a repository of SHA-1 ids."""

_KINDS = {Kind.CREATED: Change.ADDED, Kind.DELETED: Change.DELETED}


class NothingToReview(Exception):
    """There is no change, or none that can be found. The message says what was looked for and what to give."""


@frozen
class Diff:
    """A change: what it is in words, its files, and those that nobody may see.

    shown_by is where files with the change can be looked at: "" where those on disk have it, else words for the model.
    """

    what: str
    files: tuple[FilePatch, ...]
    left_out: tuple[LeftOut, ...] = ()
    shown_by: str = ""


async def find(settings: Settings, change: str, folder: Path, *, staged: bool = False) -> Diff:
    """The change that a person names: "" for what is not committed, a branch, commit or range, or a file with a diff.

    folder is where the person stands. Raises `NothingToReview`, `GitWorkError`, `SettingsError` and `OSError`.
    """
    top = repository_of(settings.workspace)
    if not change and not staged:
        return await of_worktree(settings.workspace)
    file = folder / expanded(change)
    if change and file.is_file() and (top is None or change.startswith((".", "/", "~"))):
        return _of_file(file, change)
    async with open_repository(settings) as repo:
        if staged:
            return await of_staged(repo)
        try:
            return await of_name(repo, change)
        except NothingToReview:
            if file.is_file():
                return _of_file(file, change)
            raise


def _of_file(file: Path, name: str) -> Diff:
    with file.open("rb") as source:
        return of_patch(source.read(MOST_PATCH_BYTES + 1), f"the patch {name}")


def of_patch(data: bytes, name: str) -> Diff:
    """The change that a patch holds. Raises `NothingToReview` where it holds none."""
    if len(data) > MOST_PATCH_BYTES:
        raise NothingToReview(f"{name} has more than {MOST_PATCH_BYTES // 1024 // 1024} MiB; give a smaller part of it")
    files = read_patch(data.decode("utf-8", "surrogateescape"))
    if not files:
        raise NothingToReview(f"{name} holds no diff")
    return Diff(name, tuple(files), shown_by="Whether the files in the workspace hold it already is not known.")


async def of_worktree(top: Path) -> Diff:
    """What differs from the commit that is checked out, new files too. Raises `NothingToReview` and `OSError`."""

    def look() -> list[FileChange]:
        with ChangesView(top / "nothing", top) as view:
            return view.of_worktree()

    try:
        changes = await asyncio.to_thread(look)
    except NoObject as error:
        raise NothingToReview(f"what is not committed cannot be told: {error}") from None
    hidden = [c for c in changes if c.kind is Kind.CREATED and looks_secret(os.path.basename(c.path))]
    files = await asyncio.to_thread(lambda: [_file(c) for c in changes if c not in hidden])
    why = "its name says that it holds secrets"
    return Diff("what is not committed", tuple(files), tuple(LeftOut(c.path, why) for c in hidden))


async def of_staged(repo: RepoGit) -> Diff:
    """What is staged for the next commit. Raises `GitWorkError`."""
    return Diff("what is staged", tuple(await _diff(repo, "--cached")))


async def of_name(repo: RepoGit, name: str) -> Diff:
    """What a range `A..B` or `A...B`, a branch or a commit changes. Raises `NothingToReview` and `GitWorkError`.

    A branch is what the work is compared with: what HEAD adds since it left it. On the default branch it is the other
    way round: what that branch adds. A commit is reviewed by itself.
    """
    if ".." in name:
        return await _range(repo, name)
    commit = await _commit(repo, name)
    if commit == "":
        raise NothingToReview(f"{visible(name)!r} is no branch, commit, range or file here")
    if not await _is_ref(repo, name):
        parent = await _commit(repo, f"{commit}^") or _EMPTY_TREE
        files = tuple(await _diff(repo, parent, commit))
        return Diff(f"commit {commit[:SHORT]}", files, shown_by=_shown_by(commit[:SHORT]))
    if await _on_default(repo):
        base, head, what = "HEAD", name, f"what {name} adds to the branch here"
    else:
        base, head, what = name, "HEAD", f"what HEAD adds to {name}"
    found = await repo.git.read("merge-base", "--end-of-options", base, head)
    since = found.line if found.ok else ""
    if not since:
        raise NothingToReview(f"{visible(name)} and HEAD have no commit in common; give a range as A..B")
    shown_by = "" if head == "HEAD" else _shown_by(head)
    return Diff(f"{what} since {since[:SHORT]}", tuple(await _diff(repo, since, head)), shown_by=shown_by)


async def _range(repo: RepoGit, name: str) -> Diff:
    dots = "..." if "..." in name else ".."
    first, _, last = name.partition(dots)
    for one in (first or "HEAD", last or "HEAD"):
        if not await _commit(repo, one):
            raise NothingToReview(f"{visible(one)!r} of {visible(name)!r} is no branch or commit here")
    shown_by = _shown_by(last) if last not in ("", "HEAD") else ""
    files = tuple(await _diff(repo, f"{first or 'HEAD'}{dots}{last or 'HEAD'}"))
    return Diff(f"the range {name}", files, shown_by=shown_by)


def _shown_by(rev: str) -> str:
    return f"The files in the workspace may be without it; the git tool shows one with it as {visible(rev)}:PATH."


async def _commit(repo: RepoGit, name: str) -> str:
    """The id of a commit by any name of it, "" for none."""
    found = await repo.git.read("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return found.line if found.ok else ""


async def _is_ref(repo: RepoGit, name: str) -> bool:
    """Whether a name is that of a branch or a tag, and no commit's id or a word such as HEAD~2."""
    if name in ("HEAD", "@"):
        return False
    found = await repo.git.read("rev-parse", "--symbolic-full-name", "--end-of-options", name)
    return found.ok and any(line.startswith("refs/") for line in found.text.split("\n"))


async def _on_default(repo: RepoGit) -> bool:
    """Whether the branch that is checked out is the repository's default one."""
    here = (await repo.git.read("symbolic-ref", "--quiet", "HEAD")).line
    told = await repo.git.read("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD")
    if told.ok:
        return here.removeprefix("refs/heads/") == told.line.removeprefix("refs/remotes/origin/")
    return here in ("refs/heads/main", "refs/heads/master")


async def _diff(repo: RepoGit, *args: str) -> list[FilePatch]:
    output = await repo.ask(*_DIFF, "--end-of-options", *args) if args[0][:1] != "-" else await repo.ask(*_DIFF, *args)
    if output.cut:
        raise GitWorkError(f"the diff has more than {MOST_PATCH_BYTES // 1024 // 1024} MiB; review a smaller range")
    return await asyncio.to_thread(read_patch, output.text)


def only(diff: Diff, paths: Sequence[str]) -> Diff:
    """A change cut down to files and folders, named from the repository's top. Raises `NothingToReview` for none."""
    names = [path.rstrip("/") for path in paths]
    files = tuple(
        f for f in diff.files if any(n in ("", ".") or f.path == n or f.path.startswith(n + "/") for n in names)
    )
    if not files:
        raise NothingToReview(f"{diff.what} changes nothing in {', '.join(visible(path) for path in paths)}")
    return replace(diff, files=files, left_out=tuple(one for one in diff.left_out if one.path in names))


def _file(change: FileChange) -> FilePatch:
    kind = _KINDS.get(change.kind, Change.MODIFIED)
    note = change.note or ("binary" if change.binary else "")
    hunks = (
        ()
        if note
        else tuple(
            numbered(((sign, _text(line)) for sign, line in hunk.lines), hunk.new_start + 1) for hunk in change.hunks()
        )
    )
    return FilePatch(change.path, kind, hunks, note=note)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")
