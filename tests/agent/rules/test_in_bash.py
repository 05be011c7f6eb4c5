"""The real bash as the judge: what rules allow never runs what they do not."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pool.agent.rules.ruleset import RuleSet
from pool.agent.rules.syntax import Action, parse_rule

FORBIDDEN = "curl"
ALLOW = ["ls *", "cat *", "echo *", "git log *", "printf *", "test *", "read *", "env", "sed *", "sort *", "find *"]
REAL = ["bash", "sh", "cat", "env", "find", "nohup", "timeout", "xargs"]
SECONDS = 10

# Whole commands, the signs that join and quote, and words that change what others mean.
COMMANDS = [
    "ls -l", "echo a", "git log | cat", 'echo "a b"', "echo 'x'", "ls && echo a", "echo $(ls)", "x=1; echo $x",
    "cat <<E\nhi\nE\n", "cat <<'E'\n$x\nE\n", "(ls; echo)", "{ ls; }", "for f in a b; do echo $f; done", "echo a >outa",
    "if ls; then echo a; fi", "bash -c 'ls'", "find . -exec echo {} \\;", "env ls", "timeout 1 ls", "echo a # c\n",
    "[ -f a ] && ls", "echo \"$(echo 'a b')\"", 'echo "${x:-a}"', "echo $((1+2))", "echo a | xargs echo", "eval 'ls'",
    "cat <(ls)", "echo `ls`", "ls 2>/dev/null", "while read l; do echo $l; done <outa",
]  # fmt: skip
PIECES = [
    "curl", "curl x", "$(curl)", "`curl`", "<(curl)", "\\curl", "'curl'", 'cu""rl', "ls=curl", "x=curl", "$x", "${x}",
    "x='a[$(curl)]'", "ls='a[$(curl)]'", "((ls))", "$((x))", "$((", "))", "((", "${x:-", "}", "${x@P}", "{curl,x}",
    "ls() { curl; }", "alias ls=curl", "PATH=", "IFS=", "trap curl EXIT", "coproc", "function", "case x in x)", ";;",
    "esac", "if", "then", "fi", "do", "done", "while", "time", "!", "exec", "eval", "command", "xargs", "bash -c",
    ";", "&", "&&", "||", "|", "|&", "(", ")", "{", "$(", "`", '"', "'", "\\", "\n", "\\\n", "#", " # ", "$'", '$"',
    "<<E", "<<'E'", "<<-E", "\nE\n", "<<<", ">", ">>", "<", "&>", ">&", "2>&1", "outa", "bad", "=", "*", "[", "]]",
    "-v", "-exec", "\t", "\x0b", "\u00a0", "a", "-c",
]  # fmt: skip


@dataclass(frozen=True)
class Bench:
    """A folder with programs, of which one leaves a mark when it runs."""

    programs: Path
    work: Path
    mark: Path

    def run(self, command: str) -> None:
        subprocess.run(
            [self.programs / "bash", "-c", command],
            cwd=self.work,
            env={"PATH": str(self.programs), "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        )

    def traces(self) -> list[str]:
        """What a command left that it was not allowed to; forgotten by this."""
        found = ["the forbidden program ran"] if self.mark.exists() else []
        self.mark.unlink(missing_ok=True)
        for path in self.work.iterdir():
            if not path.name.startswith("out"):
                found.append(f"{path.name!r} was written")
            path.unlink()
        return found


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("bench")
    programs, work, mark = folder / "bin", folder / "work", folder / "mark"
    programs.mkdir()
    work.mkdir()
    for name in REAL:
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"no {name} here")
        os.symlink(os.path.realpath(path), programs / name)
    for name, does in {
        "ls": "exit 0",
        "git": "exit 0",
        "sed": "exit 0",
        "sort": "exit 0",
        FORBIDDEN: f": >{mark}",
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{does}\n")
        (programs / name).chmod(0o755)
    return Bench(programs, work, mark)


def ruleset(bench: Bench) -> RuleSet:
    texts = [*(f"shell({words})" for words in ALLOW), "write(out*)"]
    return RuleSet(PurePosixPath(bench.work), [parse_rule(Action.ALLOW, text) for text in texts])


@st.composite
def commands(draw: st.DrawFn) -> str:
    """A command that is fine, with a few pieces put in or taken out anywhere."""
    text = draw(st.sampled_from([" ", ";", "\n", " && ", " | "])).join(
        draw(st.lists(st.sampled_from(COMMANDS), min_size=1, max_size=2))
    )
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        cut = draw(st.integers(0, 2)) if draw(st.booleans()) else 0
        text = text[:at] + draw(st.sampled_from(PIECES)) + text[at + cut :]
    return text


@settings(max_examples=700, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(command=commands())
def test_an_allowed_command_never_runs_a_part_that_no_rule_allows(command: str, bench: Bench) -> None:
    if ruleset(bench).judge("shell", {"command": command}).action is Action.ALLOW:
        bench.run(command)
        assert bench.traces() == []


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_that_are_varied_are_mostly_allowed(command: str, bench: Bench) -> None:
    """Without this the test above could pass by allowing nothing."""
    assert ruleset(bench).judge("shell", {"command": command}).action is Action.ALLOW


def test_the_bench_sees_what_it_is_for(bench: Bench) -> None:
    bench.run("curl x; : > bad; : > outa")
    assert sorted(bench.traces()) == ["'bad' was written", "the forbidden program ran"]
    assert bench.traces() == []
