"""The git tool against faults that other agents were reported for; each test bears the name of its case."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from pool_tools.sandbox.base import NoSandbox

from ..conftest import Desk, bubblewrap, make_desk
from .conftest import run_git

SPECIAL = ("Größe.txt", "設定/メモ.md", 'say "hi".txt', "tab\there.txt", " lead.txt", "a -> b.txt")


@contextmanager
def other_desk(folder: Path, like: Desk) -> Generator[Desk]:
    """A desk in another folder, in the same tier."""
    yield from make_desk(folder, bubblewrap(folder) if like.sandbox.name == "bubblewrap" else NoSandbox())


def tree_digest(*paths: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() if path.exists() else b"-" for path in paths)).hexdigest()


async def test_git_02_detached_head(repo: Desk) -> None:
    run_git(repo.folder, "checkout", "-q", "--detach")
    repo.file("a.txt", "one\nTWO\n")
    commit = run_git(repo.folder, "rev-parse", "HEAD").strip()
    status = await repo.call("git", action="status")
    assert status.text.startswith(f"HEAD detached at {commit[:10]}")
    assert status.data["detached"]
    assert "-two\n+TWO" in (await repo.call("git", action="diff")).text
    made = await repo.call("git", action="commit", message="second", all=True)
    assert made.data["commit"] == run_git(repo.folder, "rev-parse", "HEAD").strip() != commit
    assert "HEAD is detached" in await repo.refused("git", action="push")


async def test_git_03_linked_worktree_inside_the_main_one(repo: Desk) -> None:
    repo.file(".gitignore", "wt\n")
    added = await repo.call("git", action="worktree", op="add", paths=["wt"], name="side")
    assert added.ok
    worktree = repo.folder / "wt"
    (worktree / "sub").mkdir()
    (worktree / "a.txt").write_text("one\nside\n")
    # In the sandbox, what lies in the system's /tmp is seen only from a workspace's root on.
    for folder in (worktree, worktree / "sub") if repo.sandbox.name == "none" else (worktree,):
        with other_desk(folder, repo) as desk:
            status = await desk.call("git", action="status")
            assert status.text.startswith("on branch side")
            assert [Path(path).name for path in status.data["unstaged"]] == ["a.txt"]
            assert "+side" in (await desk.call("git", action="diff")).text
    with other_desk(worktree, repo) as desk:
        await desk.call("git", action="add", paths=["a.txt"])
        await desk.call("git", action="commit", message="side work")
    (worktree / "a.txt").write_text("one\nagain\n")
    assert run_git(repo.folder, "log", "--format=%s", "side").split("\n")[0] == "side work"
    listed = await repo.call("git", action="worktree")
    assert "branch refs/heads/side" in listed.text
    said = await repo.refused("git", action="worktree", op="remove", paths=["wt"])
    assert "contains modified or untracked files" in said
    assert worktree.exists()


async def test_git_04_no_commits_yet(repo: Desk) -> None:
    folder = repo.folder / "fresh"
    folder.mkdir()
    run_git(folder, "init", "-q")
    with other_desk(folder, repo) as desk:
        desk.file("x.py", "x = 1\n")
        desk.file("y.py", "y = 1\n")
        status = await desk.call("git", action="status")
        assert status.text.startswith("on branch main, no commits yet")
        assert status.data["untracked"] == ["x.py", "y.py"]
        assert (await desk.call("git", action="diff")).text.startswith("Nothing changed")
        assert "There are no commits yet" in await desk.refused("git", action="log")
        assert "There are no commits yet" in await desk.refused("git", action="diff", rev="HEAD")
        await desk.call("git", action="add", all=True)
        assert "x.py +1 -0" in (await desk.call("git", action="diff", staged=True)).text
        await desk.call("git", action="restore", paths=["y.py"], staged=True)
        assert (await desk.call("git", action="status")).data["untracked"] == ["y.py"]
        assert (await desk.call("git", action="commit", message="first")).ok
    assert run_git(folder, "show", "--format=%s", "--name-only").split() == ["first", "x.py"]


async def test_git_05_names_as_they_are(repo: Desk) -> None:
    for name in SPECIAL:
        repo.file(name, "old\n")
    status = await repo.call("git", action="status")
    assert set(status.data["untracked"]) == {"Größe.txt", "設定/", *SPECIAL[2:]}
    assert "Größe.txt" in status.text
    assert "tab\\x09here.txt" in status.text
    for name in SPECIAL[:3]:
        await repo.call("git", action="add", paths=[name])
    await repo.call("git", action="add", all=True)
    await repo.call("git", action="commit", message="names")
    for name in SPECIAL:
        repo.file(name, "new\n")
    diff = await repo.call("git", action="diff")
    assert diff.data["files"] == sorted(SPECIAL, key=str.encode)
    for name in ("Größe.txt", "設定/メモ.md"):
        assert f"{name} +1 -1" in diff.text
        one = await repo.call("git", action="diff", paths=[name])
        assert one.data["files"] == [name]
        assert "-old\n+new" in one.text
    run_git(repo.folder, "mv", "設定/メモ.md", "新しい.md")
    renamed = await repo.call("git", action="status")
    assert "renamed: 設定/メモ.md -> 新しい.md" in renamed.text
    shown = await repo.call("git", action="diff", staged=True)
    assert "設定/メモ.md -> 新しい.md +" in shown.text


async def test_git_05_a_name_that_is_no_utf8(repo: Desk) -> None:
    Path(os.fsdecode(os.fsencode(repo.folder) + b"/caf\xe9.txt")).write_text("x\n")
    status = await repo.call("git", action="status")
    assert "caf\\xe9.txt" in status.text
    await repo.call("git", action="add", paths=["caf\\xe9.txt"])
    assert "new: caf\\xe9.txt" in (await repo.call("git", action="status")).text


async def test_git_06_a_stale_lock(repo: Desk) -> None:
    lock = repo.folder / ".git/index.lock"
    lock.touch()
    os.utime(lock, (1, 1))
    repo.file("a.txt", "one\nTWO\n")
    assert (await repo.call("git", action="status")).data["unstaged"] == ["a.txt"]
    assert "+TWO" in (await repo.call("git", action="diff")).text
    for args in ({"action": "add", "paths": ["a.txt"]}, {"action": "commit", "message": "x", "all": True}):
        said = await repo.refused("git", **args)
        assert "index.lock exists, made" in said
        assert "It was not removed" in said
    assert lock.exists()


async def test_git_07_a_failing_hook(repo: Desk) -> None:
    hook = repo.folder / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho run >> hook-ran\necho 'style: line 3'\nexit 1\n")
    hook.chmod(0o755)
    repo.file("a.txt", "one\nTWO\n")
    await repo.call("git", action="status")
    await repo.call("git", action="diff")
    assert not (repo.folder / "hook-ran").exists()
    said = await repo.refused("git", action="commit", message="x", all=True)
    assert "style: line 3" in said
    assert (repo.folder / "hook-ran").read_text() == "run\n"
    assert run_git(repo.folder, "log", "--format=%s").split() == ["first"]


async def test_git_08_no_identity(repo: Desk, own_home: Path) -> None:
    (own_home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    configs = own_home / ".gitconfig", repo.folder / ".git/config"
    before = tree_digest(*configs)
    repo.file("a.txt", "one\nTWO\n")
    said = await repo.refused("git", action="commit", message="x", all=True)
    assert "none is invented here" in said
    assert tree_digest(*configs) == before
    assert run_git(repo.folder, "log", "--format=%s").split() == ["first"]


async def test_git_09_half_staged_work_is_left_alone(repo: Desk) -> None:
    repo.file("a.txt", "ONE\ntwo\n")
    run_git(repo.folder, "add", "a.txt")
    repo.file("a.txt", "ONE\nTWO\n")
    repo.file("new.txt", "n\n")
    before = run_git(repo.folder, "diff", "--cached"), (repo.folder / ".git/index").read_bytes()
    for args in ({"action": "status"}, {"action": "diff"}, {"action": "diff", "staged": True}, {"action": "stash"}):
        await repo.call("git", **{**args, **({"op": "list"} if args["action"] == "stash" else {})})
    assert (run_git(repo.folder, "diff", "--cached"), (repo.folder / ".git/index").read_bytes()) == before
    status = await repo.call("git", action="status")
    assert status.data["staged"] == status.data["unstaged"] == ["a.txt"]
    assert status.data["untracked"] == ["new.txt"]


async def test_shell_13_signing_is_not_dropped(repo: Desk, own_home: Path) -> None:
    with (own_home / ".gitconfig").open("a") as file:
        file.write(f"[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = {own_home}/sign.sh\n")
    (own_home / "sign.sh").write_text("#!/bin/sh\nread x </dev/tty || exit 1\n")
    (own_home / "sign.sh").chmod(0o755)
    repo.file("a.txt", "one\nTWO\n")
    said = await repo.refused("git", action="commit", message="x", all=True)
    assert "signing was not switched off" in said
    assert run_git(repo.folder, "log", "--format=%s").split() == ["first"]
