"""Diffs of a run, a session and the working tree, compared with git's own; hunks that are taken back."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pool.sessions.checkpoints.changes import ChangesView, FileChange
from pool.sessions.checkpoints.difftext import diff_lines
from pool.sessions.checkpoints.textdiff import hunks_of, without
from pool.sessions.checkpoints.undo import plan_redo, revert_hunks
from tests.sessions.checkpoints.repos import act, checkpoints, git, repository

NUMBERS = "".join(f"{n}\n" for n in range(60))
LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"d"]), max_size=30).map(b"".join)


def by_path(changes: list[FileChange]) -> dict[str, FileChange]:
    return {change.path: change for change in changes}


def test_the_working_tree_differs_by_what_git_says(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", same="s\n", changed=NUMBERS, deleted="d\n", staged="1\n", d__mode="m\n")
    (root / "changed").write_text(NUMBERS.replace("30\n", "thirty\n"))
    (root / "deleted").unlink()
    (root / "staged").write_text("2\n")
    git(root, "add", "staged")
    (root / "d" / "mode").chmod(0o755)
    (root / "Größe").write_text("new\n")
    (root / "ignored").write_text("x\n")
    (root / ".gitignore").write_text("ignored\n")
    with ChangesView(tmp_path / "none", root) as view:
        found = by_path(view.of_worktree())
    git(root, "add", "-AN")
    said = git(root, "-c", "core.quotePath=false", "diff", "HEAD", "--name-only").splitlines()
    assert sorted(found) == sorted(said)
    text = "\n".join(line for path in ("changed", "deleted", "staged") for line in diff_lines(found[path]))
    patch = git(root, "diff", "HEAD", "--", "changed", "deleted", "staged")
    assert [x for x in text.splitlines() if x[:1] in "-+@ "] == [
        x.split(" @@")[0] + " @@" if x.startswith("@@") else x for x in patch.splitlines() if x[:1] in "-+@ "
    ]
    assert list(diff_lines(found["d/mode"]))[1:] == ["old mode 100644", "new mode 100755"]
    with ChangesView(tmp_path / "none", root / "d") as view:
        assert list(by_path(view.of_worktree())) == ["mode"]


def test_the_working_tree_of_a_repository_without_commits_is_all_new(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    (root / "a").write_text("1\n")
    with ChangesView(tmp_path / "none", root) as view:
        assert [(c.path, c.kind) for c in view.of_worktree()] == [("a", "created")]


def test_runs_and_the_session(tmp_path: Path) -> None:
    state = tmp_path / "state" / "pool"
    root = repository(tmp_path / "r", a=NUMBERS, b="1\n")
    (root / "binary").write_bytes(b"\x00\x01")
    (root / "a").write_text(NUMBERS + "mine\n")
    with checkpoints(state, root) as made:
        act(made, "r1", lambda: [(root / "a").write_text("0\n"), (root / "binary").write_bytes(b"\x00\x02\x03")])
        act(made, "r2", lambda: [(root / "a").write_text("00\n"), (root / "b").unlink(), (root / "c").write_text("n")])
        (root / "b").write_text("1\n")
        (root / "user").write_text("u\n")
        with ChangesView(state / "checkpoints" / "s1", root) as view:
            first, second, whole = by_path(view.of_runs({"r1"})), by_path(view.of_runs({"r2"})), view.of_session()
    assert first["a"].before == (NUMBERS + "mine\n").encode()
    assert first["a"].after == b"0\n"
    assert "Binary files differ: 2 bytes before, 3 bytes after" in list(diff_lines(first["binary"]))
    assert {p: c.kind.value for p, c in second.items()} == {"a": "modified", "b": "deleted", "c": "created"}
    assert [c.path for c in whole] == ["a", "binary", "c"]
    assert "\\ No newline at end of file" in list(diff_lines(second["c"]))


def test_single_hunks_are_taken_back_and_come_again(tmp_path: Path) -> None:
    state = tmp_path / "state" / "pool"
    root = repository(tmp_path / "r", a=NUMBERS)
    changed = NUMBERS.replace("5\n", "five\n", 1).replace("40\n", "forty\n")
    with checkpoints(state, root) as made:
        act(made, "r1", lambda: [(root / "a").write_text(changed), (root / "new").write_text("n\n")])
        with ChangesView(state / "checkpoints" / "s1", root) as view:
            changes = by_path(view.of_runs({"r1"}))
        change = changes["a"]
        assert len(change.hunks()) == 2
        assert not revert_hunks(made, change, [0]).failures
        assert (root / "a").read_text() == NUMBERS.replace("40\n", "forty\n")
        assert revert_hunks(made, change, [1]).failures
        assert not revert_hunks(made, changes["new"], [0]).failures
        assert not (root / "new").exists()
        redo = plan_redo(made)
        assert redo is not None
        assert [(s.path, s.now) for s in redo.steps] == [("new", None)]


@given(LINES, LINES)
def test_hunks_apply_and_are_taken_back(old: bytes, new: bytes) -> None:
    hunks = hunks_of(old, new)
    assert without(new, hunks, range(len(hunks))) == old
    assert without(new, hunks, []) == new
    assert bool(hunks) == (old != new)


def test_patches_are_those_that_patch_takes(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(NUMBERS)
    new = NUMBERS.replace("1\n", "eins\n").replace("59\n", "59")
    change = FileChange("f", NUMBERS.encode(), new.encode(), 0o100644, 0o100644)
    text = "\n".join(diff_lines(change)) + "\n"
    subprocess.run(
        ("git", "apply", "-p1", "-"), input=text.replace("diff --pool", "diff --git").encode(), cwd=tmp_path, check=True
    )
    assert (tmp_path / "f").read_text() == new
