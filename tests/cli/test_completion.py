"""Completion scripts in the shells themselves, and the manual page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from pool.cli.cmdline import Command, Values, whole
from pool.cli.completion import main, values
from pool.cli.main import COMMANDS
from pool.cli.manual import page
from pool.cli.shellscripts import bash, fish, zsh
from pool.sessions.log import Header, SessionLog
from pool.sessions.store import sessions_folder
from tests.tui.terminal import Terminal

ROOT = Path(__file__).parents[2]
SHELL_SECONDS = 50.0
"""The scripts start Pool for each list of names, in seconds on a busy machine; a test as a whole has 60."""
CASES = {
    "pool repor": {"report"},
    "pool run --output": {"--output", "--output-schema"},
    "pool run -o js": {"json"},
    "pool run --on-hangup d": {"detach"},
    "pool sessions s": {"search", "show"},
    "pool config s": {"show", "set", "schema"},
    "pool approvals ": {"list", "forget"},
    "pool run -f fil": {"file a.txt"},
    "pool run x -- fil": {"file a.txt"},
    "pool --theme pape": {"paper"},
    "pool export --format ": {"atif", "html", "md", "jsonl"},
}

ZSH_CASES = {
    "pool repor": "pool report",
    "pool run -o js": "pool run -o json",
    "pool run --on-hangup d": "pool run --on-hangup detach",
    "pool run -f fil": r"pool run -f file\ a.txt",
    "pool run x -- fil": r"pool run x -- file\ a.txt",
    "pool --theme pape": "pool --theme paper",
    "pool export --format a": "pool export --format atif",
    "pool approvals ": "list",
}
BASH = r"""
source "$1"
compopt() { :; }
while IFS= read -r line; do
  read -ra COMP_WORDS <<<"$line"
  [[ $line == *" " ]] && COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _pool
  printf '%s\n' "${COMPREPLY[@]}" END
done
"""
FISH = 'source $argv[1]; while read -l line; complete -C "$line"; echo END; end'


@cache
def root() -> Command:
    return whole()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file, and a `pool` on PATH that is the one under test."""
    place = tmp_path / "bin"
    place.mkdir()
    (place / "pool").write_text(f'#!/bin/sh\nexec {sys.executable} -m pool "$@"\n')
    (place / "pool").chmod(0o755)
    (tmp_path / "file a.txt").write_text("x")
    monkeypatch.setenv("PATH", f"{place}:{Path('/usr/bin')}:{Path('/bin')}")
    return tmp_path


def offered(shell: list[str], script: str, folder: Path) -> dict[str, set[str]]:
    """What a shell offers for each case."""
    (folder / "script").write_text(script)
    done = subprocess.run(
        [*shell, str(folder / "script")],
        cwd=folder,
        input="".join(f"{line}\n" for line in CASES),
        capture_output=True,
        text=True,
        timeout=SHELL_SECONDS,
    )
    assert done.stderr == ""
    blocks = re.split(r"^END\n", done.stdout, flags=re.MULTILINE)
    found = [{line.split("\t")[0].strip("'") for line in block.splitlines() if line} for block in blocks]
    return {line: {word.replace("\\ ", " ") for word in words} for line, words in zip(CASES, found, strict=False)}


def test_every_command_has_a_parser_and_a_word_in_the_help() -> None:
    names = {command.words[0]: command for command in root().actions}
    assert set(names) == {*COMMANDS, "sim"}
    assert {name for name, command in names.items() if not command.help or not command.description} == set()


def test_bash(folder: Path) -> None:
    assert offered(["bash", "-c", BASH, "test"], bash(root()), folder) == CASES


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish(folder: Path) -> None:
    assert offered(["fish", "-c", FISH], fish(root()), folder) == CASES


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_reads_its_script(folder: Path) -> None:
    (folder / "_pool").write_text(zsh(root()))
    done = subprocess.run(["zsh", "-n", str(folder / "_pool")], capture_output=True, text=True, timeout=SHELL_SECONDS)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh(folder: Path) -> None:
    """In a real terminal, where alone zsh completes: a key leads to the whole word, or to a list."""
    (folder / "_pool").write_text(zsh(root()))
    env = {"PATH": os.environ["PATH"], "ZDOTDIR": str(folder), "HOME": str(folder)}
    with Terminal(["zsh", "-f", "-i"], cwd=folder, env=env) as terminal:
        terminal.send(
            f"PS1='zsh> '; fpath=({folder} $fpath); autoload -U compinit; compinit -u -D; bindkey -e; clear\r"
        )
        terminal.send("echo ready $((40 + 2))\r")
        terminal.wait_for("ready 42", SHELL_SECONDS)
        for at, (typed, whole_line) in enumerate(ZSH_CASES.items()):
            terminal.send(f"{typed}\t")
            terminal.wait_for(whole_line, SHELL_SECONDS)
            # A new prompt: a list that was shown, and what zsh has still to draw, are behind.
            terminal.send(f"\x15clear; echo next $(({at} + 100))\r")
            terminal.wait_for(lambda text, said=f"next {at + 100}\nzsh>": said in text, SHELL_SECONDS)


def test_every_flag_is_in_every_script() -> None:
    flags = {name for command in root().walk() for flag in command.flags for name in flag.names if name[:2] == "--"}
    scripts = bash(root()), zsh(root())
    assert len(flags) > 80
    assert {flag for flag in flags for script in scripts if flag not in script} == set()
    assert {flag for flag in flags if f"-l {flag[2:]} " not in fish(root())} == set()


def test_sessions_are_offered_with_their_prompts(capsys: pytest.CaptureFixture[str]) -> None:
    header = Header("0190aaaa-0000-7000-8000-0000deadbeef", str(Path.cwd()), 1.0, "0.1.0")
    with SessionLog.create(sessions_folder(), header, print) as log:
        row = {"type": "run.started", "prompt": "Do\t\x1b[2J it\nnow", "model": "laguna-odd", "workspace": "/"}
        log.write(row, sync=True)
    assert main(["--values", "session"]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = next(line for line in lines if line.startswith("deadbeef\t"))
    assert "\x1b" not in found
    assert found.count("\t") == 1
    assert ("laguna-odd", "") in values(Values.MODEL)
    assert ("paper", "") in values(Values.THEME)


def test_a_shell_or_values_are_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main(["bash", "--values", "theme"]) == 2
    assert main(["tcsh"]) == 2
    assert "bash, zsh, fish" in capsys.readouterr().err


def test_the_manual_page_on_disk_is_that_of_the_code() -> None:
    assert (ROOT / "docs" / "pool.1").read_text("utf-8") == page(root()), "pool man --into docs/pool.1"


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_manual_page_is_troff_without_faults() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-z"],
        input=page(root()),
        capture_output=True,
        text=True,
        timeout=SHELL_SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")
