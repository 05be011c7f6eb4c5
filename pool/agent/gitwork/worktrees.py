"""Worktrees: a checkout of its own for a session, beside the repository, and bringing its work back."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pool.agent.gitwork.errors import GitWorkError
from pool.agent.gitwork.opening import RepoGit, find_repository, open_repository
from pool.config.settings import Settings
from pool.sessions.checkpoints.repository import DOT_GIT, Repository
from pool_tools.frozen import frozen
from pool_tools.text import plural, visible

PLACE_SUFFIX = ".worktrees"
"""Worktrees lie in a folder beside the repository, which has its name and this."""

BRANCH_PREFIX = "pool/"
SLUG_CHARS = 32
MOST_NAMES = 100

_NO_SLUG = re.compile(r"[^a-z0-9]+")


@frozen
class Worktree:
    """A checkout of a repository. branch is "" where HEAD is detached. main: the one that the others belong to.

    ours: it lies where Pool puts them. missing: its folder is gone.
    """

    path: Path
    branch: str
    head: str
    main: bool = False
    ours: bool = False
    missing: bool = False


def place_of(repository: Repository) -> Path:
    """The folder for the worktrees of a repository: beside its main checkout."""
    common = repository.common
    main = common.parent if common.name == DOT_GIT else common
    return main.with_name(f"{main.name.removesuffix(DOT_GIT)}{PLACE_SUFFIX}")


def path_of(repository: Repository, branch: str) -> Path:
    """Where the worktree of a branch lies."""
    return place_of(repository) / branch.replace("/", "-")


def slug(text: str) -> str:
    """A few words as a part of a branch's name, "" if none is left."""
    plain = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    cut = _NO_SLUG.sub("-", plain).strip("-")
    if len(cut) <= SLUG_CHARS:
        return cut
    return cut[: SLUG_CHARS + 1].rpartition("-")[0] or cut[:SLUG_CHARS]


async def worktrees(repo: RepoGit) -> list[Worktree]:
    """All checkouts of a repository, the main one first. Raises `GitWorkError`."""
    output = await repo.ask("worktree", "list", "--porcelain", "-z")
    place = place_of(repo.repository)
    out: list[Worktree] = []
    for block in output.text.split("\0\0"):
        parts = (line.partition(" ") for line in block.split("\0") if line)
        fields = {key: value for key, _, value in parts}
        if "worktree" not in fields or "bare" in fields:
            continue
        path = Path(fields["worktree"])
        branch = fields.get("branch", "").removeprefix("refs/heads/")
        out.append(
            Worktree(path, branch, fields.get("HEAD", ""), not out, path.is_relative_to(place), not path.is_dir())
        )
    return out


async def add_worktree(settings: Settings, branch: str, *, about: str = "", with_changes: bool = False) -> Worktree:
    """Make a worktree for a branch, or find the one that Pool made for it before.

    A branch that does not exist begins at HEAD; "" makes up a name from about. with_changes: what is not committed here
    is copied there. Raises `GitWorkError`.
    """
    repository = find_repository(settings.workspace)
    place = place_of(repository)
    made = not place.exists()
    try:
        place.mkdir(exist_ok=True)
    except OSError as error:
        raise GitWorkError(f"the worktree's folder {visible(str(place))} cannot be made: {error.strerror}") from None
    try:
        async with open_repository(settings, more=(place,)) as repo:
            return await _added(repo, branch, about, with_changes=with_changes)
    finally:
        if made:
            with contextlib.suppress(OSError):
                place.rmdir()


async def _added(repo: RepoGit, branch: str, about: str, *, with_changes: bool) -> Worktree:
    head = (await repo.git.read("rev-parse", "--verify", "--quiet", "HEAD")).line
    if not head:
        raise GitWorkError(
            "the repository has no commits yet, so there is nothing to check out; commit something first"
        )
    existing = await worktrees(repo)
    name = branch or await _free_name(repo, about)
    if not (await repo.git.read("check-ref-format", "--branch", name)).ok:
        raise GitWorkError(f"{name!r} cannot be the name of a branch")
    for tree in existing:
        if tree.branch == name and not tree.missing:
            if tree.ours and not with_changes:
                return tree
            raise GitWorkError(f"the branch {name} is checked out in {visible(str(tree.path))} already")
    path = path_of(repo.repository, name)
    if os.path.lexists(path):
        raise GitWorkError(f"{visible(str(path))} is there already; remove it, or name another branch")
    known = (await repo.git.read("show-ref", "--verify", "--quiet", f"refs/heads/{name}")).ok
    which = (str(path), name) if known else ("-b", name, str(path), "HEAD")
    await repo.do("worktree", "add", "--quiet", "--no-track" if not known else "--no-guess-remote", *which)
    if with_changes:
        await _copy_changes(repo, path)
    return Worktree(path, name, head, ours=True)


