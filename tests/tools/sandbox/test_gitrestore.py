"""The guard over what git takes orders from, with real repositories; changes are made as a command could make them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool_tools.sandbox.gitconfig import harmless
from pool_tools.sandbox.gitfind import RepositoryFinder
from pool_tools.sandbox.gitrestore import GitGuard


def git(folder: Path, *args: str) -> str:
    allow = ("-c", "protocol.file.allow=always")
    return subprocess.run(["git", *allow, *args], cwd=folder, check=True, capture_output=True, text=True).stdout


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    git(folder, "config", "user.name", "T")
    git(folder, "config", "user.email", "t@example.org")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    return folder


def guarded(work: Path, change: Callable[[], object]) -> tuple[str, ...]:
    """What the guard says of a change."""
    guard = GitGuard((work,))
    guard.before()
    change()
    notes = guard.after()
    guard.before()
    assert guard.after() == (), "the guard's own work is nothing to be put right"
    return notes


def snapshot(folder: Path) -> dict[str, bytes | str]:
    files = (Path(base, name) for base, _, names in os.walk(folder) for name in names)
    return {str(f.relative_to(folder)): os.readlink(f) if f.is_symlink() else f.read_bytes() for f in files}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return repository(tmp_path / "work")


def pwn(config: Path, text: str = "[core]\n\tfsmonitor = touch pwned\n") -> None:
    with config.open("a") as file:
        file.write(text)


def test_ordinary_work_is_left_alone(work: Path) -> None:
    def change() -> None:
        (work / "a").write_text("x")
        git(work, "add", "a")
        git(work, "commit", "-q", "-m", "two")
        git(work, "branch", "b")
        git(work, "stash", "list")
        git(work, "gc", "-q")

    assert guarded(work, change) == ()


def test_config_and_hooks_are_put_back(work: Path) -> None:
    hook = work / ".git/hooks/pre-push"
    hook.write_text("#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
    before = snapshot(work / ".git")

    def change() -> None:
        pwn(work / ".git/config")
        hook.write_text("touch pwned")
        (work / ".git/config.worktree").symlink_to("/etc/passwd")
        (work / ".git/commondir").write_text("../evil")

    notes = guarded(work, change)
    after = snapshot(work / ".git")
    assert {name: after[name] for name in before} == before
    assert {name for name in after if name not in before} == {"config.worktree.held-back", "commondir.held-back"}
    assert hook.stat().st_mode & 0o777 == 0o755
    assert len(notes) == 4
    assert git(work, "status", "--short") == ""


def test_a_mode_is_put_back(work: Path) -> None:
    hook = work / ".git/hooks/pre-push"
    hook.write_text("exit 1")
    assert guarded(work, lambda: hook.chmod(0o755)) == (".git/hooks/pre-push was changed and has been put back",)
    assert not os.access(hook, os.X_OK) or os.getuid() == 0
    assert hook.stat().st_mode & 0o111 == 0


def test_missing_hooks_folder_stays_harmless(work: Path) -> None:
    shutil.rmtree(work / ".git/hooks")

    def change() -> None:
        (work / ".git/hooks").mkdir()
        (work / ".git/hooks/pre-commit").write_text("#!/bin/sh\ntouch pwned\n")
        (work / ".git/hooks/pre-commit").chmod(0o755)

    assert "hooks/pre-commit is new" in guarded(work, change)[0]
    (work / "a").write_text("x")
    git(work, "add", "a")
    git(work, "commit", "-q", "-m", "two")
    assert not (work / "pwned").exists()


def test_a_git_folder_moved_aside_and_made_anew(work: Path) -> None:
    config = (work / ".git/config").read_bytes()

    def change() -> None:
        (work / ".git").rename(work / "old")
        shutil.copytree(work / "old", work / ".git")
        pwn(work / ".git/config")

    assert guarded(work, change) != ()
    assert (work / ".git/config").read_bytes() == config


def test_hooks_replaced_by_a_link_are_not_written_through(work: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (work / ".git/hooks/pre-push").write_text("mine")

    def change() -> None:
        shutil.rmtree(work / ".git/hooks")
        (work / ".git/hooks").symlink_to(outside)

    guarded(work, change)
    assert os.listdir(outside) == []
    assert (work / ".git/hooks/pre-push").read_text() == "mine"
    assert not (work / ".git/hooks").is_symlink()


def test_git_replaced_by_a_pointer_elsewhere(work: Path, tmp_path: Path) -> None:
    evil = repository(tmp_path / "evil")

    def change() -> None:
        shutil.rmtree(work / ".git")
        (work / ".git").write_text(f"gitdir: {evil}/.git\n")

    assert "leads git to another folder" in guarded(work, change)[0]
    assert not (work / ".git").exists()


def test_a_new_repository_keeps_what_is_harmless(work: Path) -> None:
    def change() -> None:
        repository(work / "plain")
        git(work, "clone", "-q", str(work), "copy")
        evil = repository(work / "deep/evil")
        pwn(evil / ".git/config", '[core]\n\tfsmonitor = "touch pwned"\n[alias]\n\tst = !touch pwned\n')
        (evil / ".git/hooks/post-checkout").write_text("touch pwned")

    notes = guarded(work, change)
    assert len(notes) == 2
    assert "core.fsmonitor, alias.st in deep/evil/.git/config" in notes[1] + notes[0]
    assert git(work / "copy", "remote", "get-url", "origin").strip() == str(work)
    assert git(work / "deep/evil", "config", "user.name").strip() == "T"
    assert "fsmonitor" not in (work / "deep/evil/.git/config").read_text()
    assert "fsmonitor" in (work / "deep/evil/.git/config.held-back").read_text()
    assert (work / "deep/evil/.git/hooks/post-checkout.held-back").exists()


def test_a_repository_without_git_folder(work: Path) -> None:
    def change() -> None:
        git(work, "init", "-q", "--bare", "bare")
        pwn(work / "bare/config")

    assert "core.fsmonitor" in guarded(work, change)[0]
    assert git(work / "bare", "rev-parse", "--is-bare-repository").strip() == "true"


def test_the_workspace_itself_as_a_bare_repository(work: Path) -> None:
    def change() -> None:
        for name in ("objects", "refs"):
            (work / name).mkdir()
        (work / "HEAD").write_text("ref: refs/heads/main\n")
        pwn(work / "config")
        pwn(work / ".git/config")

    notes = guarded(work, change)
    assert "fsmonitor" not in (work / "config").read_text()
    assert "fsmonitor" not in (work / ".git/config").read_text()
    assert len(notes) == 2


def test_nested_repositories_that_were_there(work: Path) -> None:
    nested = repository(work / "a/b/nested")
    assert guarded(work, lambda: pwn(nested / ".git/config")) == (
        "a/b/nested/.git/config was changed and has been put back",
    )
    assert guarded(work, lambda: shutil.rmtree(work / "a")) == ()
    assert not (work / "a").exists()


def test_submodules(work: Path, tmp_path: Path) -> None:
    library = repository(tmp_path / "library")
    git(work, "submodule", "--quiet", "add", str(library), "lib/one")
    module = work / ".git/modules/lib/one"
    config = (module / "config").read_bytes()

    def change() -> None:
        pwn(module / "config")
        (module / "hooks/post-checkout").write_text("touch pwned")

    assert len(guarded(work, change)) == 2
    assert (module / "config").read_bytes() == config
    assert git(work / "lib/one", "status", "--short") == ""


def test_a_new_submodule(work: Path, tmp_path: Path) -> None:
    library = repository(tmp_path / "library")
    notes = guarded(work, lambda: git(work, "submodule", "--quiet", "add", str(library), "lib"))
    assert notes == (".git/config was changed and has been put back",)
    assert git(work / "lib", "status", "--short") == ""


def test_worktrees_may_be_added(work: Path) -> None:
    assert guarded(work, lambda: git(work, "worktree", "add", "-q", "tree")) == ()
    assert git(work / "tree", "status", "--short") == ""
    notes = guarded(work, lambda: (work / ".git/worktrees/tree/commondir").write_text("../../../evil\n"))
    assert notes == (".git/worktrees/tree/commondir was changed and has been put back",)


def test_worktrees_may_be_removed_and_are_watched_when_they_come_back(work: Path) -> None:
    git(work, "worktree", "add", "-q", "tree")
    assert guarded(work, lambda: git(work, "worktree", "remove", "tree")) == ()
    assert len(git(work, "worktree", "list").splitlines()) == 1

    def change() -> None:
        git(work, "worktree", "add", "-q", "tree")
        (work / ".git/worktrees/tree/commondir").write_text("../../../evil\n")

    assert "commondir is new" in guarded(work, change)[0]


def test_a_linked_worktree_guards_the_repository_it_belongs_to(work: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git(work, "worktree", "add", "-q", str(tree))
    config = (work / ".git/config").read_bytes()

    def change() -> None:
        pwn(work / ".git/config")
        (tree / ".git").write_text("gitdir: /nowhere\n")

    assert len(guarded(tree, change)) == 2
    assert (work / ".git/config").read_bytes() == config
    assert git(tree, "status", "--short") == ""


def test_included_configuration_is_put_back(work: Path, tmp_path: Path) -> None:
    (work / "included").mkdir()
    (work / "included/config").write_text("[alias]\n\tst = status\n")
    git(work, "config", "include.path", "../included/config")
    outside = tmp_path / "outside"
    outside.mkdir()

    def change() -> None:
        shutil.rmtree(work / "included")
        (work / "included").symlink_to(outside)
        pwn(outside / "config")

    guarded(work, change)
    assert (work / "included/config").read_text() == "[alias]\n\tst = status\n"
    assert "fsmonitor" in (outside / "config").read_text(), "nothing outside is written"


def test_mounted_paths_are_the_users_own_affair(work: Path) -> None:
    guard = GitGuard((work,), lambda: (work / ".git/config",))
    guard.before()
    pwn(work / ".git/config")
    assert guard.after() == ()
    assert "fsmonitor" in (work / ".git/config").read_text()


def test_overlapping_commands(work: Path) -> None:
    guard = GitGuard((work,))
    guard.before()
    pwn(work / ".git/config")
    guard.before()
    assert guard.after() != ()
    pwn(work / ".git/config")
    assert guard.after() != ()
    assert "fsmonitor" not in (work / ".git/config").read_text()


def test_what_the_user_changes_between_commands_stays(work: Path) -> None:
    guard = GitGuard((work,))
    guard.before()
    guard.after()
    git(work, "config", "alias.st", "status")
    guard.before()
    assert guard.after() == ()
    assert git(work, "config", "alias.st").strip() == "status"


def test_endless_modules_end(work: Path) -> None:
    def change() -> None:
        here = work / ".git/modules"
        here.mkdir()
        os.chdir(here)
        for _ in range(1_500):
            os.mkdir("m")
            os.chdir("m")

    origin = os.getcwd()
    try:
        guarded(work, change)
    finally:
        os.chdir(origin)
        # Deeper than Python's own functions can go.
        subprocess.run(["rm", "-rf", work / ".git/modules"], check=True)


def test_finding_is_bounded_and_sees_what_is_new(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"d{number}").mkdir()
    assert RepositoryFinder([tmp_path], most=10).find() == []
    finder = RepositoryFinder([tmp_path])
    assert finder.find() == []
    (tmp_path / "d7/.git").mkdir()
    (tmp_path / "d8/a").mkdir()
    (tmp_path / "d8/a/.git").write_text("x")
    os.utime(tmp_path / "d7", (1, 1))
    assert sorted(finder.find()) == [tmp_path / "d7/.git", tmp_path / "d8/a/.git"]


NAMES = st.sampled_from(
    "core.fsmonitor core.hooksPath core.bare alias.x filter.x.clean diff.x.textconv include.path user.name "
    "remote.o.url remote.o.vcs branch.b.merge credential.helper gpg.program core.sshCommand url.x.insteadOf".split()
)
VALUES = st.one_of(
    st.sampled_from(["true", "!sh", "../x", "ext::sh", "-x", 'a"b', "a\\", "x # y", ""]),
    st.text("ab\\\"' ;#=[]!\n\t\r"),
)
PIECES = st.one_of(
    st.tuples(NAMES, VALUES).map(lambda pair: section_of(*pair)),
    st.sampled_from(["# comment \\\n", "\n", "[core] fsmonitor = x\n", "\tfsmonitor = x\n", "x\\\n", "\\\n", "[a]\n"]),
    st.text("ab\\\"'[]=;#\n\r\t ", max_size=12),
)
ALLOWED = {"core.bare", "user.name", "remote.o.url", "branch.b.merge"}


def section_of(name: str, value: str) -> str:
    section, *middle, key = name.split(".")
    quoted = "".join(f' "{m}"' for m in middle)
    return f"[{section}{quoted}]\n\t{key} = {value}\n"


@given(st.lists(PIECES, max_size=8))
def test_git_reads_only_harmless_keys_from_what_is_kept(pieces: list[str]) -> None:
    kept, dropped = harmless("".join(pieces), lambda _: False)
    done = subprocess.run(
        ["git", "config", "--file", "-", "--list", "--name-only"], input=kept, capture_output=True, text=True
    )
    if done.returncode == 0:
        assert set(done.stdout.split()) <= ALLOWED
    if not dropped:
        assert kept == "".join(pieces)


def test_a_repository_that_the_user_makes_between_commands_is_his_own(work: Path) -> None:
    guard = GitGuard((work,))
    guard.before()
    guard.after()
    mine = repository(work / "mine")
    pwn(mine / ".git/config", "[alias]\n\tst = !echo mine\n")
    guard.before()
    assert guard.after() == ()
    assert "mine" in (mine / ".git/config").read_text()
    guard.before()
    pwn(mine / ".git/config")
    assert guard.after() == ("mine/.git/config was changed and has been put back",)
