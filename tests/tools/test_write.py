from __future__ import annotations

import asyncio
import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pool_tools import Effect
from pool_tools.atomic import replace_file
from pool_tools.blocking import CancelFlag, Cancelled, run_blocking
from pool_tools.edit import EditTool, ToolError
from pool_tools.workspace import Workspace

from .conftest import Desk


async def test_bytes_are_exactly_the_argument(desk: Desk) -> None:
    content = "a\r\nb\tc \n\u2028é🚀 no end"
    done = await desk.call("write", path="new/sub/a.txt", content=content)
    assert desk.bytes_of("new/sub/a.txt") == content.encode()
    assert [(c.path, c.kind) for c in done.changes] == [("new/sub/a.txt", "created")]


async def test_an_existing_file_must_have_been_seen_whole(desk: Desk) -> None:
    desk.file("a.txt", "".join(f"line {i}\n" for i in range(2000)))
    assert "has not been read" in await desk.refused("write", path="a.txt", content="x")
    await desk.call("read", path="a.txt", limit=500)
    assert "only a part" in await desk.refused("write", path="a.txt", content="x")
    await desk.call("read", path="a.txt", offset=501, limit=800)
    await desk.call("read", path="a.txt", offset=1301, limit=700)
    await desk.call("write", path="a.txt", content="x")
    assert desk.bytes_of("a.txt") == b"x"


async def test_a_refusal_counts_as_reading_when_it_shows_all(desk: Desk) -> None:
    desk.file("a.txt", "one\n")
    assert "1|one" in await desk.refused("write", path="a.txt", content="x")
    await desk.call("write", path="a.txt", content="x")
    assert desk.bytes_of("a.txt") == b"x"


async def test_a_big_file_is_not_shown_by_the_refusal(desk: Desk) -> None:
    desk.file("a.txt", "".join(f"line {i}\n" for i in range(2000)))
    said = await desk.refused("write", path="a.txt", content="x")
    assert "Read it before" in said
    assert len(said) < 300
    await desk.refused("write", path="a.txt", content="x")


async def test_mode_and_link_stay(desk: Desk) -> None:
    desk.file("real.sh", "").chmod(0o750)
    os.symlink("real.sh", desk.folder / "link.sh")
    await desk.call("write", path="link.sh", content="#!/bin/sh\n")
    assert (desk.folder / "link.sh").is_symlink()
    assert (desk.folder / "real.sh").stat().st_mode & 0o777 == 0o750
    assert desk.bytes_of("real.sh") == b"#!/bin/sh\n"


async def test_what_changes_besides_the_words_is_told(desk: Desk) -> None:
    desk.file("a.ini", "größe = 1\r\n".encode("cp1252"))
    await desk.call("read", path="a.ini")
    done = await desk.call("write", path="a.ini", content="größe = 2\n")
    assert "cp1252" in done.text
    assert "CR LF" in done.text


async def test_binary_files_are_not_overwritten(desk: Desk) -> None:
    desk.file("a.png", b"\x89PNG\r\n\x1a\n\0\0")
    assert "PNG image" in await desk.refused("write", path="a.png", content="x")


async def test_same_content_is_no_change(desk: Desk) -> None:
    desk.file("a.txt", "one\n")
    assert "No change" in await desk.refused("write", path="a.txt", content="one\n")


async def test_previews_show_the_diff_and_write_nothing(desk: Desk) -> None:
    desk.file("a.py", "x = 1\ny = 2\n")
    tools = {t.spec.name: t for t in desk.toolbox.tools}
    edit = tools["edit"].preview({"path": "a.py", "old_text": "x = 1", "new_text": "x = 3"})
    assert (edit.kind, edit.paths) == ("diff", ("a.py",))
    assert "-x = 1\n+x = 3" in edit.body
    new = tools["write"].preview({"path": "b.py", "content": "z\n"})
    assert new.title == "Create b.py"
    assert "+z" in new.body
    assert sorted(os.listdir(desk.folder)) == ["a.py"]
    assert desk.bytes_of("a.py") == b"x = 1\ny = 2\n"
    command = tools["shell"].preview({"command": "echo a\nrm \x1b[2K\u202e-rf x"})
    assert (command.kind, command.body) == ("command", "echo a\nrm \\x1b[2K\\u202e-rf x")
    assert tools["edit"].spec.effect is Effect.WRITE


