"""Looks at a tree: what is told by the kernel and what a walk finds are the same, ignored folders are never entered."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pool.sessions.checkpoints import walk
from pool.sessions.checkpoints.checkpoints import Checkpoints
from pool.sessions.checkpoints.contents import Contents, Damaged, key_of
from pool.sessions.checkpoints.looks import Limits
from pool.sessions.checkpoints.notify import Watcher
from pool.sessions.checkpoints.undo import Verdict, carry_out, plan_undo
from tests.sessions.checkpoints.repos import act, checkpoints, git, repository, tree


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state" / "pool"


def moves(root: Path) -> dict[str, Callable[[], object]]:
    return {
        "a folder moves": lambda: (root / "d").rename(root / "e"),
        "and back, with a file in place": lambda: [(root / "e").rename(root / "d"), (root / "d" / "x").write_text("x")],
        "a folder is made deep": lambda: (root / "p" / "q" / "r").mkdir(parents=True),
        "and filled": lambda: (root / "p" / "q" / "r" / "f").write_text("f"),
        "replaced by a file": lambda: [shutil.rmtree(root / "p"), (root / "p").write_text("p")],
        "a mode": lambda: (root / "d" / "a").chmod(0o700),
        "same size, same time": lambda: same_times(root / "d" / "a", "B\n"),
        "a link to a folder": lambda: (root / "l").symlink_to("d"),
        "an ignore file": lambda: (root / ".gitignore").write_text("*.o\n"),
        "what it ignores": lambda: (root / "d" / "z.o").write_text("o"),
        "a repository inside": lambda: repository(root / "in", y="1\n"),
        "a file in it": lambda: (root / "in" / "y").write_text("2\n"),
        "a pipe": lambda: os.mkfifo(root / "fifo"),
        "no rights": lambda: [(root / "d" / "x").chmod(0), (root / "d" / "x").chmod(0o644)],
    }


def same_times(path: Path, text: str) -> None:
    found = path.stat()
    path.write_text(text)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def test_being_told_and_going_through_everything_find_the_same(tmp_path: Path, state: Path) -> None:
    found: list[list[list[str]]] = []
    for told in (True, False):
        root = repository(tmp_path / f"r{told}", d__a="A\n", b="b\n")
        with checkpoints(state, root, session=f"s{told}") as made:
            made.begin()
            if not told:
                made.tree.unwatch()
            before = tree(root)
            steps = [sorted(act(made, "r1", doing)) for doing in moves(root).values()]
            found.append(steps)
            (root / "fifo").unlink()
            assert not carry_out(made, plan_undo(made, ["r1"])).failures
            assert {k: v for k, v in tree(root).items() if not k.endswith(".o")} == before
    assert found[0] == found[1]
    assert found[0][6] == ["modified d/a"]
    assert found[0][9] == []


@pytest.mark.parametrize("seed", range(2))
def test_random_changes_are_all_found_and_undone(tmp_path: Path, state: Path, seed: int) -> None:
    root = repository(tmp_path / "r", **{f"d{n % 4}__f{n}": f"{n}\n" for n in range(24)})
    chance = random.Random(seed)
    before = tree(root)
    with checkpoints(state, root) as made:
        for n in range(12):
            made.before(f"r{n}", 1, "c")
            was = tree(root)
            for _ in range(chance.randrange(1, 6)):
                scramble(root, chance)
            found = {c.path for c in made.after().changes}
            now = tree(root)
            assert found == {p for p in was.keys() | now.keys() if was.get(p) != now.get(p)}
        assert not carry_out(made, plan_undo(made, {f"r{n}" for n in range(12)})).failures
    assert tree(root) == before


def scramble(root: Path, chance: random.Random) -> None:
    folder = root / f"d{chance.randrange(6)}"
    path = folder / f"f{chance.randrange(30)}"
    match chance.randrange(6):
        case 0 if folder.is_dir():
            shutil.rmtree(folder)
        case 1 if folder.is_dir():
            other = root / f"d{chance.randrange(6)}"
            if not other.exists():
                folder.rename(other)
        case 2 if path.exists():
            path.unlink()
        case 3 if path.exists() and not path.is_symlink():
            path.chmod(chance.choice((0o644, 0o755)))
        case 4:
            folder.mkdir(exist_ok=True)
            path.unlink(missing_ok=True)
            path.symlink_to("nowhere")
        case _:
            folder.mkdir(exist_ok=True)
            path.unlink(missing_ok=True)
            path.write_text(f"{chance.random()}\n")


def test_git_01_ignored_folders_are_not_entered_and_too_many_files_are_said(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "r", a="1\n")
    (root / ".gitignore").write_text("build/\n")
    for n in range(30):
        for top in ("build", "node_modules", "loose"):
            (root / top / str(n)).mkdir(parents=True)
            (root / top / str(n) / "f").write_text("x\n")
    listed: list[str] = []
    real = os.open

    def opened(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        listed.append(str(path))
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(walk.os, "open", opened)
    with checkpoints(state, root, Limits(untracked=20)) as made:
        taken = made.before("r1", 1, "c")
        assert "build" not in listed
        assert "node_modules" not in listed
        assert taken.skipped.named == [".: more than 20 untracked files: only what tools write is kept of them"]
        (root / "a").write_text("2\n")
        (root / "loose" / "0" / "f").write_text("y\n")
        assert [c.path for c in made.after().changes] == ["a"]


def test_changes_between_two_sessions_of_pool_are_the_users(tmp_path: Path, state: Path) -> None:
    root = repository(tmp_path / "r", a="1\n", b="1\n")
    with checkpoints(state, root) as made:
        act(made, "r1", lambda: [(root / "a").write_text("2\n"), (root / "b").write_text("2\n")])
    (root / "a").write_text("mine\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "mine")
    with checkpoints(state, root) as made:
        act(made, "r2", lambda: (root / "a").write_text("3\n"))
        verdicts = {s.path: s.verdict for s in plan_undo(made, ["r1", "r2"]).steps}
        assert verdicts == {"a": Verdict.YOURS, "b": Verdict.RESTORE}
        carry_out(made, plan_undo(made, ["r2"]))
    assert (root / "a").read_text() == "mine\n"


def test_a_lost_count_means_that_everything_is_looked_at(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "r", a="1\n")
    with checkpoints(state, root) as made:
        made.begin()
        real = Watcher.take

        def lost(watcher: Watcher) -> object:
            touched = real(watcher)
            touched.files.clear()
            touched.everything = True
            return touched

        monkeypatch.setattr(Watcher, "take", lost)
        assert act(made, "r1", lambda: (root / "a").write_text("2\n")) == ["modified a"]


def test_damage_and_torn_ends_of_what_is_kept(tmp_path: Path, state: Path) -> None:
    folder = state / "checkpoints" / "s1"
    root = repository(tmp_path / "r", a="1\n")
    with checkpoints(state, root) as made:
        act(made, "r1", lambda: (root / "a").write_text("2\n"))
    for name in ("journal", "contents"):
        with (folder / name).open("ab") as file:
            file.write(b'{"type":"opened","n":' if name == "journal" else b"c00 5 900\nxx")
    with checkpoints(state, root) as made:
        carry_out(made, plan_undo(made, ["r1"]))
    assert (root / "a").read_text() == "1\n"
    assert all(p.stat().st_mode & 0o077 == 0 for p in (folder, *folder.iterdir()))
    data = bytearray((folder / "contents").read_bytes())
    data[-3] ^= 0xFF
    (folder / "contents").write_bytes(data)
    (folder / "base").write_bytes(b"pool tree 1\nnonsense")
    contents = Contents(folder / "contents")
    with pytest.raises(Damaged):
        contents.get(key_of(b"2\n"))
    contents.close()
    Checkpoints(folder, root).close()


def test_a_session_that_moves_to_another_folder_keeps_both_apart(tmp_path: Path, state: Path) -> None:
    first, second = repository(tmp_path / "r1", a="1\n"), repository(tmp_path / "r2", a="1\n", b="1\n")
    with checkpoints(state, first) as made:
        act(made, "r1", lambda: (first / "a").write_text("2\n"))
    with checkpoints(state, second) as made:
        assert act(made, "r2", lambda: (second / "b").write_text("2\n")) == ["modified b"]
        assert [s.path for s in plan_undo(made, ["r1", "r2"]).steps] == ["b"]
    with checkpoints(state, first) as made:
        carry_out(made, plan_undo(made, ["r1", "r2"]))
    assert (first / "a").read_text() == "1\n"


def test_too_many_new_files_at_once_are_said_and_left(tmp_path: Path, state: Path) -> None:
    root = repository(tmp_path / "r", a="1\n")
    with checkpoints(state, root, Limits(copied_files=3)) as made:
        made.before("r1", 1, "c")
        for n in range(5):
            (root / f"new{n}").write_text(f"new {n}\n")
        look = made.after()
        assert len(look.changes) == 5
        assert look.skipped.count == 2
        plan = plan_undo(made, ["r1"])
        assert sorted(s.verdict for s in plan.steps) == [Verdict.LOST] * 2 + [Verdict.RESTORE] * 3
