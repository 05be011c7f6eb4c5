"""`pool --help` at the terminal's width, and a command that there is not."""

from __future__ import annotations

import os

import pytest

from pool.cli import main as program
from pool.cli.main import USAGE, main


@pytest.mark.parametrize("columns", [80, 40, 10])
def test_the_usage_fits_the_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def size(fd: int) -> os.terminal_size:
        return os.terminal_size((columns, 24))

    monkeypatch.setattr(program.os, "get_terminal_size", size)
    assert main(["--help"]) == 0
    shown = capfd.readouterr().out
    assert shown.split() == USAGE.split()
    if columns == 80:
        assert max(map(len, shown.splitlines())) <= columns


def test_into_a_pipe_it_goes_unfolded(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert capfd.readouterr().out == USAGE


@pytest.mark.parametrize(("word", "meant"), [("docter", "; did you mean pool doctor?"), ("xyzzy", "")])
def test_an_unknown_command_is_named_with_the_nearest(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0] == f"pool: there is no command {word!r}{meant}"
    assert len(said) == 2
