"""Undo in real repositories: bytes, modes and links come back; the user's own edits and git's state stay."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pool.sessions.checkpoints.looks import Limits
from pool.sessions.checkpoints.undo import Verdict, carry_out, plan_redo, plan_undo
from tests.sessions.checkpoints.repos import act, checkpoints, git, repository, tree


def shell(root: Path, command: str) -> None:
    subprocess.run(command, shell=True, cwd=root, check=True)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state" / "pool"


def test_everything_a_command_can_do_comes_back_and_goes_again(tmp_path: Path, state: Path) -> None:
    root = repository(tmp_path / "r", a="one\n", d__b="two\n", tool="#!/bin/sh\n", gone="x\n")
    (root / "link").symlink_to("a")
    (root / "dirty").write_bytes(b"\x00\xff\r\n")
    (root / "a").write_text("one, edited by hand\n")
    before = tree(root)
    with checkpoints(state, root) as made:
        script = (
            "echo new > a; rm -r d gone; mkdir d; echo other > d/c; chmod +x tool; ln -sf tool link; mkdir -p n/m;"
            " echo q > n/m/q; rm dirty; mkdir dirty; echo z > dirty/z; git add -A; git commit -qm x"
        )
        changes = act(
            made, "r1", lambda: shell(root, script.replace("git commit", "git -c user.name=n -c user.email=e commit"))
        )
        assert "modified a" in changes
        assert "created n/m/q" in changes
        assert "deleted d/b" in changes
        after = tree(root)
        plan = plan_undo(made, ["r1"])
        assert {s.verdict for s in plan.steps} == {Verdict.RESTORE}
        assert not carry_out(made, plan).failures
        assert tree(root) == before
        assert not (root / "n").exists()
        redo = plan_redo(made)
        assert redo is not None
        assert not carry_out(made, redo).failures
        assert tree(root) == after
        again = plan_undo(made, ["r1"])
        assert not carry_out(made, again).failures
        assert tree(root) == before


def test_the_users_later_edits_and_those_in_between_are_kept(tmp_path: Path, state: Path) -> None:
    root = repository(tmp_path / "r", later="0\n", between="0\n", own="0\n", mine="0\n")
    with checkpoints(state, root) as made:
        act(made, "r1", lambda: [(root / n).write_text("agent\n") for n in ("later", "between", "own")])
        (root / "between").write_text("agent\nuser\n")
        act(made, "r2", lambda: (root / "between").write_text("agent\nuser\nagent\n"))
        (root / "later").write_text("agent\nuser\n")
        (root / "mine").write_text("user\n")
        plan = plan_undo(made, ["r1", "r2"])
        verdicts = {s.path: (s.verdict, s.why) for s in plan.steps}
        assert verdicts == {
            "later": (Verdict.YOURS, "you changed it since"),
            "between": (Verdict.YOURS, "you changed it in between"),
            "own": (Verdict.RESTORE, ""),
        }
        carry_out(made, plan)
        assert (root / "later").read_text() == "agent\nuser\n"
        assert (root / "own").read_text() == "0\n"
        only_last = plan_undo(made, ["r2"])
        carry_out(made, only_last)
        assert (root / "between").read_text() == "agent\nuser\n"
        carry_out(made, plan_undo(made, ["r1"], over_mine=True))
        assert (root / "later").read_text() == "0\n"
        redo = plan_redo(made)
        assert redo is not None
        carry_out(made, redo)
        assert (root / "later").read_text() == "agent\nuser\n"


def test_git_09_index_head_stash_and_config_are_not_touched(tmp_path: Path, state: Path) -> None:
    """GIT-07, GIT-08 and GIT-09: staged halves stay staged, hooks do not run, no identity is needed."""
    root = repository(tmp_path / "r", f="".join(f"{n}\n" for n in range(40)))
    lines = (root / "f").read_text().splitlines(keepends=True)
    (root / "f").write_text("".join(["staged\n", *lines]))
    git(root, "add", "f")
    (root / "f").write_text("".join(["staged\n", *lines, "not staged\n"]))
    (root / "untracked").write_text("u\n")
    git(root, "stash", "create")
    hook = root / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\ntouch ../hook-ran\nexit 1\n")
    hook.chmod(0o755)
    watched = [p for p in sorted((root / ".git").rglob("*")) if p.is_file()]
    files = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in watched}
    with checkpoints(state, root) as made:
        act(made, "r1", lambda: [(root / "f").write_text("all new\n"), (root / "untracked").unlink()])
        assert not carry_out(made, plan_undo(made, ["r1"])).failures
    assert {
        p: (p.read_bytes(), p.stat().st_mtime_ns) for p in sorted((root / ".git").rglob("*")) if p.is_file()
    } == files
    assert (root / "f").read_text() == "".join(["staged\n", *lines, "not staged\n"])
    assert (root / "untracked").read_text() == "u\n"
    assert not (root / "hook-ran").exists()


def test_git_04_and_05_no_commits_odd_names(tmp_path: Path, state: Path) -> None:
    root = repository(tmp_path / "r")
    names = [
        "Größe.txt",
        "設定/メモ.md",
        "a b",
        "-dash",
        "new\nline",
        os.fsdecode(b"raw\xff"),
        "q\"'$x",
        "#hash",
        "!not",
    ]
    for name in names:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("before\n")
    git(root, "add", "--", names[0])
    before = tree(root)
    with checkpoints(state, root) as made:
        changes = act(made, "r1", lambda: [(root / n).write_text("after\n") for n in names])
        assert sorted(changes) == sorted(f"modified {n}" for n in names)
        carry_out(made, plan_undo(made, ["r1"]))
    assert tree(root) == before


def test_git_02_and_06_detached_head_and_a_left_lock(tmp_path: Path, state: Path) -> None:
    root = repository(tmp_path / "r", a="1\n")
    git(root, "checkout", "-q", "--detach")
    (root / ".git" / "index.lock").touch()
    with checkpoints(state, root) as made:
        assert act(made, "r1", lambda: (root / "a").write_text("2\n")) == ["modified a"]
        carry_out(made, plan_undo(made, ["r1"]))
    assert (root / "a").read_text() == "1\n"
    assert (root / ".git" / "index.lock").exists()


def test_git_03_a_linked_worktree_and_a_subfolder_of_it(tmp_path: Path, state: Path) -> None:
    main = repository(tmp_path / "r", a="1\n", sub__b="1\n")
    git(main, "worktree", "add", "-q", "trees/w")
    root = main / "trees" / "w"
    (root / "a").write_text("of the worktree\n")
    with checkpoints(state, root) as made:
        assert act(made, "r1", lambda: [(root / "a").write_text("2\n"), (main / "a").write_text("2\n")]) == [
            "modified a"
        ]
        carry_out(made, plan_undo(made, ["r1"]))
        assert made.tree.in_git
    assert (root / "a").read_text() == "of the worktree\n"
    assert (main / "a").read_text() == "2\n"
    with checkpoints(state, root / "sub", session="s2") as made:
        assert act(made, "r1", lambda: (root / "sub" / "b").unlink()) == ["deleted b"]
        carry_out(made, plan_undo(made, ["r1"]))
    assert (root / "sub" / "b").read_text() == "1\n"


def test_submodules_and_nested_repositories_have_their_own_state(tmp_path: Path, state: Path) -> None:
    other = repository(tmp_path / "other", x="1\n", _gitignore="")
    root = repository(tmp_path / "r", a="1\n")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    repository(root / "inner", y="1\n")
    (root / "inner" / ".gitignore").write_text("*.o\n")
    with checkpoints(state, root) as made:
        changes = act(made, "r1", lambda: shell(root, "for f in sub/x inner/y inner/z.o sub/z.o; do echo 2 > $f; done"))
        assert set(changes) == {"modified inner/y", "modified sub/x", "created sub/z.o"}
        carry_out(made, plan_undo(made, ["r1"]))
    assert (root / "sub" / "x").read_text() == "1\n"
    assert (root / "inner" / "y").read_text() == "1\n"


def test_line_ends_that_git_converts_come_back_as_they_were(tmp_path: Path, state: Path) -> None:
    root = repository(tmp_path / "r", _="")
    (root / ".gitattributes").write_text("*.txt text eol=crlf\n*.id ident\n*.enc working-tree-encoding=UTF-16LE\n")
    (root / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    (root / "v.id").write_text("$Id$\n")
    (root / "w.enc").write_bytes("häh".encode("utf-16-le"))
    git(root, "add", "-A")
    git(root, "commit", "-qm", "y")
    git(root, "rm", "-q", "--cached", "v.id")
    git(root, "add", "v.id")
    (root / "v.id").unlink()
    git(root, "checkout", "--", "v.id")
    before = tree(root)
    with checkpoints(state, root) as made:
        act(made, "r1", lambda: shell(root, "for f in dos.txt v.id w.enc; do echo changed > $f; done"))
        carry_out(made, plan_undo(made, ["r1"]))
    assert tree(root) == before


def test_pre_images_survive_the_loss_of_git_itself(tmp_path: Path, state: Path) -> None:
    root = repository(tmp_path / "r", **{f"f{n}": f"{n}\n" * 50 for n in range(20)})
    git(root, "repack", "-adq")
    before = tree(root)
    with checkpoints(state, root) as made:
        act(made, "r1", lambda: shell(root, "rm -rf .git *"))
        assert not carry_out(made, plan_undo(made, ["r1"])).failures
    assert tree(root) == before


def test_ignored_files_are_not_scanned_but_tool_edits_of_them_are_kept(tmp_path: Path, state: Path) -> None:
    root = repository(tmp_path / "r", _gitignore="", a="1\n")
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    (root / "x.log").write_text("log\n")
    (root / "build").mkdir()
    (root / "build" / "out").write_text("o\n")
    with checkpoints(state, root) as made:
        assert act(made, "r1", lambda: (root / "build" / "out").write_text("oo\n")) == []
        assert act(made, "r1", lambda: (root / "x.log").write_text("tool\n"), "x.log") == ["modified x.log"]
        assert act(made, "r1", lambda: (root / "x.log").write_text("command\n")) == ["modified x.log"]
        assert act(made, "r1", lambda: (root / "y.log").write_text("tool\n"), "y.log") == ["created y.log"]
        carry_out(made, plan_undo(made, ["r1"]))
    assert (root / "x.log").read_text() == "log\n"
    assert not (root / "y.log").exists()
    assert (root / "build" / "out").read_text() == "oo\n"


def test_large_files_are_named_and_left(tmp_path: Path, state: Path) -> None:
    root = repository(tmp_path / "r", small="1\n")
    (root / "large").write_bytes(b"x" * 5000)
    with checkpoints(state, root, Limits(file_bytes=1000)) as made:
        taken = made.before("r1", 1, "c")
        assert taken.skipped.named == ["large: too large"]
        (root / "large").write_bytes(b"y" * 5000)
        (root / "small").write_text("2\n")
        made.after()
        plan = plan_undo(made, ["r1"])
        assert {s.path: s.verdict for s in plan.steps} == {"large": Verdict.LOST, "small": Verdict.RESTORE}
        carry_out(made, plan)
    assert (root / "small").read_text() == "1\n"
    assert (root / "large").read_bytes() == b"y" * 5000


def test_outside_git_within_the_limits_and_beyond(tmp_path: Path, state: Path) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    for n in range(8):
        (root / f"f{n}").write_text(f"{n}\n")
    with checkpoints(state, root) as made:
        assert act(made, "r1", lambda: shell(root, "rm f0; echo x > f1; echo y > g")) == [
            "deleted f0",
            "modified f1",
            "created g",
        ]
        carry_out(made, plan_undo(made, ["r1"]))
    assert sorted(p.name for p in root.iterdir()) == [f"f{n}" for n in range(8)]
    assert (root / "f1").read_text() == "1\n"
    with checkpoints(state, root, Limits(outside_git=5), "s2") as made:
        taken = made.before("r1", 1, "c")
        assert [name.startswith(".: more than 5 files, and this is no git") for name in taken.skipped.named] == [True]
        (root / "f2").write_text("by a command\n")
        assert made.after().changes == []
        assert act(made, "r1", lambda: (root / "f3").write_text("by a tool\n"), "f3") == ["modified f3"]
        carry_out(made, plan_undo(made, ["r1"]))
    assert (root / "f3").read_text() == "3\n"
    assert (root / "f2").read_text() == "by a command\n"


def test_links_lead_nowhere(tmp_path: Path, state: Path) -> None:
    """A folder that a link has replaced is not written through."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b").write_text("theirs\n")
    root = repository(tmp_path / "r", d__b="1\n")
    with checkpoints(state, root) as made:
        act(made, "r1", lambda: (root / "d" / "b").write_text("2\n"))
        shutil.rmtree(root / "d")
        (root / "d").symlink_to(outside)
        plan = plan_undo(made, ["r1"], over_mine=True)
        done = carry_out(made, plan)
        assert done.failures
        assert (outside / "b").read_text() == "theirs\n"
        act(made, "r2", lambda: [(root / "d").unlink(), (root / "d").mkdir(), (root / "d" / "b").write_text("3\n")])
        assert not carry_out(made, plan_undo(made, ["r2"])).failures
    assert (root / "d").is_symlink()
    assert (outside / "b").read_text() == "theirs\n"
