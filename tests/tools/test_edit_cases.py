"""The edit tool against faults that other agents were reported for; each test bears the name of its case."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Desk

BLOCK = "begin\n  same\nend"


async def test_edit_01_crlf_file_with_lf_in_the_old_text(desk: Desk) -> None:
    desk.file("a.txt", b"one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n")
    await desk.call("read", path="a.txt")
    await desk.call("edit", path="a.txt", old_text="two\nthree", new_text="TWO\nTHREE")
    assert desk.bytes_of("a.txt") == b"one\r\nTWO\r\nTHREE\r\nfour\r\nfive\r\n"
    await desk.call("edit", path="a.txt", old_text="TWO\r\nTHREE", new_text="2\r\nnew\r\n3")
    assert desk.bytes_of("a.txt") == b"one\r\n2\r\nnew\r\n3\r\nfour\r\nfive\r\n"
    await desk.call("edit", path="a.txt", old_text="five", new_text="5\nsix")
    assert desk.bytes_of("a.txt") == b"one\r\n2\r\nnew\r\n3\r\nfour\r\n5\r\nsix\r\n"


async def test_edit_02_byte_order_mark_is_kept(desk: Desk) -> None:
    desk.file("a.ini", b"\xef\xbb\xbf" + 'größe = "ä"\nport = 1\n'.encode())
    shown = await desk.call("read", path="a.ini")
    assert "\ufeff" not in shown.text
    await desk.call("edit", path="a.ini", old_text="port = 1", new_text="port = 2")
    await desk.call("edit", path="a.ini", old_text='größe = "ä"', new_text='größe = "ö"')
    assert desk.bytes_of("a.ini") == b"\xef\xbb\xbf" + 'größe = "ö"\nport = 2\n'.encode()


async def test_edit_03_byte_that_is_not_utf8_far_from_the_edit(desk: Desk) -> None:
    desk.file("a.ini", b"title = na\xefve\nport = 1\n")
    shown = await desk.call("read", path="a.ini")
    assert "naïve" in shown.text
    await desk.call("edit", path="a.ini", old_text="port = 1", new_text="port = 2")
    assert desk.bytes_of("a.ini") == b"title = na\xefve\nport = 2\n"


async def test_edit_03_stray_byte_in_utf8(desk: Desk) -> None:
    desk.file("a.ini", "größe = ä\n".encode() + b"x = \xff\nport = 1\n")
    shown = await desk.call("read", path="a.ini")
    assert "3|port" in shown.text
    assert "x = \\xff" in shown.text
    await desk.call("edit", path="a.ini", old_text="port = 1", new_text="port = ü")
    assert desk.bytes_of("a.ini") == "größe = ä\n".encode() + b"x = \xff\nport = \xc3\xbc\n"


async def test_edit_04_shift_jis_stays_shift_jis(desk: Desk) -> None:
    desk.file("a.ini", b"\x90\xdd\x92\xe8\x3d\x31\x0a")
    assert "設定=1" in (await desk.call("read", path="a.ini")).text
    await desk.call("edit", path="a.ini", old_text="設定=1\n", new_text="設定=1\n名前=2\n")
    assert desk.bytes_of("a.ini").decode("shift_jis") == "設定=1\n名前=2\n"
    before = desk.bytes_of("a.ini")
    assert "U+1F680" in await desk.refused("edit", path="a.ini", old_text="名前=2", new_text="名前=🚀")
    assert desk.bytes_of("a.ini") == before


async def test_edit_05_straight_quotes_for_curly_ones(desk: Desk) -> None:
    desk.file("a.txt", "Don’t say “never”.\nAnd “always” neither.\n")
    await desk.call("read", path="a.txt")
    done = await desk.call("edit", path="a.txt", old_text='Don\'t say "never".', new_text='Don\'t say "seldom".')
    assert desk.bytes_of("a.txt").decode() == "Don’t say “seldom”.\nAnd “always” neither.\n"
    assert "quotes" in done.text


async def test_edit_05_straight_quotes_in_new_code_stay_straight(desk: Desk) -> None:
    desk.file("a.py", "import re\nP = None\n")
    new = 'P = re.compile("[\'\\"]")'
    await desk.call("edit", path="a.py", old_text="P = None", new_text=new)
    assert desk.bytes_of("a.py").decode() == f"import re\n{new}\n"


async def test_edit_06_tabs_elsewhere_survive(desk: Desk) -> None:
    makefile = "CC = gcc\n\nall:\n\t$(CC) -c a.c\n\t@echo ok\n"
    desk.file("Makefile", makefile)
    await desk.call("edit", path="Makefile", old_text="CC = gcc", new_text="CC = clang")
    assert desk.bytes_of("Makefile").decode() == makefile.replace("gcc", "clang")


async def test_edit_07_blanks_sent_for_tabs(desk: Desk) -> None:
    text = "func main() {\n\tif ok {\n\t\trun()\n\t}\n}\n\nfunc other() {\n\tstop()\n}\n"
    desk.file("a.go", text)
    await desk.call("read", path="a.go")
    done = await desk.call(
        "edit",
        path="a.go",
        old_text="    if ok {\n        run()\n    }",
        new_text="    if ok {\n        walk()\n        if far {\n            rest()\n        }\n    }",
    )
    assert desk.bytes_of("a.go").decode() == text.replace("run()\n", "walk()\n\t\tif far {\n\t\t\trest()\n\t\t}\n")
    assert "indentation" in done.text
    assert done.data["step"] == "indentation"


async def test_edit_08_text_that_occurs_three_times(desk: Desk) -> None:
    lines = [f"line {i}" for i in range(1, 100)]
    for at in (4, 40, 90):
        lines[at - 1 : at + 2] = BLOCK.split("\n")
    text = "\n".join(lines) + "\n"
    desk.file("a.txt", text)
    await desk.call("read", path="a.txt")
    said = await desk.refused("edit", path="a.txt", old_text=BLOCK, new_text="begin\n  other\nend")
    assert "lines 4, 40 and 90" in said
    assert desk.bytes_of("a.txt").decode() == text
    done = await desk.call("edit", path="a.txt", old_text=BLOCK, new_text="begin\n  other\nend", all=True)
    assert desk.bytes_of("a.txt").decode() == text.replace("same", "other")
    assert done.data["lines"] == [4, 40, 90]


async def test_edit_09_empty_and_equal_texts(desk: Desk) -> None:
    desk.file("a.txt", "one\ntwo\n")
    await desk.call("read", path="a.txt")
    assert "empty" in await desk.refused("edit", path="a.txt", old_text="", new_text="NEW")
    assert "No change" in await desk.refused("edit", path="a.txt", old_text="one", new_text="one")
    assert "No change" in await desk.refused("edit", path="a.txt", old_text="gone", new_text="gone")
    assert desk.bytes_of("a.txt") == b"one\ntwo\n"


async def test_edit_10_no_match_shows_the_nearest_place(desk: Desk) -> None:
    lines = [f"value_{i} = compute({i})" for i in range(60)]
    desk.file("a.py", "\n".join(lines) + "\n")
    await desk.call("read", path="a.py")
    old = lines[5:45]
    old[20] = "value_25 = derive(25)"
    said = await desk.refused("edit", path="a.py", old_text="\n".join(old), new_text="pass")
    assert "line 26 of the file: value_25 = compute(25)" in said
    assert "derive(25)" in said
    assert "26|value_25 = compute(25)" in said
    assert desk.bytes_of("a.py").decode() == "\n".join(lines) + "\n"


async def test_edit_10_first_and_last_line_are_no_anchors(desk: Desk) -> None:
    lines = ["start"] + [f"work({i})" for i in range(188)] + ["stop"]
    text = "\n".join(["start", "stop", *lines, "start", "stop"]) + "\n"
    desk.file("a.py", text)
    await desk.call("read", path="a.py")
    await desk.refused("edit", path="a.py", old_text="start\nother()\nstop", new_text="x")
    assert desk.bytes_of("a.py").decode() == text


async def test_edit_11_changed_by_the_user_since_the_read(desk: Desk) -> None:
    path = desk.file("a.py", "x = 1\n")
    await desk.call("read", path="a.py")
    path.write_text("x = 1\ny = 2  # by the user\n")
    said = await desk.refused("write", path="a.py", content="x = 3\n")
    assert "changed since" in said
    assert "2|y = 2  # by the user" in said
    await desk.call("write", path="a.py", content="x = 3\n")
    assert desk.bytes_of("a.py") == b"x = 3\n"


async def test_edit_11_edit_of_a_changed_file(desk: Desk) -> None:
    path = desk.file("a.py", "x = 1\n")
    await desk.call("read", path="a.py")
    path.write_text("x = 1\ny = 2\n")
    assert "2|y = 2" in await desk.refused("edit", path="a.py", old_text="x = 1", new_text="x = 3")
    assert path.read_text() == "x = 1\ny = 2\n"
    await desk.call("edit", path="a.py", old_text="x = 1", new_text="x = 3")
    assert path.read_text() == "x = 3\ny = 2\n"


async def test_edit_11_touched_but_not_changed_is_not_foreign(desk: Desk) -> None:
    path = desk.file("a.py", "x = 1\n")
    await desk.call("read", path="a.py")
    os.utime(path, (1, 1))
    await desk.call("edit", path="a.py", old_text="x = 1", new_text="x = 3")
    assert path.read_text() == "x = 3\n"


async def test_edit_12_own_edits_are_not_foreign(desk: Desk) -> None:
    desk.file("a.py", "x = 1\ny = 2\n")
    await desk.call("read", path="a.py")
    await desk.call("edit", path="a.py", old_text="x = 1", new_text="x = 10")
    await desk.call("edit", path="a.py", old_text="y = 2", new_text="y = 20")
    await desk.call("write", path="a.py", content="z = 3\n")
    assert desk.bytes_of("a.py") == b"z = 3\n"


@pytest.mark.parametrize("target", ["real.md", "{folder}/real.md", "sub/../real.md", "hop.md"])
async def test_edit_13_link_inside_the_workspace(desk: Desk, target: str) -> None:
    desk.file("real.md", "alpha\nbeta\n")
    desk.file("sub/x")
    os.symlink("real.md", desk.folder / "hop.md")
    os.symlink(target.format(folder=desk.folder), desk.folder / "link.md")
    await desk.call("read", path="link.md")
    await desk.call("edit", path="link.md", old_text="alpha", new_text="ALPHA")
    assert (desk.folder / "link.md").is_symlink()
    assert not (desk.folder / "real.md").is_symlink()
    assert desk.bytes_of("real.md") == b"ALPHA\nbeta\n"


async def test_edit_13_dangling_link_and_circle(desk: Desk) -> None:
    os.symlink("nowhere.md", desk.folder / "dangling.md")
    os.symlink("p", desk.folder / "q")
    os.symlink("q", desk.folder / "p")
    for name, word in (("dangling.md", "does not exist"), ("p", "circle")):
        assert word in await desk.refused("read", path=name)
        assert word in await desk.refused("write", path=name, content="x\n")
        assert word in await desk.refused("edit", path=name, old_text="a", new_text="b")
        assert (desk.folder / name).is_symlink()
    assert not (desk.folder / "nowhere.md").exists()


async def test_edit_14_mode_survives_and_nothing_is_left(desk: Desk) -> None:
    path = desk.file("run.sh", "#!/bin/sh\necho one\n")
    path.chmod(0o755)
    await desk.call("edit", path="run.sh", old_text="one", new_text="two")
    assert path.stat().st_mode & 0o7777 == 0o755
    assert os.listdir(desk.folder) == ["run.sh"]


async def test_edit_14_write_protected_file(desk: Desk) -> None:
    path = desk.file("a.txt", "one\n")
    path.chmod(0o444)
    assert "write-protected" in await desk.refused("edit", path="a.txt", old_text="one", new_text="two")
    assert path.read_text() == "one\n"


@pytest.mark.skipif(not shutil.which("bwrap"), reason="makes a folder read-only by bubblewrap")
def test_edit_14_folder_that_cannot_be_written(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    script = (
        "import asyncio, sys, pathlib\n"
        "from pool_tools.edit import EditTool, ToolError\n"
        "from pool_tools.workspace import Workspace\n"
        "tool = EditTool(Workspace(pathlib.Path(sys.argv[1])))\n"
        "try:\n"
        "    asyncio.run(tool.run(dict(path='a.txt', old_text='one', new_text='two'), print))\n"
        "except ToolError as error:\n"
        "    print('refused:', error)\n"
    )
    bwrap = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(folder), str(folder)]
    paths = os.pathsep.join(sys.path)
    done = subprocess.run(
        [*bwrap, sys.executable, "-c", script, str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    if "bwrap:" in done.stderr:
        pytest.skip(done.stderr)
    assert done.stdout.startswith("refused: a.txt cannot be written: Read-only file system. Nothing was changed.")
    assert (folder / "a.txt").read_text() == "one\n"
    assert os.listdir(folder) == ["a.txt"]
