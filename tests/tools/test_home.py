"""Where no home is known: containers run with user ids that nobody entered, and without HOME."""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pool.sim.process import running
from pool.sim.settings import SimSettings
from pool_tools.home import base_folder, expanded, home, homeless_note
from pool_tools.sandbox.secrets import homes
from tests.needs import bubblewrap

LIMIT_SECONDS = 40

UNKNOWN_USER = """
import pwd, runpy, sys
def unknown(uid):
    raise KeyError(f"getpwuid(): uid not found: {uid}")
pwd.getpwuid = unknown
sys.argv[0] = "pool"
runpy.run_module("pool", run_name="__main__")
"""
"""Pool as a user that the database does not know, whatever user runs the test."""


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Neither HOME nor an entry; the folder of temporary files."""

    def unknown(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    folder = tmp_path / "temporary"
    folder.mkdir()
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    return folder


def test_a_private_folder_stands_in(nowhere: Path) -> None:
    place = nowhere / f"pool-{os.getuid()}"
    assert home() == place
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert expanded("~/x") == place / "x"
    assert expanded("~no-such-user/x") == Path("~no-such-user/x")
    assert base_folder("XDG_STATE_HOME") == place / ".local/state"
    assert str(place) in homeless_note()
    assert homes({}) == (place,), "commands must not see it"


@pytest.mark.parametrize("trap", ["open", "link", "file"])
def test_what_others_may_have_made_is_not_used(nowhere: Path, tmp_path: Path, trap: str) -> None:
    place = nowhere / f"pool-{os.getuid()}"
    match trap:
        case "open":
            place.mkdir()
            place.chmod(0o755)
        case "link":
            (tmp_path / "theirs").mkdir(mode=0o700)
            place.symlink_to(tmp_path / "theirs")
        case _:
            place.touch(0o700)
    assert not home().exists()
    with pytest.raises(OSError, match="No such file"):
        home().mkdir(parents=True)
    assert "nothing is kept" in homeless_note()


def test_a_home_that_is_named_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home() == tmp_path
    assert not homeless_note()
    monkeypatch.setenv("HOME", "")
    assert home() != Path("/"), "an empty one names nothing"


@pytest.mark.parametrize("usable", [pytest.param(True, marks=bubblewrap), False])
def test_a_run_says_once_where_its_session_is(nowhere: Path, tmp_path: Path, usable: bool) -> None:
    place = nowhere / f"pool-{os.getuid()}"
    if not usable:
        place.touch()
    line = [sys.executable, "-c", UNKNOWN_USER, "run", "What are you?", "-C", str(tmp_path), "--base-url"]
    with running(SimSettings(port=0)) as sim:
        done = subprocess.run([*line, sim.url], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("HOME is not set") == 1
    kept = list(place.glob(".local/state/pool/sessions/*.jsonl")) if usable else []
    assert bool(kept) is usable
    assert ("this session is not saved" in done.stderr) is not usable
