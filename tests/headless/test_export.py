"""`pool export` and `pool import` as a user runs them: real processes, real files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pool.headless.export import main as export
from pool.headless.importing import main as import_
from pool.sessions.log import in_use
from pool.sessions.store import sessions_folder
from tests.sessions.export.logs import SESSION, everything

Json = dict[str, Any]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a state folder below it that holds one session, whose log is open."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    script = everything(sessions_folder())
    yield tmp_path
    script.log.close()


def pool(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pool", *args]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, timeout=50)


def test_the_format_follows_the_files_name_and_the_file_is_whole(state: Path) -> None:
    for name, start in {"a.html": "<!doctype html>", "a.md": "# Mend", "a.jsonl": '{"messages"', "a.json": "{"}.items():
        assert export(["8057", "-o", str(state / name)]) == 0
        assert (state / name).read_text().startswith(start)
    assert sorted(p.name for p in state.iterdir() if p.is_file()) == ["a.html", "a.json", "a.jsonl", "a.md"]
    assert json.loads((state / "a.json").read_text())["schema_version"] == "ATIF-v1.8"


def test_a_session_that_is_written_to_can_be_exported(state: Path) -> None:
    path = sessions_folder() / f"{SESSION}.jsonl"
    assert in_use(path)
    with path.open("ab") as file:
        file.write(b'{"type":"run.star')
    before = path.read_bytes()
    done = pool("export", SESSION, "--format", "atif")
    assert done.returncode == 0
    assert json.loads(done.stdout)["session_id"] == SESSION
    assert path.read_bytes() == before


def test_the_users_own_keys_home_and_name_are_taken_out(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sessions_folder() / f"{SESSION}.jsonl"
    home = state / "people" / "zebulon"
    (home / ".config" / "pool").mkdir(parents=True)
    (home / ".config" / "pool" / "credentials.toml").write_text('[keys]\n"a:1" = "file-kept-key-77"\n')
    data = path.read_text().replace("Thanks", f"own-env-key-99 file-kept-key-77 {home}/x zebulon@host")
    path.write_text(data)
    env = {"MY_API_KEY": "own-env-key-99", "HOME": str(home), "LOGNAME": "zebulon", "XDG_CONFIG_HOME": ""}
    out = pool("export", SESSION, "--format", "md", **env)
    for secret in ("own-env-key-99", "file-kept-key-77", "zebulon"):
        assert secret in data
        assert secret not in out.stdout + out.stderr
    assert "~/x ~@host" in out.stdout
    assert "Redacted: " in out.stderr
    plain = pool("export", SESSION, "--format", "md", "--no-redact", **env)
    assert "own-env-key-99" in plain.stdout
    assert "Nothing was redacted" in plain.stdout
    assert "Nothing was redacted" in plain.stderr


def test_an_import_can_be_shown_exported_and_is_the_last_of_its_folder(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = state / "a.json", state / "b.json"
    assert export([SESSION, "--no-redact", "-o", str(first)]) == 0
    assert import_([str(first), "-C", str(state)]) == 0
    new = capsys.readouterr().out.strip()
    assert new != SESSION
    assert export(["-C", str(state), "--no-redact", "-o", str(second)]) == 0
    one, two = json.loads(first.read_text()), json.loads(second.read_text())
    assert one["steps"] == two["steps"]
    assert two["session_id"] == new
    assert "You are welcome." in pool("sessions", "show", new).stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nothing"], "no session has an id"),
        (["-C", "/"], "no session for /"),
        ([SESSION, "-o", "/nowhere/x"], "cannot be written: No such file"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    state: Path, args: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(args) == 2
    assert said in capsys.readouterr().err


def test_a_bad_file_leaves_nothing_behind(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(sessions_folder().iterdir())
    bad = state / "bad\n.jsonl"
    bad.write_text('{"messages":[{"role":"user","content":"x"}]}\n{"messages":3}\n')
    assert import_([str(bad)]) == 2
    assert "line 2.messages: a list is expected, not a number" in capsys.readouterr().err
    assert import_([str(state / "none")]) == 2
    assert import_([str(bad), "-C", str(bad)]) == 2
    assert sorted(sessions_folder().iterdir()) == before
