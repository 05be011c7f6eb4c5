from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pool_tools import ToolError
from pool_tools.environment import find_program, why_no_program
from pool_tools.globs import compile_glob
from pool_tools.limits import LIST_ENTRIES, SEARCH_HITS
from pool_tools.search import SearchTool
from pool_tools.workspace import Workspace

from .conftest import Desk

needs_ripgrep = pytest.mark.skipif(not shutil.which("rg"), reason="compares with ripgrep")


def search(workspace: Workspace, search_path: str | None, **args: str) -> str:
    try:
        return asyncio.run(SearchTool(workspace, search_path).run(args, print)).text
    except ToolError as error:
        return f"refused: {error}"


@pytest.fixture
def project(folder: Path) -> Path:
    files = {
        "a.txt": b"zebra",
        "a/b.txt": b"zebra (x\r\nother\r\n",
        "a/zz.py": b"# zebra\n\tzebra\n",
        "a.b/c.py": b"zebra\n",
        ".hidden": b"zebra\n",
        ".github/ci.yml": b"zebra\n",
        ".git/config": b"zebra\n",
        "utf16.txt": "zebra\n".encode("utf-16"),
        "binary": b"zebra\n\0\1\2",
        "latin": b"zebra \xe9\n",
        "build/out.txt": b"zebra\n",
        "build/keep.txt": b"zebra\n",
        "sub/build/out.txt": b"zebra\n",
        "sub/x.log": b"zebra\n",
        "sub/keep.log": b"zebra\n",
        "sub/.gitignore": b"!keep.log\n",
        ".gitignore": b"build/\n*.log\n",
    }
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    odd = os.path.join(os.fsencode(folder), b"n\xff.txt")
    with open(odd, "wb") as file:
        file.write(b"zebra \xff\n")
    os.symlink("..", folder / "sub/up")
    os.symlink("/etc", folder / "etc")
    return folder


@needs_ripgrep
@pytest.mark.parametrize(
    "args",
    [
        {"pattern": "zebra"},
        {"pattern": "zebra", "path": "sub"},
        {"pattern": "zebra", "path": "a"},
        {"pattern": "zebra", "path": "a/b.txt"},
        {"pattern": "zebra", "path": "build"},
        {"pattern": "zebra", "path": "sub/up"},
        {"pattern": "zebra", "path": "binary"},
        {"pattern": "zebra", "glob": "*.py"},
        {"pattern": "zebra", "glob": "a/*.{txt,py}"},
        {"pattern": "zebra", "glob": "**/c.py"},
        {"pattern": r"\bzeb\w+ \("},
        {"pattern": "z(?=e)ebra"},
        {"pattern": "(?i)ZEBRA$"},
        {"pattern": "no such word"},
        {"pattern": "(x"},
        {"pattern": "zebra", "path": "nowhere"},
        {"pattern": "zebra", "path": "etc"},
    ],
    ids=str,
)  # fmt: skip
def test_same_results_with_and_without_ripgrep(project: Path, args: dict[str, str]) -> None:
    workspace = Workspace(project)
    with_ripgrep, without = search(workspace, None, **args), search(workspace, "", **args)
    workspace.close()
    if with_ripgrep.startswith("refused: `pattern`"):
        assert without.startswith("refused: `pattern`")
    else:
        assert sorted(without.splitlines()) == sorted(line for line in with_ripgrep.splitlines() if "utf16" not in line)
        assert "etc/" not in without


def test_hits_say_where_they_are(project: Path) -> None:
    workspace = Workspace(project)
    for search_path in (None, ""):
        assert search(workspace, search_path, pattern="zebra", path="a").splitlines() == [
            "a/b.txt:1:zebra (x",
            "a/zz.py:1:# zebra",
            "a/zz.py:2:\tzebra",
        ]
        assert "n\\xff.txt:1:zebra \\xff" in search(workspace, search_path, pattern="zebra")
    workspace.close()


def test_a_pattern_that_backtracks_for_ever_is_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pool_tools.search.SEARCH_SECONDS", 0.5)
    (folder / "a.txt").write_text("x" * 40 + "\n")
    workspace = Workspace(folder)
    began = time.monotonic()
    said = search(workspace, "", pattern=r"(x+x+)+y")
    workspace.close()
    assert "stopped after" in said
    assert time.monotonic() - began < 2


async def test_cancelled_search_leaves_no_process(folder: Path) -> None:
    (folder / "a.txt").write_text("x" * 40 + "\n")
    workspace = Workspace(folder)
    task = asyncio.ensure_future(SearchTool(workspace, "").run({"pattern": r"(x+x+)+y"}, print))
    await asyncio.sleep(0.3)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    workspace.close()
    assert time.monotonic() - began < 1


@pytest.mark.parametrize("search_path", [None, ""])
def test_hits_are_capped(folder: Path, search_path: str | None) -> None:
    (folder / "a.txt").write_text("zebra\n" * 1000)
    workspace = Workspace(folder)
    said = search(workspace, search_path, pattern="zebra")
    workspace.close()
    assert said.count("zebra") == SEARCH_HITS
    assert f"the first {SEARCH_HITS} hits" in said


