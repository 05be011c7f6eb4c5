"""What the probe says where it finds no tier."""

from __future__ import annotations

import os
from pathlib import Path

from pool_tools.sandbox.base import Policy
from pool_tools.sandbox.probe import probe


def test_a_program_inside_the_workspace_is_not_trusted_and_that_is_said(tmp_path: Path) -> None:
    planted = tmp_path / "bwrap"
    planted.write_text("#!/bin/sh\ntouch ran\n")
    planted.chmod(0o755)
    found = probe(Policy((tmp_path,)), {"PATH": str(tmp_path)}, ("bubblewrap",))
    assert found.tier == "none"
    assert f"bwrap is installed only inside the workspace ({planted})" in found.reason
    assert "narrower workspace" in found.remedy
    assert not os.path.exists(tmp_path / "ran")


def test_a_program_that_is_not_there_is_to_be_installed(tmp_path: Path) -> None:
    found = probe(Policy((Path("/"),)), {"PATH": str(tmp_path)}, ("bubblewrap",))
    assert "bwrap is not installed" in found.reason
    assert "apt install bubblewrap" in found.remedy
