"""`@` finds files and folders quickly, and as people type them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.facekit import fileindex
from pool.facekit.fileindex import FileIndex


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (
        "src/parser/reader.py",
        "src/reader_test.py",
        "docs/read me.md",
        "Makefile",
        "node_modules/x/reader.js",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / ".gitignore").write_text("node_modules\n")
    (tmp_path / ".git").mkdir()
    return tmp_path


@pytest.fixture(params=["ripgrep", "walking"])
def index(tree: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> FileIndex:
    if request.param == "walking":
        monkeypatch.setattr(fileindex, "_by_ripgrep", lambda workspace: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType] a stand-in for a machine without it
    made = FileIndex(tree)
    made.refresh()
    return made


def test_names_come_before_paths(index: FileIndex) -> None:
    assert index.match("reader") == ["src/reader_test.py", "src/parser/reader.py"]
    assert index.match("read")[0].endswith(("read me.md", "reader_test.py", "reader.py"))


def test_folders_are_offered_with_a_slash(index: FileIndex) -> None:
    assert "src/parser/" in index.match("parser")


def test_letters_in_order_are_enough(index: FileIndex) -> None:
    assert "src/parser/reader.py" in index.match("srdr")
    assert index.match("mkfl") == ["Makefile"]
    assert index.match("zzz") == []


def test_ignored_folders_are_left_out(index: FileIndex) -> None:
    assert not [p for p in index.match("") if "node_modules" in p]


def test_nothing_typed_shows_what_is_near(index: FileIndex) -> None:
    assert index.match("")[0] in (".gitignore", "Makefile", "docs/")
