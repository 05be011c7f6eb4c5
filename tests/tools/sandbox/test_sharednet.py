"""A sandbox that is probed late shares its network and its folder like the one that it stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool_tools.commands import Commands
from pool_tools.sandbox.base import NoSandbox
from pool_tools.sandbox.probe import LazySandbox, Probe
from pool_tools.sandbox.sharednet import SharesNetwork
from pool_tools.scratch import HasScratch

from ..conftest import Desk, bubblewrap


def test_a_late_sandbox_passes_on_what_it_is_asked(folder: Path) -> None:
    real = bubblewrap(folder)
    late = LazySandbox(lambda: Probe(real))
    assert isinstance(late, SharesNetwork)
    assert isinstance(late, HasScratch)
    plain = late.wrap(("true",), folder, {}).argv
    assert "--unshare-net" in plain
    assert late.share_network() == late.share_network() == ""
    shared = late.wrap(("true",), folder, {})
    assert "--unshare-net" not in shared.argv
    assert shared.argv[0].endswith("nsenter")
    assert len(shared.descriptors) == 2
    found = late.scratch_folder()
    assert found is not None
    assert found[1] == "/tmp"
    late.close()
    assert not found[0].exists()


def test_without_a_sandbox_there_is_nothing_to_share() -> None:
    late = LazySandbox(lambda: Probe(NoSandbox()))
    assert late.share_network() == ""
    assert late.scratch_folder() is None


async def test_joining_runs_nothing_of_the_users(
    confined: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (".bashrc", "environment"):
        (tmp_path / name).write_text(f"echo {name}; touch {tmp_path}/ran-{name}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    commands = Commands(confined.workspace, confined.sandbox, {"BASH_ENV": str(tmp_path / "environment")})
    assert await commands.share_network() == ""
    said: list[bytes] = []
    ended = await commands.run(("true",), 30, said.append)
    assert (ended.status, said) == (0, [])
    assert list(tmp_path.glob("ran-*")) == []
