"""Several replacements in one call: all or none, found in the file as it is, none over another."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool_tools import ToolError
from pool_tools.edit import EditTool
from pool_tools.workspace import Workspace

from .conftest import Desk


def pair(old: str, new: str, **more: bool) -> dict[str, object]:
    return {"old_text": old, "new_text": new, **more}


async def test_edit_09_one_of_three_without_a_match(desk: Desk) -> None:
    desk.file("a.txt", "one\ntwo\nthree\n")
    await desk.call("read", path="a.txt")
    said = await desk.refused("edit", path="a.txt", edits=[pair("one", "1"), pair("nope", "2"), pair("three", "3")])
    assert said.startswith("Edit 2 of 3: old_text was not found in a.txt. Nothing was changed.")
    assert desk.bytes_of("a.txt") == b"one\ntwo\nthree\n"


async def test_several_are_made_together(desk: Desk) -> None:
    desk.file("a.txt", b"one\r\ntwo\r\ntwo\r\nthree\r\n")
    await desk.call("read", path="a.txt")
    done = await desk.call(
        "edit", path="a.txt", edits=[pair("three\n", "3\n4\n"), pair("one", "1"), pair("two", "2", all=True)]
    )
    assert desk.bytes_of("a.txt") == b"1\r\n2\r\n2\r\n3\r\n4\r\n"
    assert done.data["lines"] == [1, 2, 3, 4]
    assert "at 4 places: +5 -4 lines" in done.text


async def test_edits_are_found_in_the_file_as_it_is(desk: Desk) -> None:
    desk.file("a.txt", "x = 1\ny = 2\n")
    await desk.call("edit", path="a.txt", edits=[pair("x = 1", "y = 2"), pair("y = 2", "x = 1")])
    assert desk.bytes_of("a.txt") == b"y = 2\nx = 1\n"


@pytest.mark.parametrize("second", ["two\nthree", "two", "one\ntwo\nthree"])
async def test_overlapping_edits_are_refused_by_number(desk: Desk, second: str) -> None:
    desk.file("a.txt", "one\ntwo\nthree\n")
    said = await desk.refused("edit", path="a.txt", edits=[pair("one\ntwo", "1\n2"), pair(second, "x")])
    assert "overlap at line" in said
    assert "1 of 2" in said
    assert "2 of 2" in said
    assert desk.bytes_of("a.txt") == b"one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("edits", "named"),
    [
        ([pair("one", "1"), pair("", "x")], "Edit 2 of 2: old_text is empty"),
        ([pair("one", "one"), pair("two", "2")], "Edit 1 of 2: No change"),
        ([pair("one", "1"), {"old_text": "two"}], "Edit 2 of 2: `new_text` is missing"),
        ([pair("one", "1"), "two"], "Edit 2 of 2: it must be an object"),
        ([pair("one", "1"), pair("t", "2")], "Edit 2 of 2: old_text occurs 2 times in a.txt, at lines 2 and 3"),
        ("one", "`edits` must be a list"),
    ],
)
async def test_the_failing_edit_is_named(desk: Desk, edits: object, named: str) -> None:
    desk.file("a.txt", "one\ntwo\nthree\n")
    assert named in await desk.refused("edit", path="a.txt", edits=edits)
    assert desk.bytes_of("a.txt") == b"one\ntwo\nthree\n"


async def test_either_one_or_several(desk: Desk) -> None:
    desk.file("a.txt", "one\ntwo\n")
    said = await desk.refused("edit", path="a.txt", old_text="one", new_text="1", edits=[pair("two", "2")])
    assert "not both" in said
    await desk.call("edit", path="a.txt", old_text="", new_text="", edits=[pair("two", "2")])
    await desk.call("edit", path="a.txt", old_text="one", new_text="1", edits=[])
    assert desk.bytes_of("a.txt") == b"1\n2\n"


LINES = st.lists(st.sampled_from(["alpha", "beta", "\tgamma", "delta  ", "é", ""]), min_size=1, max_size=12)


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.data())
def test_bytes_outside_the_edits_never_move(lines: list[str], end: str, closed: bool, data: st.DataObject) -> None:
    """Every line is made unique by its number; some are replaced by one call, the rest must stay as they are."""
    numbered = [f"{number}:{line}" for number, line in enumerate(lines)]
    before = end.join(numbered) + (end if closed else "")
    chosen = data.draw(st.sets(st.sampled_from(range(len(lines))), min_size=1))
    edits = [pair(f"{number}:", f"<{number}>") for number in sorted(chosen, reverse=True)]
    expected = end.join(
        line.replace(f"{number}:", f"<{number}>", 1) if number in chosen else line
        for number, line in enumerate(numbered)
    ) + (end if closed else "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.txt")
        path.write_bytes(before.encode())
        workspace = Workspace(Path(folder))
        try:
            preview = EditTool(workspace).preview
            if any(before.count(f"{number}:") > 1 for number in chosen):
                with pytest.raises(ToolError, match="occurs"):
                    preview({"path": "a.txt", "edits": edits})
                return
            asyncio.run(EditTool(workspace).run({"path": "a.txt", "edits": edits}, print))
        finally:
            workspace.close()
        assert path.read_bytes() == expected.encode()
