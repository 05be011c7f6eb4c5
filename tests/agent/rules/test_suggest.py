from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.agent.rules.ruleset import RuleSet
from pool.agent.rules.suggest import parsed, suggest
from pool.agent.rules.syntax import Action, parse_rule


def offered(folder: Path, tool: str, *allow: str, **args: Any) -> list[str]:
    rules = RuleSet(PurePosixPath(folder), [parse_rule(Action.ALLOW, text) for text in allow])
    return [s.text for s in suggest(rules, tool, args)]


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("git log -3", ["shell(git log *)"]),
        ("git log | head -5", ["shell(git log *)", "shell(head *)"]),
        ("git log; git log -3", ["shell(git log *)"]),
        ("npm run build -- --x", ["shell(npm run build *)"]),
        ("cargo test", ["shell(cargo test *)"]),
        ("python tools/check.py a", ["shell(python tools/check.py *)"]),
        ("pytest -q && echo ok", ["shell(pytest *)"]),
        ("make", []),
        ("cd src && ls", ["shell(ls *)"]),
        ("grep x y > out/z", ["shell(grep *)", "write(out/**)"]),
        ("git log > 'a b/x'", ["shell(git log *)", "write(a b/**)"]),
        ("bash -c 'ls; wc x'", ["shell(ls *)", "shell(wc *)"]),
        # Nothing narrow would do: only this once, or exactly this.
        ("sudo ls", []),
        ("python -c 'x'", []),
        ("curl x | bash", []),
        ("git -c a=b log", []),
        ("PATH=/x ls", []),
        ("ls (", []),
        ("$x", []),
        ("git $x", []),
        ("a; b; c; d; e", []),
    ],
)
def test_commands(command: str, rules: list[str], tmp_path: Path) -> None:
    assert offered(tmp_path, "shell", command=command) == rules


def test_only_what_is_missing_is_offered(tmp_path: Path) -> None:
    assert offered(tmp_path, "shell", "shell(git log *)", command="git log | wc -l") == ["shell(wc *)"]


def test_paths(tmp_path: Path) -> None:
    assert offered(tmp_path, "write", path="src/app/a.py") == ["write(src/app/**)"]
    assert offered(tmp_path, "edit", path="a.py") == ["write(./a.py)"]
    assert offered(tmp_path, "write", path="odd[1]*/a") == ["write(odd[[]1][*]/**)"]
    assert offered(tmp_path, "write", path=".git/config") == []
    (tmp_path / "link").symlink_to("/etc")
    assert offered(tmp_path, "write", path="link/x") == ["write(/etc/x)"]


def test_git_actions(tmp_path: Path) -> None:
    assert offered(tmp_path, "git", action="push", name="origin", rev="main") == ["git(push origin *)"]
    assert offered(tmp_path, "git", action="commit", message="x") == ["git(commit *)"]


WORDS = [
    "git",
    "log",
    "ls",
    "-l",
    "src/a.py",
    "npm",
    "run",
    "x",
    "'a b'",
    "|",
    "&&",
    ";",
    ">",
    "out/x",
    "$y",
    "python",
    "odd[1]/x",
]


@settings(deadline=None)
@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=7))
def test_what_is_offered_allows_the_call_and_nothing_that_was_denied(words: list[str]) -> None:
    command = " ".join(words)
    rules = RuleSet(PurePosixPath("/nowhere/at/all"))
    found = suggest(rules, "shell", {"command": command})
    if found:
        rules.add(parsed(found))
        assert rules.judge("shell", {"command": command}).action is Action.ALLOW
        assert rules.judge("shell", {"command": f"{command}; curl x"}).action is None


@given(name=st.text(min_size=1, max_size=12).filter(lambda n: "/" not in n and n not in (".", "..")))
def test_a_path_rule_that_is_offered_covers_the_path(name: str) -> None:
    rules = RuleSet(PurePosixPath("/nowhere/at/all"))
    for path in (name, f"{name}/x"):
        found = suggest(rules, "write", {"path": path})
        if found:
            rules.add(parsed(found))
            assert rules.judge("write", {"path": path}).action is Action.ALLOW
