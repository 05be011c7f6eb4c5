"""The settings of a command: loaded from everything that counts, with the rules for calls checked in their place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pool.agent.rules.syntax import Action, RuleError, parse_rule
from pool.config.load import LoadedSettings, load_settings
from pool.config.settings import SettingsError


def settings_for(
    workspace: Path,
    env: Mapping[str, str],
    flags: Mapping[str, object] | None = None,
    profile: str = "",
    *,
    interactive: bool = False,
    with_key: bool = True,
) -> LoadedSettings:
    """As `load_settings`. Raises `SettingsError` also for a rule that cannot be understood, with its place."""
    loaded = load_settings(workspace, env, flags, profile, interactive=interactive, with_key=with_key)
    for fault in rule_faults(loaded):
        raise SettingsError(fault)
    return loaded


def rule_faults(loaded: LoadedSettings) -> list[str]:
    """What is wrong with the rules for calls, each with the file or flag that holds the rule."""
    given = loaded.settings
    faults: list[str] = []
    for action, texts in ((Action.DENY, given.deny), (Action.ASK, given.ask), (Action.ALLOW, given.allow)):
        name = f"approvals.{action.value}"
        for text in texts:
            try:
                parse_rule(action, text)
            except RuleError as error:
                origin = loaded.origin(name, text)
                place = f"{origin.place}:{origin.line}: {name}" if origin.line else origin.place or name
                faults.append(f"{place}: {error}")
    for hook in given.hooks:
        try:
            if hook.match:
                parse_rule(Action.DENY, hook.match)
        except RuleError as error:
            faults.append(f"hooks.{hook.name}.match: {error}")
    return faults
