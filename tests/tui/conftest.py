"""Servers and workspaces for the interface in a real terminal."""

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
def start(tmp_path: Path) -> Iterator[Starts]:
    """Start Pool in a terminal, with a simulated server that says the given texts, or decides by its rules."""
    with ExitStack() as stack:

        def begin(
            *texts: str,
            flags: tuple[str, ...] = (),
            sim: tuple[str, ...] = (),
            columns: int = 80,
            rows: int = 24,
            env: dict[str, str] | None = None,
            wait: bool = True,
        ) -> Terminal:
            options = list(sim)
            if texts:
                script = tmp_path / "script.json"
                script.write_text(json.dumps(texts))
                options += ["--script", str(script)]
            server = stack.enter_context(running(settings_from(build_parser().parse_args(options))))
            work = tmp_path / "work"
            work.mkdir(exist_ok=True)
            command = [*POOL, "--base-url", server.url, *flags]
            terminal = stack.enter_context(Terminal(command, cwd=work, columns=columns, rows=rows, env=env))
            if wait:
                terminal.wait_for("laguna-sim")
            return terminal

        yield begin
