"""Worktrees on real repositories: made beside the repository, merged back, removed, and nothing lost on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.agent.gitwork.errors import GitWorkError
from pool.agent.gitwork.worktrees import (
    add_worktree,
    conflict_words,
    merge,
    place_of,
    plan_merge,
    remove_worktree,
    slug,
    worktrees,
)
from pool.config.settings import Settings
from pool.sessions.checkpoints.repository import repository_at

from .conftest import change_line, git, opened


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Fix the off-by-one error in total(), please, and test it", "fix-the-off-by-one-error-in"),
        ("Größe ändern", "gro-e-andern"),
        ("合計を直す", ""),
        ("--force", "force"),
        ("x" * 50, "x" * 32),
    ],
)
def test_names_of_branches_from_prompts(text: str, name: str) -> None:
    assert slug(text) == name or slug(text) == name.replace("gro-e", "groe")


async def test_a_worktree_of_its_own_carries_nothing_and_is_found_again(repo: Path) -> None:
    change_line(repo / "a.txt", 1, "not committed")
    tree = await add_worktree(Settings(repo), "", about="Fix it")
    assert tree.path == repo.with_name("work.worktrees") / "pool-fix-it"
    assert git(tree.path, "branch", "--show-current") == "pool/fix-it\n"
    assert git(tree.path, "status", "--porcelain") == ""
    assert (tree.path / "a.txt").read_text().startswith("line 1\n")
    assert git(repo, "status", "--porcelain") == " M a.txt\n"
    again = await add_worktree(Settings(repo), "pool/fix-it")
    assert again.path == tree.path
    other = await add_worktree(Settings(tree.path), "", about="Fix it")
    assert other.path.name == "pool-fix-it-2"


async def test_with_changes_they_are_copied(repo: Path) -> None:
    change_line(repo / "a.txt", 1, "not committed")
    git(repo, "add", "a.txt")
    change_line(repo / "b.txt", 1, "not staged")
    (repo / "sub").mkdir()
    (repo / "sub/new.sh").write_text("new\n")
    (repo / "sub/new.sh").chmod(0o755)
    before = git(repo, "status", "--porcelain")
    tree = await add_worktree(Settings(repo), "x", with_changes=True)
    assert (tree.path / "a.txt").read_text().startswith("not committed\n")
    assert (tree.path / "b.txt").read_text().startswith("not staged")
    assert (tree.path / "sub/new.sh").stat().st_mode & 0o111
    assert git(repo, "status", "--porcelain") == before
    assert git(repo, "stash", "list") == ""


async def test_forward_and_removed(repo: Path) -> None:
    tree = await add_worktree(Settings(repo), "feature/x")
    change_line(tree.path / "a.txt", 1, "better")
    async with opened(repo) as here:
        with pytest.raises(GitWorkError, match="would not be merged"):
            await plan_merge(here, Settings(repo), "feature/x")
    git(tree.path, "commit", "-qam", "Make it better")
    async with opened(repo) as here:
        plan = await plan_merge(here, Settings(tree.path), "")
        assert plan.forward
        assert "Make it better" in plan.commits[0]
        assert "a.txt" in plan.stat
        done = await merge(here, plan)
    assert git(repo, "rev-parse", "HEAD").strip() == done.head == git(tree.path, "rev-parse", "HEAD").strip()
    said = await remove_worktree(Settings(repo), "feature/x")
    assert "which is merged" in said
    assert not tree.path.exists()
    assert not tree.path.parent.exists()
    assert git(repo, "branch", "--format=%(refname:short)") == "main\n"
    assert len(git(repo, "worktree", "list").splitlines()) == 1


async def test_a_merge_commit_and_conflicts(repo: Path) -> None:
    tree = await add_worktree(Settings(repo), "x")
    change_line(tree.path / "a.txt", 1, "theirs")
    git(tree.path, "commit", "-qam", "Theirs")
    change_line(repo / "b.txt", 1, "ours")
    async with opened(repo) as here:
        with pytest.raises(GitWorkError, match="not committed"):
            await plan_merge(here, Settings(repo), "x")
    git(repo, "commit", "-qam", "Ours")
    async with opened(repo) as here:
        plan = await plan_merge(here, Settings(repo), "x")
        assert not plan.forward
        assert (await merge(here, plan)).conflicts == ()
    assert git(repo, "log", "-1", "--format=%s").startswith("Merge branch 'x'")
    change_line(tree.path / "a.txt", 2, "theirs again")
    git(tree.path, "commit", "-qam", "Theirs again")
    change_line(repo / "a.txt", 2, "ours again")
    git(repo, "commit", "-qam", "Ours again")
    async with opened(repo) as here:
        plan = await plan_merge(here, Settings(repo), "x")
        done = await merge(here, plan)
        assert done.conflicts == ("a.txt",)
        assert "git merge --abort" in conflict_words(plan, done)
        with pytest.raises(GitWorkError, match="in progress"):
            await plan_merge(here, Settings(repo), "x")


async def test_nothing_is_lost_by_removing(repo: Path) -> None:
    tree = await add_worktree(Settings(repo), "x")
    (tree.path / "new.txt").write_text("new\n")
    with pytest.raises(GitWorkError, match="contains modified or untracked files"):
        await remove_worktree(Settings(repo), "x")
    assert (tree.path / "new.txt").exists()
    git(tree.path, "add", ".")
    git(tree.path, "commit", "-qm", "New")
    assert "not merged, so it stays" in await remove_worktree(Settings(repo), "x")
    assert "x" in git(repo, "branch", "--format=%(refname:short)").split()


async def test_where_it_cannot_be(repo: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    with pytest.raises(GitWorkError, match="no commits yet"):
        await add_worktree(Settings(empty), "x")
    with pytest.raises(GitWorkError, match="no git repository"):
        await add_worktree(Settings(tmp_path), "x")
    with pytest.raises(GitWorkError, match="cannot be the name of a branch"):
        await add_worktree(Settings(repo), "a..b")
    with pytest.raises(GitWorkError, match="checked out in"):
        await add_worktree(Settings(repo), "main")
    assert not repo.with_name("work.worktrees").exists()
    found = repository_at(repo)
    assert found is not None
    assert place_of(found) == repo.with_name("work.worktrees")
    git(repo, "worktree", "add", "-q", "-b", "mine", str(tmp_path / "mine"))
    async with opened(repo) as here:
        assert [(tree.branch, tree.main, tree.ours) for tree in await worktrees(here)] == [
            ("main", True, False),
            ("mine", False, False),
        ]