async def _free_name(repo: RepoGit, about: str) -> str:
    """A name that no branch and no folder has."""
    wanted = f"{BRANCH_PREFIX}{slug(about) or 'work'}"
    listed = await repo.ask("for-each-ref", "--format=%(refname:short)", "refs/heads")
    taken = set(listed.text.split("\n"))
    for number in range(1, MOST_NAMES):
        name = wanted if number == 1 else f"{wanted}-{number}"
        if name not in taken and not os.path.lexists(path_of(repo.repository, name)):
            return name
    raise GitWorkError(f"there are {MOST_NAMES} branches like {wanted}; name one")


async def _copy_changes(repo: RepoGit, path: Path) -> None:
    """Copy what is not committed to a fresh worktree: changes to tracked files by git, new files as they are."""
    made = (await repo.do("stash", "create")).line
    if made:
        await repo.do("-C", str(path), "stash", "apply", "--quiet", made, what="carrying the changes over")
    listed = await repo.ask("ls-files", "--others", "--exclude-standard", "-z")
    for name in filter(None, listed.text.split("\0")):
        if name.endswith("/"):
            continue
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(repo.top / name, target, follow_symlinks=False)


@frozen
class MergePlan:
    """What merging a worktree's branch into the main checkout's would do. stat and commits are for people."""

    tree: Worktree
    main: Worktree
    commits: tuple[str, ...]
    stat: str
    forward: bool


@frozen
class Merged:
    """How a merge ended: the commit that the main branch is at; conflicts are left for the user to resolve."""

    head: str
    conflicts: tuple[str, ...] = ()


def named_tree(trees: Sequence[Worktree], name: str, folder: Path) -> Worktree:
    """A worktree by its branch, folder or folder's name; "" is the one that folder lies in. Raises `GitWorkError`."""
    others = [tree for tree in trees if not tree.main]
    if not name:
        here = [tree for tree in others if folder.is_relative_to(tree.path)]
        if here or len(others) == 1:
            return (here or others)[-1]
        if not others:
            raise GitWorkError("there is no worktree besides the main checkout")
    found = [t for t in others if name and name in (t.branch, t.path.name, str(t.path), t.branch.rpartition("/")[2])]
    if len(found) != 1:
        listed = ", ".join(visible(tree.branch or tree.path.name) for tree in others)
        raise GitWorkError(f"say which worktree: {listed}" if listed else "there is no such worktree")
    return found[0]


async def plan_merge(repo: RepoGit, settings: Settings, name: str) -> MergePlan:
    """What merging would do; nothing is changed. repo is the main checkout's. Raises `GitWorkError`.

    name as in `named_tree`, the folder is the settings' workspace.
    """
    trees = await worktrees(repo)
    tree, main = named_tree(trees, name, Path(os.path.realpath(settings.workspace))), trees[0]
    if not tree.branch:
        raise GitWorkError(f"{visible(str(tree.path))} has no branch checked out: git switch -c NAME there first")
    if not main.branch:
        raise GitWorkError(f"HEAD is detached in {visible(str(main.path))}: check out the branch to merge into first")
    repo.refuse_if_locked()
    status = await repo.status()
    if status.operation or status.conflicts:
        raise GitWorkError(f"{status.operation or 'a merge'} is in progress in {visible(str(main.path))}")
    if status.staged or status.unstaged:
        count = plural(len({e.path for e in (*status.staged, *status.unstaged)}), "file")
        raise GitWorkError(
            f"{visible(str(main.path))} has changes that are not committed ({count}); commit or stash them"
        )
    if not tree.missing:
        await _refuse_uncommitted(settings, tree)
    log = await repo.ask("log", "--format=%h %s", f"{main.branch}..{tree.branch}")
    stat = await repo.ask("diff", "--stat=76", "--no-ext-diff", f"{main.branch}...{tree.branch}")
    forward = (await repo.git.read("merge-base", "--is-ancestor", main.branch, tree.branch)).ok
    commits = tuple(visible(line) for line in log.text.split("\n") if line)
    return MergePlan(tree, main, commits, "\n".join(visible(line) for line in stat.text.rstrip().split("\n")), forward)