def test_programs_in_the_workspace_are_not_run(tmp_path: Path) -> None:
    trap = tmp_path / "work/bin/rg"
    trap.parent.mkdir(parents=True)
    trap.write_text("#!/bin/sh\n")
    trap.chmod(0o755)
    os.symlink(trap, tmp_path / "rg")
    assert find_program("rg", f"{trap.parent}:{tmp_path}:relative:", [tmp_path / "work"]) is None
    assert find_program("rg", str(trap.parent), [tmp_path / "other"]) == str(trap)
    assert "only inside the workspace" in why_no_program("rg", str(tmp_path), [tmp_path / "work"])
    assert why_no_program("rg", str(tmp_path / "none"), [Path("/")]) == "rg is not installed"


@pytest.mark.parametrize(
    ("glob", "hits", "misses"),
    [
        ("*.py", ["a.py", "x/y/a.py"], ["a.pyc", "py"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "x/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py"]),
        ("**/a.py", ["a.py", "x/y/a.py"], ["b.py"]),
        ("src/**", ["src/a", "src/x/a"], ["a"]),
        ("*.{js,ts}", ["a.js", "x/a.ts"], ["a.py"]),
        ("test_?.py", ["test_1.py"], ["test_12.py"]),
        ("[ab].[!c]", ["a.x", "b.d"], ["c.x", "a.c"]),
        ("./a.py", ["a.py"], ["b.py"]),
        ("a+b(1).txt", ["a+b(1).txt"], ["aab1.txt"]),
    ],
)
def test_globs(glob: str, hits: list[str], misses: list[str]) -> None:
    pattern = compile_glob(glob)
    assert [path for path in hits + misses if pattern.fullmatch(path)] == hits


@given(st.text(alphabet="ab*?[]{},/!.\\", max_size=12), st.text(alphabet="ab/.", max_size=8))
def test_any_glob_compiles_or_is_refused(glob: str, path: str) -> None:
    with contextlib.suppress(ToolError):
        compile_glob(glob).fullmatch(path)


async def test_listing(desk: Desk) -> None:
    for name in ("src/pkg/a.py", "src/pkg/deep/b.py", "README.md", ".git/config", "node_modules/x/y.js"):
        desk.file(name)
    os.symlink("src", desk.folder / "link")
    listed = await desk.call("list")
    assert listed.text.splitlines()[:4] == ["README.md", "link -> src", "src/", "src/pkg/"]
    assert "skipped, as there is no .gitignore: node_modules" in listed.text
    assert "deeper folders not shown" in listed.text
    assert (await desk.call("list", path="src", depth=1)).text.splitlines()[0] == "src/pkg/"
    found = await desk.call("list", pattern="*.py")
    assert found.text.splitlines()[:2] == ["src/pkg/a.py", "src/pkg/deep/b.py"]
    assert (await desk.call("list", path="node_modules", pattern="*.js")).text == "node_modules/x/y.js"
    assert "is a file" in await desk.refused("list", path="README.md")
    assert "does not exist" in await desk.refused("list", path="nowhere")


async def test_listings_are_capped(desk: Desk) -> None:
    for number in range(LIST_ENTRIES + 100):
        desk.file(f"f{number:04}")
    desk.file("odd\nname\x1b[31m")
    listed = await desk.call("list")
    assert len(listed.text.splitlines()) == LIST_ENTRIES + 1
    assert f"{LIST_ENTRIES} of {LIST_ENTRIES + 101} entries" in listed.text
    assert "odd\\x0aname\\x1b[31m" in (await desk.call("list", pattern="odd*")).text


async def test_thousands_of_levels(desk: Desk) -> None:
    here = os.open(desk.folder, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    began = time.monotonic()
    assert "No file" in (await desk.call("list", pattern="*.py")).text
    for search_path in (None, ""):
        tool = SearchTool(desk.workspace, search_path)
        assert "No line" in (await tool.run({"pattern": "x"}, desk.live.append)).text
    assert time.monotonic() - began < 10
    # Too deep for shutil.rmtree, which pytest would use.
    await desk.call("shell", command="rm -rf d")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@needs_ripgrep
@given(
    st.lists(
        st.sampled_from(["*.log", "/a", "b/", "!keep.log", "a/b", "**/c", "a/*", "!a/c", "#x", "", "d?"]), max_size=5
    ),
    st.lists(st.lists(st.sampled_from(["a", "b", "c", "d1"]), min_size=1, max_size=3).map("/".join), max_size=8),
)
def test_ignore_rules_mean_the_same_as_to_ripgrep(tmp_path: Path, rules: list[str], names: list[str]) -> None:
    shutil.rmtree(tmp_path / "w", ignore_errors=True)
    for name in [f"{n}/{leaf}" for n in names for leaf in ("x.log", "keep.log", "c")]:
        path = tmp_path / "w" / name
        if any(p.is_file() for p in path.parents):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text("word\n")
    (tmp_path / "w").mkdir(exist_ok=True)
    (tmp_path / "w/.gitignore").write_text("\n".join(rules) + "\n")
    workspace = Workspace(tmp_path / "w")
    assert search(workspace, "", pattern="word") == search(workspace, None, pattern="word")
    workspace.close()
