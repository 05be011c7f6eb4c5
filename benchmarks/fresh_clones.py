"""Fresh clones that install and test inside the sandbox, with one preset each: `python benchmarks/fresh_clones.py`.

Small projects are made, cloned, installed from the registry that this machine's own tools are set up for, and tested,
all by the agent's `shell` tool in bubblewrap. Each is installed twice, in two clones: the second time from the caches
that Pool keeps. Needs a registry that can be reached; prints what happened, and fails if a step did.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pool_tools.network.choice import network_for
from pool_tools.network.presets import PresetError
from pool_tools.network.proxy import open_proxy
from pool_tools.network.session import SessionNetwork
from pool_tools.sandbox.base import Policy
from pool_tools.sandbox.probe import probe
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace

STEP_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Project:
    """files of the repository, the preset that its user answers with, and the commands a model would run."""

    name: str
    preset: str
    files: Mapping[str, str]
    install: str
    test: str


_PYTEST = "from six import moves\n\n\ndef test_range():\n    assert list(moves.range(2)) == [0, 1]\n"

PROJECTS = (
    Project(
        "pip",
        "python",
        {"requirements.txt": "six\npytest\n", "test_it.py": _PYTEST},
        "python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt",
        ".venv/bin/python -m pytest -q",
    ),
    Project(
        "uv",
        "python",
        {
            "pyproject.toml": '[project]\nname = "it"\nversion = "1"\nrequires-python = ">=3.9"\n'
            'dependencies = ["six"]\n[dependency-groups]\ndev = ["pytest"]\n',
            "test_it.py": _PYTEST,
        },
        "command -v uv || { python3 -m venv .tool && .tool/bin/pip install -q uv; }; PATH=.tool/bin:$PATH uv sync -q",
        "PATH=.tool/bin:$PATH uv run -q pytest -q",
    ),
    Project(
        "npm",
        "node",
        {
            "package.json": '{"name": "it", "version": "1.0.0", "scripts": {"test": "node --test"},'
            ' "dependencies": {"semver": "^7.0.0"}}\n',
            "it.test.js": "const test = require('node:test'), assert = require('node:assert');\n"
            "test('semver', () => assert(require('semver').satisfies('1.2.3', '^1.0.0')));\n",
        },
        "npm install --no-audit --no-fund",
        "npm test",
    ),
    Project(
        "cargo",
        "rust",
        {
            "Cargo.toml": '[package]\nname = "it"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nitoa = "1"\n',
            "src/lib.rs": '#[test]\nfn it() { assert_eq!(itoa::Buffer::new().format(7), "7"); }\n',
        },
        "cargo fetch -q",
        "cargo test -q",
    ),
    Project(
        "go",
        "go",
        {
            "go.mod": "module it\n\ngo 1.16\n\nrequire rsc.io/quote v1.5.2\n",
            "it_test.go": 'package it\n\nimport ("testing"; "rsc.io/quote")\n\n'
            'func TestIt(t *testing.T) { if quote.Glass() == "" { t.Fail() } }\n',
        },
        "go mod tidy",
        "go test ./...",
    ),
)


def main() -> int:
    """Try the projects named as arguments, else all."""
    wanted = sys.argv[1:] or [project.name for project in PROJECTS]
    # Beside the user's own files, as /tmp is replaced in the sandbox.
    with tempfile.TemporaryDirectory(prefix="fresh-clones-", dir=Path.home()) as base:
        results = [asyncio.run(_try(project, Path(base))) for project in PROJECTS if project.name in wanted]
    return 0 if all(results) else 1


async def _try(project: Project, base: Path) -> bool:
    origin = base / f"{project.name}.git"
    _commit(origin, project.files)
    ok = True
    for clone in ("first", "second"):
        folder = base / f"{project.name}-{clone}"
        subprocess.run(["git", "clone", "-q", str(origin), str(folder)], check=True)
        ok = ok and await _install_and_test(project, clone, folder, base / "caches")
    return ok


def _commit(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    person = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    for arguments in (("init", "-q"), ("add", "."), (*person, "commit", "-q", "-m", "x")):
        subprocess.run(["git", *arguments], cwd=folder, check=True)


async def _install_and_test(project: Project, clone: str, folder: Path, caches: Path) -> bool:
    label = f"{project.name:6} {clone:7}"
    try:
        network = await asyncio.to_thread(network_for, project.preset, os.environ, (folder,), caches)
    except PresetError as error:
        print(f"{label} not tried: {error}")
        return True
    assert network.allow is not None
    async with open_proxy(network.allow, os.environ) as proxy:
        policy = Policy((folder,), allow=network.allow, proxy_folder=proxy.folder, caches=network.caches)
        found = await asyncio.to_thread(probe, policy)
        if found.tier != "bubblewrap":
            print(f"{label} not tried: {found.reason}")
            return False
        workspace = Workspace(folder)
        reach = SessionNetwork(found.sandbox, os.environ, base=network, proxy=proxy)
        toolbox = Toolbox(workspace, found.sandbox, None, reach)
        try:
            return await _steps(label, project, toolbox)
        finally:
            await toolbox.close()
            found.sandbox.close()
            workspace.close()


async def _steps(label: str, project: Project, toolbox: Toolbox) -> bool:
    shell = next(tool for tool in toolbox.tools if tool.spec.name == "shell")
    for step, command in (("install", project.install), ("test", project.test)):
        began = time.monotonic()
        done = await shell.run({"command": command, "timeout": STEP_SECONDS}, lambda text: None)
        flows: list[dict[str, Any]] = done.data.get("network", [])
        received = sum(flow["received"] for flow in flows)
        print(
            f"{label} {step:7} {'ok' if done.ok else 'FAILED':6} {time.monotonic() - began:6.1f} s, "
            f"{len(flows)} connections, {received:,} bytes"
        )
        if not done.ok:
            print(done.text)
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
