"""`pool secrets` and `pool config key` as processes, with a keyring and without one: the examples of the page."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pool.cli.config.command import main as config
from pool.cli.secrets.command import main
from tests.config.keyringbackend import FILE

ROOT = Path(__file__).parents[2]
VALUES = ("ghp_a-token-of-mine", "another-token-of-mine", "sk-a-key-of-mine")


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pool's folder for a user's configuration."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "config" / "pool"


def piped(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(value.encode())))


@pytest.mark.parametrize("keyring", [True, False])
def test_the_examples_of_the_page_run_and_print_no_value(user: Path, keyring: bool) -> None:
    scripts = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "secrets.md").read_text("utf-8"), re.DOTALL)
    assert len(scripts) == 2
    # One process for all: each `pool` line is a call of main.
    lines = [line for script in scripts for line in script.splitlines()]
    program = "\n".join(
        [
            "import io, shlex, sys",
            "from pool.cli.main import main",
            "for line in sys.argv[1:]:",
            "    given, _, command = line.rpartition(' | ')",
            "    value = shlex.split(given)[1] if given else ''",
            "    sys.stdin = io.TextIOWrapper(io.BytesIO(value.encode()))",
            "    code = main(shlex.split(command)[1:])",
            "    assert code == 0, line",
        ]
    )
    entries = user.parents[1] / "entries"
    env = {**os.environ, FILE: str(entries), "PYTHONPATH": ":".join(str(ROOT / p) for p in (".", "tools", "themes"))}
    if keyring:
        env["PYTHON_KEYRING_BACKEND"] = "tests.config.keyringbackend.FileKeyring"
    argv = [sys.executable, "-c", program, *lines]
    done = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")
    assert not any(value in done.stdout for value in VALUES)
    assert "GITHUB  $GH_TOKEN  everywhere" in done.stdout
    assert ("in the keyring; commands get it as $GH_TOKEN" in done.stdout) is keyring
    left = [path.read_text() for path in (user / "secrets.toml", user / "credentials.toml", entries) if path.exists()]
    assert not any(value in text for value in VALUES for text in left)


def test_what_is_wrong_is_said_without_the_value(
    user: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(value: str, *words: str) -> str:
        piped(value, monkeypatch)
        assert main(words) == 2
        err = capsys.readouterr().err
        assert not value or value not in err
        return err

    assert "at least 6 characters" in said("abc12", "add", "TOKEN")
    assert "is no name" in said("long-enough", "add", "my token")
    assert "is no variable" in said("long-enough", "add", "TOKEN", "--env", "A=B")
    assert "named commands only" in said("long-enough", "add", "TOKEN", "--for", "*")
    assert "there is no secret 'TOKEN'; there are: none" in said("", "remove", "TOKEN")
    assert not user.exists()


def test_a_list_has_names_and_the_file_is_mended(
    user: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    piped("line one of it\nline two\n", monkeypatch)
    assert main(["add", "KEY", "--for", "ssh-add -"]) == 0
    (user / "secrets.toml").chmod(0o644)
    capsys.readouterr()
    assert main(["list", "--json"]) == 0
    out, err = capsys.readouterr()
    row = {"name": "KEY", "variable": "KEY", "commands": ["ssh-add -"], "folder": "", "kept": "file"}
    assert json.loads(out) == row
    assert "others could read this file (mode 0644)" in err
    assert (user / "secrets.toml").stat().st_mode & 0o777 == 0o600


def test_a_key_in_clear_is_moved(user: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user.mkdir(parents=True)
    own = user / "config.toml"
    own.write_text('[server]\nbase_url = "http://h:8000/v1" # mine\napi_key = "sk-in-clear"\n')
    own.chmod(0o600)
    assert config(["check"]) == 0
    assert "`pool config key --move` takes it out of there" in "".join(capsys.readouterr())
    assert config(["key", "--move"]) == 0
    assert own.read_text() == '[server]\nbase_url = "http://h:8000/v1" # mine\n'
    assert '"h:8000" = "sk-in-clear"' in (user / "credentials.toml").read_text()
    assert "sk-in-clear" not in "".join(capsys.readouterr())
    assert config(["key", "--move"]) == 2
