"""Which files a repository keeps, told from indexes that git wrote."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pool_tools.gitindex import keeps
from pool_tools.secretfiles import HiddenFiles

KEPT = (".env", "a", "sub/.env", "sub/deep/one/more/.env", "sub/deep/x" + "y" * 200, "z ü\n")


def git(folder: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True)


def repository(folder: Path, *init: str) -> Path:
    git(folder, "init", "-q", *init)
    for name in KEPT:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    git(folder, "add", "-A")
    (folder / "other/.env").parent.mkdir()
    (folder / "other/.env").write_text("KEY=1")
    return folder


def kept(folder: Path) -> set[str]:
    return {name for name in (*KEPT, "other/.env", "su", "sub/.en", "nv") if keeps(folder / ".git", os.fsencode(name))}


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_every_version_of_an_index(tmp_path: Path, version: str, form: str) -> None:
    work = repository(tmp_path, f"--object-format={form}")
    git(work, "update-index", "--index-version", version)
    if version == "3":
        (work / "new").touch()
        git(work, "add", "--intent-to-add", "new")
    assert kept(work) == set(KEPT)


def test_a_split_index(tmp_path: Path) -> None:
    work = repository(tmp_path)
    git(work, "update-index", "--split-index")
    (work / "later").write_text("x")
    git(work, "add", "later")
    assert kept(work) == set(KEPT)


def test_what_was_added_while_it_was_hidden_is_still_a_secret(tmp_path: Path) -> None:
    """A command sees an empty file and can add that; the next session must not take it for public."""
    work = repository(tmp_path)
    secret = work / "other/.env"
    secret.write_text("")
    git(work, "add", "-A")
    secret.write_text("KEY=1")
    assert list(HiddenFiles(work)) == [secret]
    git(work, "update-index", "--index-version", "4")
    assert list(HiddenFiles(work)) == [secret]


@pytest.mark.parametrize("broken", ["cut", "empty", "pipe", "folder", "nowhere"])
def test_an_index_that_git_cannot_read_hides_more_not_less(tmp_path: Path, broken: str) -> None:
    work = repository(tmp_path)
    index = work / ".git/index"
    data = index.read_bytes()
    index.unlink()
    match broken:
        case "cut":
            index.write_bytes(data[:60])
        case "empty":
            index.touch()
        case "pipe":
            os.mkfifo(index)
        case "folder":
            index.mkdir()
        case _:
            (work / ".git").rename(work / "elsewhere")
            (work / ".git").write_text("gitdir: a\0b\n")
    assert set(HiddenFiles(work)) == {work / name for name in (".env", "sub/.env", "other/.env", KEPT[3])}
