"""Another agent in the interface, in a real terminal: here it is `pool acp`, before a simulated server."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pool.facekit.agents.descriptions import OWN_FOLDER
from pool.facekit.glance import OUTSIDE
from pool.sim.cli import build_parser, settings_from
from pool.sim.process import running
from pool.tui.answerpanel import KEYS_COUNT
from tests.tui.terminal import POOL, Terminal

pytestmark = pytest.mark.slow

WRITE = (
    "Hm.</think>I write.<tool_call>write<arg_key>path</arg_key><arg_value>b.txt</arg_value>"
    "<arg_key>content</arg_key><arg_value>made</arg_value></tool_call>"
)


def test_another_agent_works_in_the_interface(tmp_path: Path) -> None:
    own = tmp_path / "config" / "pool" / OWN_FOLDER
    own.mkdir(parents=True)
    work = tmp_path / "work"
    work.mkdir()
    script = tmp_path / "script.json"
    script.write_text(json.dumps([WRITE, "So.</think>It is **there**."]))
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_STATE_HOME": str(tmp_path / "state")}
    with running(settings_from(build_parser().parse_args(["--script", str(script)]))) as server:
        command = [*POOL, "acp", "--base-url", server.url, "--mode", "default"]
        (own / "other.toml").write_text(f'title = "The other"\ncommand = {json.dumps(command)}\n')
        with Terminal([*POOL, "--base-url", server.url, "--agent", "other", "go"], cwd=work, env=env) as terminal:
            screen = terminal.wait_for("may it run?")
            assert OUTSIDE in screen
            assert "The other" in screen
            terminal.send("y")
            # A key in the question's first moment does not count.
            if KEYS_COUNT in terminal.wait_for(lambda text: KEYS_COUNT in text or "completed" in text):
                terminal.send("y")
            screen = terminal.wait_for("completed")
            assert "It is there." in screen
            assert "Create b.txt" in screen
            assert (work / "b.txt").read_text() == "made"
            terminal.send("/agent\r")
            terminal.wait_for("Pool's own, in its sandbox")
            terminal.send("\x1b")
            terminal.wait_for(lambda text: "Pool's own" not in text)
            terminal.send("/quit\r")
            assert terminal.wait_end() == 0
