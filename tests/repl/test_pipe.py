"""`pool chat` without a terminal: lines are prompts, nothing but text comes out, and the exit code is honest."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.tui.terminal import POOL

SHELL = "<tool_call>shell<arg_key>command</arg_key><arg_value>{}</arg_value></tool_call>"
HOSTILE = "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\u202e"


def chat(work: Path, *flags: str, stdin: str = "", reader: str = "") -> subprocess.CompletedProcess[str]:
    work.mkdir(exist_ok=True)
    command = [*POOL, "chat", *flags]
    if reader:
        command = ["bash", "-c", f'set -o pipefail; "$@" | {reader}', "bash", *command]
    env = {**os.environ, "TERM": "xterm-256color"}
    return subprocess.run(command, cwd=work, input=stdin, capture_output=True, text=True, timeout=40, env=env)


def test_each_line_is_a_prompt(tmp_path: Path, server: Callable[..., str]) -> None:
    """One after the other, commands too; then the session goes on, and shows its last words."""
    url = server("t</think>one", f"t</think>two {HOSTILE}", f"t</think>{SHELL.format('exit 3')}", "t</think>three")
    flags = ("--base-url", url)
    first = chat(tmp_path / "work", *flags, stdin="first\nsecond \\\nline\n/mode\nlast, no end")
    assert first.returncode == 0
    assert first.stderr == ""
    told = first.stdout
    order = ["> first", "\none\n", "> second", "  line\n", "\ntwo \\x1b]52", "/mode\n", "> last, no end", "\nthree\n"]
    assert sorted(told.index(part) for part in order) == [told.index(part) for part in order]
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert "\x9b" not in told
    assert "[failed] $ exit 3 · exit 3" in told
    session = re.search(r"pool chat --base-url \S+ -r ([0-9a-f-]{36})\n$", told)
    assert session
    again = chat(tmp_path / "work", *flags, "-r", session[1], stdin="/status\n")
    assert "> last, no end" in again.stdout
    assert "1 call" in again.stdout
    assert "three" in again.stdout
    assert session[1] in again.stdout


def test_endings(tmp_path: Path, server: Callable[..., str]) -> None:
    """No server, a prompt that was not worked to its end, a reader that has gone: none of them is a success."""
    absent = chat(tmp_path / "work", "--base-url", "http://127.0.0.1:9", "--wait-server", "0", stdin="x\n")
    assert absent.returncode == 75
    assert "127.0.0.1:9" in absent.stdout
    url = server(f"t</think>{SHELL.format('true')}", "t</think>and on", "t</think>well")
    budget = chat(tmp_path / "work", "--base-url", url, "--max-turns", "1", stdin="do it\nand this\n")
    assert budget.returncode == 5
    assert "budget" in budget.stdout
    assert "> and this" in budget.stdout
    gone = chat(tmp_path / "work", "--base-url", url, stdin="a\nb\nc\n", reader="head -1")
    assert gone.returncode == 141
    assert gone.stderr == ""


def test_a_move_takes_the_conversation_along(tmp_path: Path, server: Callable[..., str]) -> None:
    """After `/move` commands run in the worktree, and the way back names it."""
    work = tmp_path / "work"
    work.mkdir()
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    for args in (("init", "-qb", "main"), ("commit", "-q", "--allow-empty", "-m", "First")):
        subprocess.run(["git", *identity, *args], cwd=work, check=True)
    url = server("t</think>yes", f"t</think>{SHELL.format('pwd > where.txt')}", "t</think>done")
    flags = ("--base-url", url, "--mode", "allow-all")
    talk = chat(work, *flags, stdin="first\n/move side\nsay where\n! pwd\n")
    tree = tmp_path / "work.worktrees" / "side"
    assert (tree / "where.txt").read_text() == f"{tree}\n", talk.stdout
    assert f"{tree}\n" in talk.stdout.partition("! pwd")[2]
    assert re.search(rf"pool chat -C {tree} --base-url \S+ -r [0-9a-f-]{{36}}\n$", talk.stdout)


def test_a_question_of_a_command_waits_for_nobody(tmp_path: Path, server: Callable[..., str]) -> None:
    """The lines that answer it are said; given as lines, they are done."""
    url = server(f"t</think>{SHELL.format('echo x > new.txt')}", "t</think>done")
    flags = ("--base-url", url, "--mode", "allow-all")
    told = chat(tmp_path / "work", *flags, stdin="write\n/undo\n/diff\n/undo files --now\n").stdout
    asked, done = told.index("nobody can be asked"), told.index("/undo files --now\n  1 file put back")
    assert "  only the files: /undo files --now" in told[asked:done]
    assert "+++ b/new.txt" in told[asked:done]
    assert not (tmp_path / "work" / "new.txt").exists()
