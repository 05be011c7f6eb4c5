"""Output that is cut is kept whole in a file that later commands can read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from pool_tools import spill
from pool_tools.scratch import Scratch
from pool_tools.spill import SPILLS_KEPT, Spills

from .conftest import Desk


async def test_the_model_can_look_into_what_was_left_out(either: Desk) -> None:
    long = await either.call("shell", command="seq 1 20000; echo -e '\\033[31mred\\033[0m'")
    path = long.data["output_file"]
    assert f"the whole output is in {path}, for commands such as grep" in long.text
    found = await either.call("shell", command=f"sed -n 10000p {path}; tail -1 {path}; wc -l < {path}")
    assert found.text.splitlines()[1:4] == ["10000", "red", "20001"]
    assert list(either.folder.iterdir()) == []
    await either.toolbox.close()


async def test_short_output_leaves_no_file(either: Desk) -> None:
    short = await either.call("shell", command="seq 1 100; ls $TMPDIR")
    assert short.data["output_file"] == ""
    assert "output-" not in short.text


async def test_files_end_with_the_session(desk: Desk) -> None:
    long = await desk.call("shell", command="seq 1 20000")
    path = Path(long.data["output_file"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    await desk.toolbox.close()
    assert not path.parent.exists()


def test_one_output_and_all_of_them_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "SPILL_BYTES", 100)
    spills = Spills(lambda: Scratch(tmp_path, "/seen"))
    for number in range(SPILLS_KEPT + 3):
        one = spills.new(10)
        for _ in range(50):
            one.add(f"{number:4}\n")
        one.close()
        assert one.path.startswith("/seen/output-")
        assert not one.whole
    files = sorted(tmp_path.iterdir(), key=lambda path: path.read_text())
    assert len(files) == SPILLS_KEPT
    assert {path.stat().st_size for path in files} == {100}
    assert files[0].read_text().split()[0] == "3"


def test_a_planted_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, target = tmp_path / "scratch", tmp_path / "target"
    folder.mkdir()
    target.write_text("mine")

    def known(_length: int) -> str:
        return "known"

    monkeypatch.setattr(spill.secrets, "token_hex", known)
    os.symlink(target, folder / "output-known.txt")
    one = Spills(lambda: Scratch(folder, "/seen")).new(1)
    one.add("overwritten")
    one.close()
    assert target.read_text() == "mine"
    assert not one.path
    assert not one.whole
