"""`pool paths`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pool.cli.installation.paths import main


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for kind in ("CONFIG", "STATE", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work" / ".pool").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def test_every_place_is_said_and_which_are_there(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "state" / "pool" / "sessions").mkdir(parents=True)
    assert main(["--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["sessions"]["path"] == str(home / "state/pool/sessions")
    assert rows["sessions"]["exists"] is True
    assert rows["caches"]["exists"] is False
    assert rows["local"]["path"] == str(home / "work/.pool/config.local.toml")
    assert Path(rows["program"]["path"], "cli").is_dir()


def test_one_path_alone_is_for_scripts(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions"]) == 0
    assert capsys.readouterr().out == f"{home}/state/pool/sessions\n"
    assert main(["nothing"]) == 2
    assert "there are configuration, settings" in capsys.readouterr().err


def test_a_table_fits_80_columns_but_cuts_no_path(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_STATE_HOME", f"/very/{'long/' * 20}state")
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"sessions      /very/{'long/' * 20}state/pool/sessions  (nothing there)" in lines
    assert all(len(line) <= 80 for line in lines if "long" not in line and str(Path(__file__).parents[3]) not in line)
    assert not any("…" in line for line in lines)
