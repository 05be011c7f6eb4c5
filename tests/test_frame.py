"""The frame of the project: what lies where, what start-up imports, what is declared, and what a wheel holds."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {"pool", "tools", "themes", "tests", "examples", "docs", "benchmarks", "release", "website"}
SOURCES = ("pool", "tools", "themes")
OURS = {"pool", "pool_tools", "pool_themes"}
MAX_LINES = 500

HEAVY = ("textual", "prompt_toolkit", "git", "tiktoken", "pydantic", "mcp", "acp", "ray", "starlette", "uvicorn")
"""What no command may import before it needs it."""

IMPORT_NAMES = {"acp": "agent-client-protocol"}
"""Distributions of optional imports, where the name differs and they may not be installed."""


@cache
def tracked() -> tuple[Path, ...]:
    """Files that git tracks or would track, as they are on disk."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listing.returncode:
        pytest.skip(f"no git checkout: {listing.stderr.strip()}")
    return tuple(path for name in listing.stdout.split("\0") if name and (path := ROOT / name).is_file())


@cache
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def modules_of(*folders: str) -> list[Path]:
    ours = [p for p in tracked() if p.suffix == ".py" and p.relative_to(ROOT).parts[0] in folders]
    # Projects for the agent to work on, with planted faults, are data of Pool.
    return [p for p in ours if not p.is_relative_to(ROOT / "pool" / "lab" / "eval" / "suites")]


def test_folders_are_the_designs() -> None:
    found = {p.relative_to(ROOT).parts[0] for p in tracked() if len(p.relative_to(ROOT).parts) > 1}
    assert {name for name in found if not name.startswith(".")} == FOLDERS


def test_no_file_is_too_long() -> None:
    lines = {p: len(p.read_bytes().splitlines()) for p in modules_of("pool", "tools", "themes", "tests")}
    assert lines
    assert {str(p.relative_to(ROOT)): n for p, n in lines.items() if n > MAX_LINES} == {}


def machine_marks() -> list[str]:
    """What would give away the machine that the files were written on."""
    here = [str(p) for p in (ROOT, Path(sys.prefix)) if len(p.parts) > 2 and not p.is_relative_to("/usr")]
    return [
        *map(re.escape, here),
        r"\.\./shared\b",
        r"--(extra-)?index-url",
        r"--find-links",
        r"/simple/",
        r"/\.pyenv\b",
    ]


def test_no_tracked_file_names_a_machine_or_an_index() -> None:
    marks = re.compile("|".join(machine_marks()).encode())
    found = {
        str(path.relative_to(ROOT)): mark.group().decode()
        for path in tracked()
        if path != Path(__file__) and (mark := marks.search(path.read_bytes()))
    }
    assert found == {}


@pytest.mark.parametrize("argv", [["--version"], ["--help"], ["run", "--help"], ["sim", "--help"]])
def test_start_up_imports_nothing_heavy(argv: list[str]) -> None:
    script = (
        "import json, sys\n"
        "before = set(sys.modules)\n"
        "from pool.cli.main import entry\n"
        f"sys.argv = {['pool', *argv]!r}\n"
        "try:\n"
        "    code = entry()\n"
        "except SystemExit as stop:\n"
        "    code = stop.code\n"
        "print(file=sys.stderr)\n"
        "print(json.dumps([code, sorted(set(sys.modules) - before)]), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    code, loaded = json.loads(done.stderr.splitlines()[-1])
    assert not code
    assert done.stdout.strip()
    assert "pool.cli.main" in loaded
    assert sorted({name.partition(".")[0] for name in loaded} & set(HEAVY)) == []


def test_every_part_is_in_the_layers() -> None:
    contracts = project()["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c["type"] == "layers")
    listed = set(re.findall(r"[\w.]+", " ".join(layers))) | {"pool.sim"}
    parts = {p.relative_to(ROOT / "pool").parts[0].removesuffix(".py") for p in modules_of("pool")}
    assert {f"pool.{part}" for part in parts if not part.startswith("__")} - listed == set()


def distribution_key(requirement: str) -> str:
    """The normalized name in a requirement: `pyright[nodejs]>=1` is `pyright`."""
    name = re.match(r"[\w.-]+", requirement)
    assert name
    return re.sub(r"[-_.]+", "-", name.group()).lower()


def imported(path: Path) -> set[str]:
    """Top-level names of the absolute imports anywhere in a module."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        match node:
            case ast.Import():
                names.update(alias.name.partition(".")[0] for alias in node.names)
            case ast.ImportFrom(module=str(module), level=0):
                names.add(module.partition(".")[0])
            case _:
                pass
    return names


def test_every_import_is_declared() -> None:
    metadata = project()["project"]
    declared = {distribution_key(r) for r in metadata["dependencies"]}
    for extra, requirements in metadata["optional-dependencies"].items():
        if extra != "dev":
            declared |= {distribution_key(r) for r in requirements}
    providers = packages_distributions()
    undeclared = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules_of(*SOURCES)
        for name in imported(path) - OURS - sys.stdlib_module_names
        if not {distribution_key(d) for d in providers.get(name, [IMPORT_NAMES.get(name, name)])} & declared
    }
    assert undeclared == set()


def test_ci_and_the_papers_name_the_same_test_command() -> None:
    make, ci = ((ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", ".ci/run"))
    assert "make test" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert ci.rstrip().endswith("make test")
    assert "-m pytest -n $(WORKERS)" in make
