"""Reading and searching against faults that other agents were reported for; each test bears the name of its case."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from pool_tools.search import SearchTool

from .conftest import Desk

LONG_LINE_BYTES = 3_000_000
CAPPED_CHARS = 40_000


async def test_file_01_three_megabytes_on_one_line(desk: Desk) -> None:
    desk.file("big.json", '{"k":[' + "1," * (LONG_LINE_BYTES // 2) + '"needle"]}')
    shown = await desk.call("read", path="big.json")
    assert len(shown.text) < CAPPED_CHARS
    assert "characters of this line" in shown.text
    assert shown.data["truncated"]
    hit = await desk.call("search", pattern="needle")
    assert len(hit.text) < CAPPED_CHARS
    assert "needle" in hit.text
    assert "only a part" in await desk.refused("write", path="big.json", content="{}")


async def test_file_02_binary_files_are_named_not_dumped(desk: Desk) -> None:
    desk.file("notes.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10\x08\x06\0\0\0" + bytes(range(256)) * 40)
    desk.file("program", Path("/bin/sh").resolve().read_bytes()[:20_000])
    with zipfile.ZipFile(desk.folder / "z", "w") as archive:
        archive.writestr("inner", "text " * 1000)
    for name, kind in (("notes.txt", "PNG image, 10.3 kB"), ("program", "ELF"), ("z", "ZIP archive")):
        said = await desk.refused("read", path=name)
        assert kind in said
        assert "IHDR" not in said
        assert "\ufffd" not in said


async def test_file_03_names_and_arguments_are_valid_unicode(desk: Desk) -> None:
    desk.file(os.fsdecode(b"n\xff.txt"), "odd name\n")
    for name, args in (("list", {}), ("search", {"pattern": "odd"}), ("read", {"path": "n\\xff.txt"})):
        result = await desk.call(name, **args)
        json.dumps([result.text, result.data], ensure_ascii=False).encode()
        assert "n\\xff.txt" in result.text + result.data.get("path", "")
    assert "odd name" in (await desk.call("read", path="n\\xff.txt")).text
    said = await desk.refused("write", path="s.txt", content="x\ud83dy")
    said.encode()
    assert "surrogate" in said
    assert not (desk.folder / "s.txt").exists()
    await desk.call("write", path="r.txt", content="\ud83d\ude80")
    assert desk.bytes_of("r.txt") == "🚀".encode()


@pytest.mark.parametrize("search_path", [os.environ["PATH"], ""])
async def test_file_04_dependency_folders_and_a_link_to_the_root(desk: Desk, search_path: str) -> None:
    for module in range(20):
        for number in range(50):
            desk.file(f"node_modules/m{module}/f{number}.js", "const zebra = 1\n" * 3)
    desk.file("sub/own.py", "zebra = 2\n")
    os.symlink("..", desk.folder / "sub/up")
    tool = SearchTool(desk.workspace, search_path)
    result = await tool.run({"pattern": "zebra"}, desk.live.append)
    assert result.text.splitlines()[0] == "sub/own.py:1:zebra = 2"
    assert result.data["hits"] == 1
    assert "node_modules" in result.text
    named = await tool.run({"pattern": "zebra", "path": "node_modules/m3"}, desk.live.append)
    assert named.data == {"path": "node_modules/m3", "hits": 100, "truncated": True}


@pytest.mark.parametrize("search_path", [os.environ["PATH"], ""])
async def test_file_05_ignore_file_that_is_a_link(desk: Desk, search_path: str) -> None:
    desk.file("ignore.real", "build/\n")
    os.symlink("ignore.real", desk.folder / ".gitignore")
    desk.file("build/x.txt", "zebra\n")
    desk.file("src/x.txt", "zebra\n")
    result = await SearchTool(desk.workspace, search_path).run({"pattern": "zebra"}, desk.live.append)
    assert result.text == "src/x.txt:1:zebra"
    listed = await desk.call("list", pattern="*.txt")
    assert listed.text == "src/x.txt"


async def test_file_06_empty_file(desk: Desk) -> None:
    desk.file("empty.txt")
    assert "is empty" in (await desk.call("read", path="empty.txt")).text
    await desk.call("write", path="empty.txt", content="now\n")
    assert desk.bytes_of("empty.txt") == b"now\n"
