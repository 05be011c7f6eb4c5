"""`pool uninstall`: with real files, a real repository, a keyring in a file; the program itself is a checkout here."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest

from pool.cli.config.command import main as config
from pool.cli.installation.running import arguments_of, running
from pool.cli.installation.uninstall import main
from pool.cli.secrets.command import main as secrets
from pool.config.gitexclude import PATTERN
from pool.lab.serve.unit import MARK
from pool.sessions.log import Header, SessionLog
from pool.sessions.store import sessions_folder
from tests.config.keyringbackend import FILE, FileKeyring


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home with something of everything that Pool keeps; the workspace is work, a repository."""
    for kind, folder in {"CONFIG": ".config", "STATE": "state", "CACHE": "cache", "DATA": "data"}.items():
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / folder))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FPATH", str(tmp_path / "zsh"))
    monkeypatch.setenv(FILE, str(tmp_path / "keyring.json"))
    work = tmp_path / "work"
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    monkeypatch.chdir(work)
    _sessions(work)
    before = keyring.get_keyring()
    keyring.set_keyring(FileKeyring())
    _settings(tmp_path, work, monkeypatch)
    _around(tmp_path)
    yield tmp_path
    keyring.set_keyring(before)


def _sessions(work: Path) -> None:
    with SessionLog.create(sessions_folder(), Header("01a-session", str(work), 1.0, "0"), print) as log:
        assert log.saving
    (sessions_folder().parent / "checkpoints" / "01a-session").mkdir(parents=True)
    odd = sessions_folder().parent / os.fsdecode(b"odd \x1b[31m\xff\nname")
    odd.write_bytes(b"x")


def _settings(home: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "tests.config.keyringbackend.FileKeyring")
    for command, words in ((config, ["key", "http://127.0.0.1:1/v1"]), (secrets, ["add", "TOKEN"])):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a-long-secret-value\n")))
        assert command(words) == 0
    logins = home / ".config/pool/mcp-logins"
    logins.mkdir()
    (logins / "abc.json").write_text('{"version": 1, "kept": "keyring"}')
    (logins / "broken.json").write_text("{")
    keyring.set_password("laguna-pool", "mcp:abc", "{}")
    keyring.set_password("another program", "mine", "stays")
    assert config(["set", "--local", "budgets.turns", "7"]) == 0
    assert PATTERN in (work / ".git/info/exclude").read_text()


def _around(home: Path) -> None:
    unit = home / ".config/systemd/user/pool-serve-8000.service"
    unit.parent.mkdir(parents=True)
    unit.write_text(f"{MARK}\n[Unit]\n")
    unit.with_name("pool-serve-9000.service").write_text("[Unit]\nDescription=not Pool's\n")
    for file in ("data/bash-completion/completions/pool", ".config/fish/completions/pool.fish", "zsh/_pool"):
        path = home / file
        path.parent.mkdir(parents=True)
        path.write_text("#compdef pool\n# Made by `pool completion x`; make it again after an update.\n")
    page = home / "data/man/man1/pool.1"
    page.parent.mkdir(parents=True)
    page.write_text('.TH POOL 1 "" "Pool 0.1.0" "User Commands"\n')
    (home / "zsh/pool").write_text("# somebody else's\n")
    cache = home / "cache/pool/packages/work-1/mod"
    cache.mkdir(parents=True)
    (cache / "file").write_text("x")
    cache.chmod(0o555)


def kept(home: Path) -> set[str]:
    return {str(p.relative_to(home)) for p in home.rglob("*") if ".git/" not in str(p) and not p.is_dir()}


