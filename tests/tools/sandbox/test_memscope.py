"""Scopes of the user's systemd: tried where there is one, else by a program in its place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pool_tools.sandbox import memscope
from pool_tools.sandbox.memscope import TRIAL_BYTES, MemoryScope, find_scope

from ..conftest import Desk

BUS = {"XDG_RUNTIME_DIR": "/run/user/1", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1/bus"}

# Does what systemd-run does to a command, less the scope; the trial is answered with what a scope would show.
STAND_IN = """#!/bin/sh
echo "$*" >> "$(dirname "$0")/called"
[ -n "$XDG_RUNTIME_DIR" ] || exit 1
while [ "$1" != -- ]; do shift; done
shift
case "$*" in *memory.max*) echo {answer}; exit 0;; esac
exec "$@"
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "programs/systemd-run"
    program.parent.mkdir()
    program.write_text(STAND_IN.format(answer=TRIAL_BYTES))
    program.chmod(0o755)
    monkeypatch.setattr(memscope, "SEARCH_PATH", str(program.parent))
    return program


def test_a_real_scope_holds_its_bound() -> None:
    scope = find_scope(os.environ, ())
    if scope is None:
        pytest.skip("this user has no systemd of his own, or no cgroups of version 2")
    code = "held = [bytearray(1 << 20) for _ in range(400)]"
    done = subprocess.run(scope.around((sys.executable, "-c", code), TRIAL_BYTES), capture_output=True, check=False)
    assert done.returncode in (-9, 137)
    assert subprocess.run(scope.around(("true",), TRIAL_BYTES), capture_output=True, check=False).returncode == 0


def test_a_scope_that_does_not_have_its_bound_is_none(stand_in: Path) -> None:
    assert find_scope(BUS, ()) == MemoryScope(str(stand_in), BUS)
    assert find_scope({}, ()) is None
    assert find_scope(BUS, (stand_in.parent,)) is None
    stand_in.write_text(STAND_IN.format(answer="max"))
    assert find_scope(BUS, ()) is None
    stand_in.write_text("#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n")
    assert find_scope(BUS, ()) is None


async def test_commands_run_in_scopes_where_the_server_is_here(
    stand_in: Path, confined: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in BUS.items():
        monkeypatch.setenv(name, value)
    assert (await confined.call("shell", command="true")).ok
    assert not (stand_in.parent / "called").exists()
    confined.toolbox.protect_memory(1 << 30)
    told = await confined.call("shell", command="env; echo fine")
    assert told.ok, told.text
    assert "fine" in told.text
    assert not any(name in told.text for name in BUS)
    _, trial, command = (stand_in.parent / "called").read_text().split("--user --scope")
    assert f"MemoryMax={TRIAL_BYTES}" in trial
    assert int(command.partition("MemoryMax=")[2].split()[0]) >= 1 << 30
    assert "MemorySwapMax=0" in command
    assert "bwrap" in command
