"""A chat in a real terminal, with a simulated server that says given texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pool.sim.cli import build_parser, settings_from
from pool.sim.process import running
from tests.tui.terminal import POOL, Terminal

Starts = Callable[..., Terminal]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Start a server that says these texts; its address."""
    with ExitStack() as stack:

        def begin(*texts: str, flags: tuple[str, ...] = ()) -> str:
            script = tmp_path / "script.json"
            script.write_text(json.dumps(texts))
            options = build_parser().parse_args(["--script", str(script), *flags])
            return stack.enter_context(running(settings_from(options))).url

        yield begin


@pytest.fixture
def start(tmp_path: Path, server: Callable[..., str]) -> Iterator[Starts]:
    """Start a chat in a terminal, and wait for its session."""
    with ExitStack() as stack:

        def begin(
            *texts: str,
            flags: tuple[str, ...] = (),
            sim: tuple[str, ...] = (),
            env: dict[str, str] | None = None,
            until: str = "laguna-sim",
        ) -> Terminal:
            work = tmp_path / "work"
            work.mkdir(exist_ok=True)
            command = [*POOL, "chat", "--base-url", server(*texts, flags=sim), *flags]
            terminal = stack.enter_context(Terminal(command, cwd=work, env=env))
            terminal.wait_for(until)
            return terminal

        yield begin
