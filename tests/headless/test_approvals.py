"""`pool approvals`: what is kept for a checkout, where, and forgetting it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pool.agent.rules.kept import KeptApprovals
from pool.agent.rules.syntax import Action, parse_rule


class Shell:
    """A checkout with two kept rules and a kept call, and the command in it."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        self.env = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}
        self.kept = KeptApprovals(self.work, folder / "state/pool")
        rules = [parse_rule(Action.ALLOW, text) for text in ("shell(git log *)", "write(src/**)")]
        self.kept.add(rules, [("mark", "shell: python -c 'x\x1b[31m'")])

    def run(self, *args: str) -> tuple[int, str, str]:
        argv = [sys.executable, "-m", "pool", "approvals", *args, "-C", str(self.work)]
        done = subprocess.run(argv, env=self.env, capture_output=True, text=True, timeout=30)
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_it_lists_what_is_kept_where_and_the_rules_of_settings(shell: Shell, tmp_path: Path) -> None:
    config = tmp_path / "config/pool/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[approvals]\ndeny = ["shell(curl *)"]\n')
    code, out, err = shell.run()
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"approved for good in {shell.work}, kept in {shell.kept.path}:",
        "  allow shell(git log *)",
        "  allow write(src/**)",
        "  allow this call alone: shell: python -c 'x\\x1b[31m'",
        "from settings:",
        f"  deny shell(curl *)   {config}:2",
    ]


def test_it_forgets_by_exact_text(shell: Shell) -> None:
    code, out, _ = shell.run("forget", "shell(git log *)")
    assert (code, "forgotten: shell(git log *)" in out) == (0, True)
    assert [rule.text for rule in shell.kept.load().rules] == ["write(src/**)"]
    code, _, err = shell.run("forget", "write(src/*)")
    assert (code, "did you mean 'write(src/**)'?" in err) == (2, True)
    code, _, _ = shell.run("forget", "shell: python -c 'x\\x1b[31m'")
    assert (code, shell.kept.load().calls) == (0, ())


def test_it_forgets_all_also_what_is_damaged(shell: Shell) -> None:
    shell.kept.path.write_text("{")
    code, _, err = shell.run()
    assert (code, str(shell.kept.path) in err) == (2, True)
    assert shell.run("forget", "all")[:2] == (0, "forgotten: all\n")
    code, out, _ = shell.run()
    assert (code, out.splitlines()[1]) == (0, "  nothing")
    assert shell.run("forget", "all")[1] == "there was nothing to forget\n"
    assert shell.run("forget")[0] == 2
