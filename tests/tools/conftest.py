from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pool_tools import ToolError, ToolResult
from pool_tools.sandbox.base import NoSandbox, Policy, Sandbox
from pool_tools.sandbox.probe import probe
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace


@dataclass
class Desk:
    """A workspace with its tools, as an agent has them."""

    folder: Path
    workspace: Workspace
    toolbox: Toolbox
    sandbox: Sandbox
    live: list[str] = field(default_factory=list[str])

    async def call(self, name: str, /, **args: Any) -> ToolResult:
        tool = next(t for t in self.toolbox.tools if t.spec.name == name)
        tool.preview(args)
        return await tool.run(args, self.live.append)

    async def refused(self, name: str, /, **args: Any) -> str:
        """The message of a call that must not succeed."""
        with pytest.raises(ToolError) as error:
            await self.call(name, **args)
        return str(error.value)

    def file(self, name: str, data: bytes | str = b"") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def bytes_of(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()


def make_desk(folder: Path, sandbox: Sandbox) -> Iterator[Desk]:
    descriptors = set(os.listdir("/proc/self/fd"))
    workspace = Workspace(folder)
    toolbox = Toolbox(workspace, sandbox)
    yield Desk(folder, workspace, toolbox, sandbox)
    # In a thread, since a test may open a second desk while its own loop runs.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, toolbox.close()).result()
    workspace.close()
    sandbox.close()
    assert set(os.listdir("/proc/self/fd")) - descriptors == set()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    return work


@pytest.fixture
def desk(folder: Path) -> Iterator[Desk]:
    yield from make_desk(folder, NoSandbox(kept=True))


@pytest.fixture
def confined(folder: Path) -> Iterator[Desk]:
    """A desk whose commands run in bubblewrap."""
    yield from make_desk(folder, bubblewrap(folder))


@pytest.fixture(params=["none", "bubblewrap"])
def either(request: pytest.FixtureRequest, folder: Path) -> Iterator[Desk]:
    """A desk in each tier."""
    yield from make_desk(folder, NoSandbox(kept=True) if request.param == "none" else bubblewrap(folder))


def missing(reason: str) -> NoReturn:
    """Skip a test for want of bubblewrap; where everything is built and tested, that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def bubblewrap(*roots: Path, readable: tuple[Path, ...] = ()) -> Sandbox:
    found = probe(Policy(roots, readable=readable))
    if found.tier != "bubblewrap":
        missing(f"no bubblewrap here: {found.reason}")
    return found.sandbox
