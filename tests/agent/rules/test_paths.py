from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from pool.agent.rules.ruleset import RuleSet
from pool.agent.rules.syntax import Action, parse_rule

PATHS = [
    # rule, tool, path, whether it is met
    ("write(src/**)", "write", "src/a/b.py", True),
    ("write(src/**)", "edit", "src/a.py", True),
    ("write(src/**)", "write", "./src/../src/a.py", True),
    ("write(src/**)", "write", "src/../x", False),
    ("write(src/**)", "write", "other/src/a", False),
    ("write(src/**)", "read", "src/a", False),
    ("edit(*.py)", "edit", "deep/down/a.py", True),
    ("edit(*.py)", "write", "a.py", False),
    ("edit(./*.py)", "edit", "a.py", True),
    ("edit(./*.py)", "edit", "deep/a.py", False),
    ("edit(*.{js,ts})", "edit", "a/b.ts", True),
    ("write(docs/*)", "write", "docs/a/b", False),
    ("write", "write", "anything", True),
    ("read(.env)", "read", "sub/.env", True),
    ("read(.env)", "search", ".env", True),
    ("read(.env)", "list", ".env", True),
    ("list(secret)", "read", "secret", False),
]


def ruleset(folder: Path, *rules: tuple[Action, str]) -> RuleSet:
    return RuleSet(PurePosixPath(folder), [parse_rule(action, text) for action, text in rules])


@pytest.mark.parametrize("action", [Action.ALLOW, Action.ASK, Action.DENY])
@pytest.mark.parametrize(("rule", "tool", "path", "met"), PATHS)
def test_path_rules(action: Action, rule: str, tool: str, path: str, met: bool, tmp_path: Path) -> None:
    verdict = ruleset(tmp_path, (action, rule)).judge(tool, {"path": path})
    assert verdict.action is (action if met else None)


def test_deny_over_ask_over_allow(tmp_path: Path) -> None:
    rules = [(Action.ALLOW, "write(src/**)"), (Action.ASK, "edit(*.py)"), (Action.DENY, "write(src/gen/**)")]
    both = ruleset(tmp_path, *rules), ruleset(tmp_path, *reversed(rules))
    for found in both:
        assert found.judge("write", {"path": "src/a"}).action is Action.ALLOW
        assert found.judge("edit", {"path": "src/a.py"}).action is Action.ASK
        assert found.judge("edit", {"path": "src/gen/a.py"}).action is Action.DENY


def test_absolute_patterns_and_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    found = ruleset(
        tmp_path / "work", (Action.DENY, "read(/etc/**)"), (Action.DENY, "read(~/keys/*)"), (Action.DENY, "write")
    )
    assert found.judge("read", {"path": "/etc/passwd"}).action is Action.DENY
    assert found.judge("read", {"path": str(tmp_path / "home/keys/a")}).action is Action.DENY
    assert found.judge("read", {"path": "etc/passwd"}).action is None
    assert found.judge("write", {"path": "/anywhere/x"}).action is Action.DENY


def test_links_do_not_lead_around_a_rule(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "secret").mkdir()
    (work / "src/link").symlink_to(work / "secret")
    (work / "alias").symlink_to(work / "src")
    found = ruleset(
        work, (Action.ALLOW, "write(src/**)"), (Action.DENY, "write(secret/**)"), (Action.DENY, "write(alias/no)")
    )
    assert found.judge("write", {"path": "src/link/x"}).action is Action.DENY
    assert found.judge("write", {"path": "alias/x"}).action is Action.ALLOW
    assert found.judge("write", {"path": "alias/no"}).action is Action.DENY
    (work / "src/out").symlink_to(tmp_path)
    assert found.judge("write", {"path": "src/out/x"}).action is None


def test_no_wildcard_reaches_what_git_runs(tmp_path: Path) -> None:
    wide = ruleset(tmp_path, (Action.ALLOW, "write(**)"), (Action.ALLOW, "write(sub/**)"))
    assert wide.judge("write", {"path": ".git/hooks/pre-commit"}).action is None
    assert wide.judge("write", {"path": "sub/.git/config"}).action is None
    spelled = ruleset(tmp_path, (Action.ALLOW, "write(.git/info/*)"))
    assert spelled.judge("write", {"path": ".git/info/exclude"}).action is Action.ALLOW


def test_tools_without_a_pattern(tmp_path: Path) -> None:
    found = ruleset(tmp_path, (Action.ALLOW, "mcp__docs__search"), (Action.DENY, "mcp__docs__delete"))
    assert found.judge("mcp__docs__search", {"q": "x"}).action is Action.ALLOW
    assert found.judge("mcp__docs__delete", {}).action is Action.DENY
    assert found.judge("mcp__docs__other", {}).action is None
