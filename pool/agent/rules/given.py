"""The rules that a run is given by its settings."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import PurePosixPath

from pool.agent.rules.ruleset import RuleSet
from pool.agent.rules.syntax import MCP, SWITCHED, Action, Rule, RuleError, parse_rule
from pool.config.settings import Settings, SettingsError


def check_rules(settings: Settings) -> None:
    """Raise `SettingsError` for a rule that cannot be understood, whatever the tools are."""
    _rules(settings)


def rules_of(settings: Settings, tools: Collection[str]) -> RuleSet:
    """The rules of the settings over their workspace. Raises `SettingsError` for a bad rule or an unknown tool."""
    rules = _rules(settings)
    for rule in rules:
        # Which tools a server has is known only once it has started.
        if rule.tool not in tools and rule.tool not in SWITCHED and not rule.tool.startswith(MCP):
            near = difflib.get_close_matches(rule.tool, tools, n=1)
            meant = f"did you mean {near[0]}? " if near else ""
            why = f"there is no tool {rule.tool!r}; {meant}The tools are {', '.join(tools)}"
            raise _refused(rule.action, RuleError(rule.text, 0, why))
    return RuleSet(PurePosixPath(settings.workspace), rules)


def _rules(settings: Settings) -> list[Rule]:
    texts = ((Action.DENY, settings.deny), (Action.ASK, settings.ask), (Action.ALLOW, settings.allow))
    found: list[Rule] = []
    for action, some in texts:
        for text in some:
            try:
                found.append(parse_rule(action, text))
            except RuleError as error:
                raise _refused(action, error) from None
    return found


def _refused(action: Action, error: RuleError) -> SettingsError:
    return SettingsError(f"--{action.value}: {error}")
