"""Servers and work folders for the simulator's tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from pool.sim.process import RunningSim, running
from pool.sim.settings import SimSettings
from tests.sim.client import REPOSITORY, Workbench

StartSim = Callable[[SimSettings], RunningSim]
Connect = Callable[[SimSettings], httpx.Client]


@pytest.fixture
def start_sim() -> Iterator[StartSim]:
    """Start servers; all are stopped after the test."""
    with ExitStack() as stack:
        yield lambda settings: stack.enter_context(running(settings))


@pytest.fixture
def connect(start_sim: StartSim) -> Iterator[Connect]:
    """Start a server and open a client to it."""
    with ExitStack() as stack:

        def begin(settings: SimSettings) -> httpx.Client:
            url = start_sim(settings).url
            return stack.enter_context(httpx.Client(base_url=url, trust_env=False, timeout=30))

        yield begin


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    """A copy of the inventory program as it is stored, with its bugs."""
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    root = shutil.copytree(REPOSITORY / "examples" / "inventory", tmp_path / "inventory", ignore=ignored)
    return Workbench(root)