async def _refuse_uncommitted(settings: Settings, tree: Worktree) -> None:
    async with open_repository(replace(settings, workspace=tree.path)) as repo:
        status = await repo.status()
    changed = {entry.path for entry in (*status.staged, *status.unstaged, *status.conflicts)} | set(status.untracked)
    if changed:
        where = visible(str(tree.path))
        raise GitWorkError(
            f"{where} has changes that are not committed and would not be merged ({plural(len(changed), 'file')}); "
            f"commit them first (pool commit -C {where})"
        )


async def merge(repo: RepoGit, plan: MergePlan, *, always_commit: bool = False) -> Merged:
    """Merge as planned: forward where that is possible, else by a merge commit. Raises `GitWorkError`.

    A merge commit that is to be signed is left to the user: nothing is signed in the sandbox, and signing is not
    switched off.
    """
    if plan.forward and not always_commit:
        await repo.do("merge", "--ff-only", "--quiet", plan.tree.branch)
        return Merged((await repo.ask("rev-parse", "HEAD")).line)
    if await repo.signing.wanted():
        raise GitWorkError(
            "the merge commit is to be signed (commit.gpgsign), which is yours to do: "
            f"git -C {visible(str(plan.main.path))} merge {visible(plan.tree.branch)}"
        )
    output = await repo.git.write("merge", "--no-ff", "--no-edit", plan.tree.branch)
    if not output.ok:
        status = await repo.status()
        if status.conflicts:
            return Merged("", tuple(entry.path for entry in status.conflicts))
        repo.checked("git merge", output)
    return Merged((await repo.ask("rev-parse", "HEAD")).line)


def conflict_words(plan: MergePlan, merged: Merged) -> str:
    """What to do about conflicts."""
    names = ", ".join(visible(path) for path in merged.conflicts)
    return (
        f"both branches changed the same lines of {names}. The merge is left open in {visible(str(plan.main.path))}: "
        "resolve them, git add, git commit; or git merge --abort takes it back. The worktree is as it was"
    )


async def remove_worktree(settings: Settings, name: str) -> str:
    """Remove a worktree that Pool made, and its branch if that is merged; what was done, for people.

    Nothing is lost: what is not committed is refused, a branch that is not merged stays. Raises `GitWorkError`.
    """
    folder = Path(os.path.realpath(settings.workspace))
    place = place_of(find_repository(folder))
    if not place.is_dir():
        raise GitWorkError(f"there are no worktrees of Pool's (they would be in {visible(str(place))})")
    main = main_of(find_repository(folder))
    async with open_repository(replace(settings, workspace=main), more=(place,)) as repo:
        tree = named_tree(await worktrees(repo), name, folder)
        where = visible(str(tree.path))
        if not tree.ours:
            raise GitWorkError(f"{where} was not made by Pool: git worktree remove {where}")
        if not tree.missing:
            await repo.do("worktree", "remove", str(tree.path))
        else:
            await repo.do("worktree", "prune")
        gone = await repo.git.write("branch", "--delete", "--", tree.branch) if tree.branch else None
        with contextlib.suppress(OSError):
            place.rmdir()
    if gone is None:
        return f"removed {where}"
    kept = f"; the branch {tree.branch} is not merged, so it stays (git branch -D {tree.branch})"
    return f"removed {where}" + (f" and the branch {tree.branch}, which is merged" if gone.ok else kept)


def main_of(repository: Repository) -> Path:
    """The main checkout of a repository. Raises `GitWorkError` for one without, a bare one."""
    if repository.common.name != DOT_GIT:
        raise GitWorkError(f"{visible(str(repository.common))} has no main checkout to work in")
    return repository.common.parent