@pytest.fixture
def small_files() -> Iterator[None]:
    """Files of this process can hold 10 kB: writing more fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.usefixtures("small_files")
async def test_a_write_that_fails_half_way_leaves_all_as_it_was(desk: Desk) -> None:
    desk.file("a.txt", "one\n")
    await desk.call("read", path="a.txt")
    said = await desk.refused("write", path="a.txt", content="x" * 20_000)
    assert "Nothing was changed" in said
    assert desk.bytes_of("a.txt") == b"one\n"
    assert os.listdir(desk.folder) == ["a.txt"]


def test_cancelled_before_the_commit_point(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    flag = CancelFlag()
    flag.set()
    handle = os.open(folder, os.O_RDONLY)
    with pytest.raises(Cancelled):
        replace_file(handle, "a.txt", b"two\n", None, flag)
    os.close(handle)
    assert (folder / "a.txt").read_text() == "one\n"
    assert os.listdir(folder) == ["a.txt"]


async def test_cancelling_waits_for_the_thread() -> None:
    steps: list[str] = []

    def work(flag: CancelFlag) -> None:
        while not flag.is_set():
            pass
        steps.append("stopped")

    task = asyncio.ensure_future(run_blocking(work))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert steps == ["stopped"]


async def test_a_file_changed_at_the_last_moment_is_not_replaced(desk: Desk) -> None:
    path = desk.file("a.txt", "one\n")
    with desk.workspace.locate("a.txt") as place:
        before = desk.workspace.read(place).stat
        path.write_text("by another\n")
        with pytest.raises(ToolError, match="changed by something else"):
            desk.workspace.replace(place, b"two\n", before, CancelFlag())
    with desk.workspace.locate("b.txt") as place:
        desk.file("b.txt", "by another\n")
        with pytest.raises(ToolError, match="changed by something else"):
            desk.workspace.replace(place, b"two\n", None, CancelFlag())


LINES = st.sampled_from(["alpha", "  beta", "\tgamma", "größe", "設定", "naïve", "", "x = 1  "])
ENDS = st.sampled_from(["\n", "\r\n"])
CODECS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp932", "latin-1"])


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, bytes, str]:
    """Bytes before and after a marked line, and the encoding, in a file of mixed line ends."""
    codec = draw(CODECS)
    words = LINES.filter(lambda word: word.encode(codec, "ignore").decode(codec) == word)
    lines = draw(st.lists(st.tuples(words, ENDS), max_size=12))
    at = draw(st.integers(0, len(lines)))
    before, after = ("".join(w + e for w, e in part) for part in (lines[:at], lines[at:]))
    plain = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}.get(codec, codec)
    mark = {"utf-8-sig": b"\xef\xbb\xbf", "utf-16": b"\xff\xfe"}.get(codec, b"")
    return mark + before.encode(plain), after.encode(plain), plain


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(files(), st.binary(min_size=0, max_size=3).filter(lambda b: b"\0" not in b))
def test_bytes_outside_the_change_never_move(tmp_path: Path, parts: tuple[bytes, bytes, str], stray: bytes) -> None:
    before, after, codec = parts
    if codec == "utf-8":
        after += stray
    path = tmp_path / "file.txt"
    path.write_bytes(before + "the marker line\r\n".encode(codec) + after)
    path.chmod(0o640)
    workspace = Workspace(tmp_path)
    args = {"path": "file.txt", "old_text": "the marker line", "new_text": "something else"}
    asyncio.run(EditTool(workspace).run(args, print))
    workspace.close()
    assert path.read_bytes() == before + "something else\r\n".encode(codec) + after
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["file.txt"]
