"""A workspace folder that is removed, renamed or replaced while an agent works in it."""

from __future__ import annotations

import os
import shutil
from typing import Any

import pytest

from .conftest import Desk

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read", {"path": "a.txt"}),
    ("write", {"path": "new/b.txt", "content": "b\n"}),
    ("edit", {"path": "a.txt", "old_text": "a", "new_text": "b"}),
    ("list", {}),
    ("search", {"pattern": "a"}),
    ("shell", {"command": "true"}),
    ("git", {"action": "status"}),
]


@pytest.mark.parametrize(("name", "args"), CALLS, ids=[name for name, _ in CALLS])
async def test_a_folder_that_is_gone_is_named(desk: Desk, name: str, args: dict[str, Any]) -> None:
    desk.file("a.txt", "a\n")
    shutil.rmtree(desk.folder)
    said = await desk.refused(name, **args)
    assert f"workspace folder {desk.folder} no longer exists: it was removed or renamed" in said
    assert not desk.folder.exists()


@pytest.mark.parametrize(("name", "args"), CALLS, ids=[name for name, _ in CALLS])
async def test_a_folder_in_its_place_is_another_one(desk: Desk, name: str, args: dict[str, Any]) -> None:
    desk.file("a.txt", "a\n")
    os.rename(desk.folder, desk.folder.with_name("old"))
    desk.file("a.txt", "a\n")
    assert "another folder has taken its place" in await desk.refused(name, **args)
    assert [path.name for path in desk.folder.iterdir()] == ["a.txt"]


async def test_a_job_says_it_too(desk: Desk) -> None:
    shutil.rmtree(desk.folder)
    result = await desk.call("job", action="start", command="true")
    assert not result.ok
    assert "no longer exists" in result.text


async def test_a_command_that_removes_its_workspace_is_told_so(either: Desk) -> None:
    await either.call("write", path="a.txt", content="a\n")
    if either.sandbox.name == "none":
        result = await either.call("shell", command='rm -r "$PWD"')
        assert result.ok
        assert "no longer exists" in result.text
        assert "no longer exists" in await either.refused("list")
    else:
        assert not (await either.call("shell", command='rm -r "$PWD"')).ok
        assert "is empty" in (await either.call("list")).text
