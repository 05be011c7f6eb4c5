"""Paths: nothing leads out of the workspace, and what is no file is refused at once."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool_tools import ToolError
from pool_tools.workspace import Workspace

from .conftest import Desk

SWAPS_SECONDS = 1.0


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "outside.txt"
    path.write_text("secret\n")
    return path


@pytest.mark.parametrize(
    "path", ["../outside.txt", "sub/../../outside.txt", "{outside}", "/etc/passwd", "//etc/passwd"]
)
async def test_paths_out_of_the_workspace(desk: Desk, outside: Path, path: str) -> None:
    desk.file("sub/x")
    path = path.format(outside=outside)
    assert "outside the workspace" in await desk.refused("read", path=path)
    assert "outside the workspace" in await desk.refused("write", path=path, content="x")
    assert "outside the workspace" in await desk.refused("edit", path=path, old_text="secret", new_text="x")
    assert outside.read_text() == "secret\n"


@pytest.mark.parametrize("target", ["../outside.txt", "{outside}", "sub/../../outside.txt"])
async def test_links_out_of_the_workspace(desk: Desk, outside: Path, target: str) -> None:
    desk.file("sub/x")
    os.symlink(target.format(outside=outside), desk.folder / "link")
    assert "outside the workspace" in await desk.refused("read", path="link")
    assert "outside the workspace" in await desk.refused("edit", path="link", old_text="secret", new_text="x")
    assert "outside the workspace" in await desk.refused("write", path="link", content="x")
    assert outside.read_text() == "secret\n"


async def test_linked_folder_out_of_the_workspace(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    os.symlink(tmp_path / "home", desk.folder / "link")
    for name, args in (("write", {"path": "link/.bashrc", "content": "x"}), ("list", {"path": "link"})):
        assert "outside the workspace" in await desk.refused(name, **args)
    assert os.listdir(tmp_path / "home") == []


async def test_links_inside_are_followed(desk: Desk) -> None:
    desk.file("real/a.txt", "here\n")
    os.symlink(desk.folder / "real", desk.folder / "absolute")
    os.symlink("../real", desk.folder / "real/relative")
    for path in ("absolute/a.txt", "real/relative/a.txt", "absolute/../real/a.txt", f"{desk.folder}/absolute/a.txt"):
        assert (await desk.call("read", path=path)).text == "1|here"


async def test_a_root_reached_by_a_link_is_known_by_both_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.txt").write_text("x")
    os.symlink("real", tmp_path / "alias")
    workspace = Workspace(tmp_path / "alias")
    for path in (tmp_path / "alias/a.txt", tmp_path / "real/a.txt"):
        with workspace.locate(str(path)) as place:
            assert place.relative == "a.txt"
    workspace.close()


async def test_extra_roots_are_named_by_absolute_paths(tmp_path: Path) -> None:
    for name in ("main", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "other/a.txt").write_text("x")
    workspace = Workspace(tmp_path / "main", [tmp_path / "other"])
    with workspace.locate(str(tmp_path / "other/a.txt")) as place:
        assert workspace.shown(place) == str(tmp_path / "other/a.txt")
    workspace.close()


async def test_pipes_sockets_and_devices_are_refused_at_once(desk: Desk) -> None:
    os.mkfifo(desk.folder / "pipe")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(desk.folder / "socket"))
    began = time.monotonic()
    for name, kind in (("pipe", "a named pipe"), ("socket", "a socket")):
        for tool, args in (("read", {}), ("write", {"content": "x"}), ("edit", {"old_text": "a", "new_text": "b"})):
            assert f"{name} is {kind}" in await desk.refused(tool, path=name, **args)
    assert time.monotonic() - began < 1
    server.close()


async def test_the_kernels_folders_are_no_workspace() -> None:
    workspace = Workspace(Path("/"))
    for path in ("/proc/self/environ", "dev/zero", "/sys/kernel"):
        with pytest.raises(ToolError, match="kernel"):
            workspace.locate(path)
    workspace.close()


@pytest.mark.parametrize("path", ["a\nb", "a\x1b[31m", "a\0b", "a\u202eb", "", "  ", "~/x", "~"])
async def test_names_that_are_refused(desk: Desk, path: str) -> None:
    said = await desk.refused("write", path=path, content="x")
    assert not set(said) & set("\x1b\n\0\u202e")
    assert os.listdir(desk.folder) == []


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", ".GIT/config", "sub/.git/config", "link/config", ".git"])
async def test_gits_own_files_are_not_written(desk: Desk, path: str) -> None:
    desk.file(".git/config", "[core]\n")
    os.symlink(".git", desk.folder / "link")
    assert "belongs to git" in await desk.refused("write", path=path, content="x")


@pytest.mark.parametrize(
    ("there", "path"),
    [
        (("HEAD", "objects/a", "refs/a"), "config"),
        (("HEAD", "objects/a", "refs/a"), "hooks/post-checkout"),
        (("HEAD", "commondir"), "config.worktree"),
        (("HEAD", "objects/a"), "refs/heads/main"),
        (("HEAD", "refs/a"), "Objects/pack/a"),
        (("objects/a", "refs/a", "config"), "HEAD"),
        (("HEAD",), "commondir"),
    ],
)
@pytest.mark.parametrize("below", ["", "sub/bare/"])
async def test_no_repository_is_made_or_changed_that_has_no_git_folder(
    desk: Desk, below: str, there: tuple[str, ...], path: str
) -> None:
    for name in there:
        desk.file(below + name)
    assert "belongs to git" in await desk.refused("write", path=below + path, content="x")


@pytest.mark.parametrize("path", ["config", "HEAD", "objects/a", "refs/a", "hooks/use.ts", "commondir"])
async def test_names_that_git_uses_too_are_no_repository(desk: Desk, path: str) -> None:
    desk.file("config/settings.py" if path != "config" else "other/a")
    desk.file("objects/b")
    await desk.call("write", path=path, content="x")


async def test_missing_files_name_what_is_near(desk: Desk) -> None:
    desk.file("src/parser.py")
    assert "There is: src/parser.py." in await desk.refused("read", path="src/parsre.py")
    assert "Neither does its folder scr" in await desk.refused("read", path="scr/parser.py")
    assert "does not exist" in await desk.refused("edit", path="x.py", old_text="a", new_text="b")


async def test_hard_links_outside_keep_their_content(desk: Desk, outside: Path) -> None:
    os.link(outside, desk.folder / "linked.txt")
    done = await desk.call("edit", path="linked.txt", old_text="secret", new_text="open")
    assert "hard links" in done.text
    assert outside.read_text() == "secret\n"
    assert desk.bytes_of("linked.txt") == b"open\n"


def test_a_link_swapped_in_between_never_leads_out(folder: Path, outside: Path) -> None:
    """The folder of a path is replaced by a link out and back, as fast as possible, while files are read."""
    (folder / "a").mkdir()
    (folder / "a/outside.txt").write_text("inside\n")
    workspace = Workspace(folder)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(folder / "a", folder / "b")
            os.symlink("..", folder / "a")
            os.unlink(folder / "a")
            os.rename(folder / "b", folder / "a")

    thread = threading.Thread(target=swap)
    thread.start()
    read: set[bytes] = set()
    end = time.monotonic() + SWAPS_SECONDS
    while time.monotonic() < end:
        try:
            with workspace.locate("a/outside.txt") as place:
                read.add(workspace.read(place).data)
        except ToolError:
            continue
    stop.set()
    thread.join()
    workspace.close()
    assert read == {b"inside\n"}


NAMES = st.sampled_from(["a", "b", "..", ".", "", "link", "up", "out", "file", "loop", "deep"])


@settings(max_examples=300)
@given(st.lists(NAMES, min_size=1, max_size=8).map("/".join))
def test_every_path_that_is_found_is_where_the_system_finds_it(tree: Path, path: str) -> None:
    """The walk agrees with the kernel's own resolution, and refuses whatever the kernel resolves to outside."""
    workspace = Workspace(tree)
    path = path.lstrip("/")
    try:
        with workspace.locate(path) as place:
            real = os.path.realpath(tree / path)
            assert place.real == real
            assert (place.stat is not None) == os.path.exists(tree / path)
            assert real == str(tree) or real.startswith(f"{tree}/")
    except ToolError:
        pass
    finally:
        workspace.close()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree") / "root"
    (root / "a/b/deep").mkdir(parents=True)
    (root / "file").write_text("x")
    (root / "a/file").write_text("x")
    os.symlink("a/b", root / "link")
    os.symlink("..", root / "a/up")
    os.symlink("../..", root / "out")
    os.symlink("loop", root / "loop")
    os.symlink(root / "a", root / "a/b/link")
    return root
