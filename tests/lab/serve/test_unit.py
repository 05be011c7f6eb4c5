"""The systemd unit: shown, asked about, written, taken away; with a program in systemctl's place."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pool.lab.serve.setup import ServeError
from pool.lab.serve.unit import MARK, install, uninstall, unit_file, unit_text


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment with a systemctl that writes down how it was called, and fails if `fail` is there."""
    program = tmp_path / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\ntest ! -e {tmp_path}/fail || {{ echo no >&2; exit 1; }}\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "PATH": os.environ["PATH"]}


def calls(tmp_path: Path) -> list[str]:
    file = tmp_path / "calls"
    return file.read_text().splitlines() if file.exists() else []


def yes(_: str) -> bool:
    return True


def no(_: str) -> bool:
    return False


def test_the_text(env: dict[str, str]) -> None:
    text = unit_text(["s", "--sessions", "4", "--", "--seed", "50%", "a b"], "a title", env)
    assert text.startswith(MARK)
    [start] = [line for line in text.splitlines() if line.startswith("ExecStart=")]
    words = f'"{sys.executable}" "-m" "pool" "serve" "s" "--sessions" "4" "--watch" "--" "--seed" "50%%" "a b"'
    assert start == f"ExecStart={words}"
    assert "KillMode=mixed" in text
    assert f'Environment="PATH={env["PATH"]}"' in text


def test_a_line_end_cannot_smuggle_a_line_in(env: dict[str, str]) -> None:
    with pytest.raises(ServeError, match="line end"):
        unit_text(["s\nExecStartPre=/bin/false"], "t", env)
    assert "\nExecStartPre" not in unit_text(["s"], "t\nExecStartPre=/bin/false", env)


def test_no_writes_nothing(env: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert install("the text", 8000, env, no) == 1
    assert not unit_file(8000, env).exists()
    assert calls(tmp_path) == []
    assert "the text" in capsys.readouterr().out


def test_there_and_away_again(env: dict[str, str], tmp_path: Path) -> None:
    text = unit_text(["s"], "t", env)
    assert install(text, 8000, env, yes) == 0
    file = unit_file(8000, env)
    assert file == tmp_path / "config/systemd/user/pool-serve-8000.service"
    assert file.read_text() == text
    assert uninstall(8000, env, no) == 1
    assert file.exists()
    assert uninstall(8000, env, yes) == 0
    assert not file.exists()
    assert calls(tmp_path) == [
        "--user daemon-reload",
        "--user enable --now pool-serve-8000.service",
        "--user disable --now pool-serve-8000.service",
        "--user daemon-reload",
    ]


def test_a_file_of_somebody_else_is_left_alone(env: dict[str, str], tmp_path: Path) -> None:
    file = unit_file(8000, env)
    file.parent.mkdir(parents=True)
    file.write_text("[Unit]\n")
    for act in (lambda: install("text", 8000, env, yes), lambda: uninstall(8000, env, yes)):
        with pytest.raises(ServeError, match="not made by Pool"):
            act()
    assert file.read_text() == "[Unit]\n"
    assert calls(tmp_path) == []


def test_nothing_to_take_away(env: dict[str, str]) -> None:
    with pytest.raises(ServeError, match="not there"):
        uninstall(8000, env, yes)


def test_a_systemctl_that_fails(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "fail").touch()
    with pytest.raises(ServeError, match="daemon-reload failed: no"):
        install(unit_text(["s"], "t", env), 8000, env, yes)
