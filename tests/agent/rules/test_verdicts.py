"""Wildcards, deny and ask rules, reasons, and tools beside the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.agent.rules.syntax import Action
from tests.agent.rules.bench import ALLOWED, ASKS, judged, rules

DANGEROUS = [
    "sudo ls",
    "$x",
    'eval "$x"',
    "PATH=/evil ls",
    "python -c 'x'",
    "python <<E\nx\nE\n",
    "curl x | bash",
    "find . -delete",
    "git -c core.sshCommand=x fetch",
    "source x",
    "dd if=x of=/dev/sda",
    "f() { ls; }; f",
    "ls > x",
    "rm -rf /",
    "time ! ls",
    "nohup coproc ls",
    "nice x=1 ls",
    "tar xf x --to-command=y",
    "sqlite3 < x",
]


@pytest.mark.parametrize("command", DANGEROUS)
def test_a_wildcard_for_everything_does_not_cover_what_is_dangerous(command: str, tmp_path: Path) -> None:
    assert judged(rules(tmp_path, allow=["shell(*)"]), command) is ASKS


@pytest.mark.parametrize(
    "command", ["ls", "make -j4 && ./run", "curl https://example.org", "rm -rf build", "python x.py"]
)
def test_a_wildcard_for_everything_covers_plain_commands(command: str, tmp_path: Path) -> None:
    assert judged(rules(tmp_path, allow=["shell"]), command) is ALLOWED


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("shell(sudo *)", "sudo ls"),
        ("shell(python -c 'print(1)')", "python -c 'print(1)'"),
        ("shell(find . -delete)", "find . -delete"),
        ("shell(git log --output=x *)", "git log --output=x -3"),
        ("shell(./run.sh *)", "./run.sh a"),
        ("shell(source .venv/bin/activate)", "source .venv/bin/activate"),
    ],
)
def test_what_a_rule_spells_it_covers(rule: str, command: str, tmp_path: Path) -> None:
    assert judged(rules(tmp_path, allow=["shell(ls)", rule]), command) is ALLOWED


def test_a_wildcard_in_the_middle_is_one_plain_word(tmp_path: Path) -> None:
    ruleset = rules(tmp_path, allow=["shell(git * main)"])
    assert judged(ruleset, "git show main") is ALLOWED
    for command in ("git main", "git a b main", "git $x main", 'git "$x" main', "git config main", "git show main x"):
        assert judged(ruleset, command) is ASKS, command


DENIED = [
    "curl x",
    "\\curl x",
    "'curl' x",
    'cu"r"l x',
    "/usr/bin/curl x",
    "CURL x",
    "command curl x",
    "env A=1 curl x",
    "A=1 curl x",
    "sudo -n curl x",
    "timeout 5 curl x",
    "ls; curl x",
    "ls | xargs curl",
    "echo $(curl x)",
    "echo `curl x`",
    'echo "$(curl x)"',
    "bash -c 'ls; curl x'",
    "eval curl x",
    "find . -exec curl {} \\;",
    "cat <(curl x)",
    "uv run curl x",
    "npx curl",
    "if ls; then curl x; fi",
    "$z; curl x",  # one part is not understood, another is denied
    "cat <<E\nhi\nE\ncurl x",
    "git push",
    "git -C sub push",
    "git --no-pager push origin main",
    "git push --force",
]


@pytest.mark.parametrize("command", DENIED)
def test_deny_sees_through_disguises_and_wins(command: str, tmp_path: Path) -> None:
    ruleset = rules(
        tmp_path, allow=["shell(*)", "shell(curl *)", "shell(git push *)"], deny=["shell(curl *)", "shell(git push *)"]
    )
    assert judged(ruleset, command) is Action.DENY


@pytest.mark.parametrize(
    "command",
    [
        "$x",
        "cu${y}rl x",
        "git $x",
        'bash -c "$x"',
        "cat x | bash",
        "ls (",
        "f() { :; }; f",
        "git {push,}",
        "git ${x:-push}",
    ],
)
def test_what_may_be_denied_asks(command: str, tmp_path: Path) -> None:
    verdict = rules(tmp_path, allow=["shell(*)"], deny=["shell(curl *)", "shell(git push *)"]).judge(
        "shell", {"command": command}
    )
    assert verdict.action is Action.ASK
    assert verdict.guards


@pytest.mark.parametrize("command", ["echo curl", "grep curl x", "git log push", "git commit -m curl", "ls"])
def test_deny_is_about_commands_and_not_about_words(command: str, tmp_path: Path) -> None:
    ruleset = rules(tmp_path, allow=["shell(*)"], deny=["shell(curl *)", "shell(git push *)"])
    assert judged(ruleset, command) is ALLOWED


def test_ask_wins_over_allow(tmp_path: Path) -> None:
    ruleset = rules(tmp_path, ask=["shell(git commit *)"])
    assert judged(ruleset, "git commit -m x") is Action.ASK
    assert judged(ruleset, "git log; git commit") is Action.ASK
    assert judged(ruleset, "git log") is ALLOWED


def test_a_reason_names_the_rule_and_the_part(tmp_path: Path) -> None:
    ruleset = rules(tmp_path, deny=["shell(curl *)"])
    assert (
        ruleset.judge("shell", {"command": "ls; curl -s x"}).why == "the rule `deny shell(curl *)` is about `curl -s x`"
    )
    assert "`make deploy`" in ruleset.judge("shell", {"command": "ls && make deploy"}).why
    assert "not understood" in rules(tmp_path).judge("shell", {"command": "ls ("}).why


def test_writing_where_edits_run_unasked_needs_no_rule(tmp_path: Path) -> None:
    ruleset = rules(tmp_path)
    (tmp_path / "away").symlink_to("/tmp")
    for target, expected in [("x", ALLOWED), ("/tmp/x", ASKS), (".git/x", ASKS), ("away/x", ASKS)]:
        verdict = ruleset.judge("shell", {"command": f"ls > {target}"}, free_writes=True)
        assert verdict.action is expected, target


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/link").symlink_to("/etc")
    (tmp_path / "sub").symlink_to("/etc")
    assert judged(rules(tmp_path), "ls > out/link/x") is ASKS
    assert judged(rules(tmp_path), "cd sub && ls") is ASKS


def test_jobs_run_shell_commands_too(tmp_path: Path) -> None:
    ruleset = rules(tmp_path, deny=["shell(curl *)"])
    assert ruleset.judge("job", {"action": "start", "command": "ls; curl x"}).action is Action.DENY
    assert ruleset.judge("job", {"action": "start", "command": "git log"}).action is ALLOWED
    assert ruleset.judge("job", {"action": "list"}).action is None


def test_git_actions(tmp_path: Path) -> None:
    ruleset = rules(
        tmp_path, allow=["git(push origin *)", "shell(git fetch *)"], deny=["shell(git stash *)", "git(branch)"]
    )
    verdicts = {
        ("push", "origin", "main"): ALLOWED,
        ("push", "other", "main"): ASKS,
        ("push", "", ""): ASKS,
        ("fetch", "origin", ""): ASKS,  # an allow rule for the shell does not reach out of the sandbox
        ("stash", "", ""): Action.DENY,
        ("branch", "x", ""): Action.DENY,
    }
    for (action, name, rev), expected in verdicts.items():
        assert ruleset.judge("git", {"action": action, "name": name, "rev": rev}).action is expected, action


def test_huge_and_deep_commands_end_soon(tmp_path: Path) -> None:
    ruleset = rules(tmp_path)
    for command in [
        "(" * 20_000,
        "ls " + "$(" * 5_000,
        "ls; " * 10_000,
        "ls " + "x" * 100_000,
        "{" * 9_000,
        "`" * 9_001,
        "ls <<E\n" * 3_000,
    ]:
        assert judged(ruleset, command) in (ASKS, ALLOWED)
    assert judged(ruleset, "(" * 60 + "ls" + ")" * 60) is ASKS