def test_purge_lists_all_and_leaves_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (home / "work/.git/info/exclude").read_text()
    (home / "work/.git/info/exclude").write_text(before + "mine\n")
    everything = kept(home)

    assert main(["--purge", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert kept(home) == everything
    for part in (
        "server:127.0.0.1:1 of laguna-pool",
        "secret:TOKEN:everywhere",
        "mcp:abc",
        "pool-serve-8000.service",
        "completions/pool\n",
        "pool.fish",
        "zsh/_pool",
        "man1/pool.1",
        "cache/pool (1 files",
        "state/pool (",
        ".config/pool (",
        "work/.pool/config.local.toml",
        "Pool's line in",
        "the checkout",
    ):
        assert part in said.replace("where no installer knows it", "the checkout"), part
    assert "pool-serve-9000" not in said

    code = main(["--purge", "--yes"])
    ended = capsys.readouterr()
    # Where the tests run, systemd may not answer for this user: then it is said.
    assert code == 0 or "pool-serve-8000.service is deleted, but may still run" in ended.err
    assert kept(home) == {"keyring.json", "zsh/pool", ".config/systemd/user/pool-serve-9000.service"}
    assert not (home / "work/.pool").exists()
    assert (home / "work/.git/info/exclude").read_text() == before.replace(PATTERN + "\n", "") + "mine\n"
    assert json.loads((home / "keyring.json").read_text()) == {"another program/mine": "stays"}

    assert main(["--purge", "--yes"]) == 0
    assert "there is nothing to remove" in capsys.readouterr().out


def test_nothing_goes_without_a_yes(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = kept(home)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main(["--purge"]) == 2

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal("no\n"))
    assert main(["--purge"]) == 2
    assert kept(home) == everything


def test_it_refuses_while_a_session_is_open_or_a_process_runs(
    home: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    everything = kept(home)
    with SessionLog(sessions_folder() / "01a-session.jsonl", print):
        assert main(["--purge", "--yes"]) == 1
    assert "session -session is open in another terminal" in capsys.readouterr().err

    script = tmp_path / "bin" / "pool"
    script.parent.mkdir()
    script.write_text("print('here', flush=True); input()")
    with subprocess.Popen(
        [sys.executable, "-I", str(script), "run", "a \x1b[31mprompt"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert main(["--purge", "--yes"]) == 1
        assert f"process {other.pid}: pool run a \\x1b[31mprompt" in capsys.readouterr().err
        elsewhere = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "elsewhere")}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("os.environ", elsewhere)
            assert running() == []
        other.communicate(b"\n")
    script.unlink()
    assert kept(home) == everything


def test_a_server_that_a_unit_keeps_running_stops_with_the_unit(home: Path, tmp_path: Path) -> None:
    groups = {"11": "0::/user.slice/app.slice/pool-serve-8000.service\n", "12": "0::/user.slice/session-3.scope\n"}
    for pid, group in groups.items():
        process = tmp_path / "proc" / pid
        process.mkdir(parents=True)
        (process / "cmdline").write_bytes(b"/x/bin/python3\0-m\0pool\0serve\0--watch\0")
        (process / "environ").write_bytes(b"XDG_STATE_HOME=" + os.fsencode(home / "state") + b"\0A=b\0")
        (process / "cgroup").write_text(group)
    assert running(tmp_path / "proc") == ["process 12: pool serve --watch"]


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["/x/python3.12", "/y/bin/pool", "chat"], ["chat"]),
        (["python", "-X", "dev", "-m", "pool", "run", "a"], None),
        (["python", "-I", "-m", "pool", "run", "a"], ["run", "a"]),
        (["python", "-m", "pool.lab.spark"], None),
        (["pool", "exec"], None),
        (["python", "-c", "pass", "pool"], None),
        ([], None),
    ],
)
def test_which_command_lines_are_pools(words: list[str], arguments: list[str] | None) -> None:
    assert arguments_of(words) == arguments


def test_of_a_linked_folder_the_link_goes_and_what_cannot_be_removed_is_said(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = home / "dotfiles"
    (home / ".config/pool").rename(target)
    (home / ".config/pool").symlink_to(target)
    monkeypatch.setattr("pool.config.keyrings.LEAST_PRIORITY", 9.0)
    assert main(["--purge", "--yes"]) == 1
    ended = capsys.readouterr()
    assert f"{target}: only the link to it is removed" in " ".join(ended.out.split())
    assert (target / "secrets.toml").exists()
    assert not os.path.lexists(home / ".config/pool")
    assert "mcp:abc may still be in the keyring (laguna-pool): there is no keyring here" in ended.err
