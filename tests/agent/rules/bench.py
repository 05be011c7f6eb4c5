"""Rules for the tests of commands."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from pool.agent.rules.ruleset import RuleSet
from pool.agent.rules.syntax import Action, parse_rule

ALLOW = [
    "shell(git log *)",
    "shell(git status)",
    "shell(git diff *)",
    "shell(git commit *)",
    "shell(ls *)",
    "shell(head *)",
    "shell(cat *)",
    "shell(grep *)",
    "shell(wc *)",
    "shell(sed *)",
    "shell(awk *)",
    "shell(sort *)",
    "shell(find *)",
    "shell(python *)",
    "shell(env)",
    "shell(make test)",
    "shell(rm build/*)",
    "shell(tee *)",
    "shell(PYTHONPATH=src pytest *)",
    "write(out/**)",
    "read(/etc/hosts)",
]
ALLOWED, ASKS = Action.ALLOW, None


def rules(
    folder: Path, *, allow: list[str] = ALLOW, ask: list[str] | None = None, deny: list[str] | None = None
) -> RuleSet:
    given = {Action.ALLOW: allow, Action.ASK: ask or [], Action.DENY: deny or []}
    return RuleSet(PurePosixPath(folder), [parse_rule(action, text) for action, some in given.items() for text in some])


def judged(ruleset: RuleSet, command: str) -> Action | None:
    return ruleset.judge("shell", {"command": command}).action
