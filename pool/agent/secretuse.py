"""Secrets in a session: which there are, and which commands get them without a question."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pool.agent.rules.ruleset import RuleSet
from pool.agent.rules.syntax import COMMANDS, SHELL, Action, Rule, RuleError, parse_rule
from pool.config.files import Places
from pool.config.keyrings import Keyring, NoKeyring
from pool.config.settings import SettingsError
from pool.config.toolsecrets import FILE, KeptSecret, SecretStore
from pool.messages import Encoded, Message
from pool_tools.masking import Mask
from pool_tools.secretenv import NO_SECRETS, CommandSecret, CommandSecrets, wanted_secrets


class SecretUse:
    """The secrets of one session, and the pairs of secret and command that the user has allowed.

    notes are lines for people: what could not be had, and why.
    """

    def __init__(
        self,
        workspace: Path,
        secrets: CommandSecrets = NO_SECRETS,
        patterns: Mapping[str, Sequence[str]] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """patterns are the commands, as in a shell rule, that get a secret unasked, by its name."""
        self.secrets = secrets
        self.notes = list(notes)
        self._rules = {
            name: RuleSet(PurePosixPath(workspace), self._parsed(name, texts))
            for name, texts in (patterns or {}).items()
        }

    def wanted(self, tool: str, args: Mapping[str, Any]) -> tuple[str, ...]:
        """The secrets that a call would give to a command."""
        if not self.secrets or tool not in COMMANDS or not args.get("command"):
            return ()
        return wanted_secrets(args)

    def asked(self, wanted: Sequence[str], command: str) -> tuple[str, ...]:
        """Those of the wanted secrets that this command does not get unasked."""
        return tuple(name for name in wanted if not self._allowed(name, command))

    def _allowed(self, name: str, command: str) -> bool:
        """Whether each command of a line is one that gets the secret: a harmless one beside it could print it."""
        rules = self._rules.get(name)
        if rules is None or not rules.rules:
            return False
        script = rules.script(command)
        if script.unclear or script.files or not script.commands:
            return False
        return all(rules.allowing(one) is not None for one in script.commands)

    def _parsed(self, name: str, texts: Sequence[str]) -> list[Rule]:
        out: list[Rule] = []
        for text in texts:
            try:
                out.append(command_rule(text))
            except RuleError as error:
                self.notes.append(f"the secret {name}: {error}")
        return out


def masked(encode: Callable[[Message], Encoded], mask: Mask) -> Callable[[Message], Encoded]:
    """encode, for messages without secrets."""
    return (lambda message: encode(mask.within(message))) if mask else encode


def command_rule(pattern: str) -> Rule:
    """The rule for `gh *` or `shell(gh *)`. Raises `RuleError`, also for one that covers every command."""
    text = pattern.strip()
    rule = parse_rule(Action.ALLOW, text if text.startswith(f"{SHELL}(") else f"{SHELL}({text})")
    if not rule.words:
        raise RuleError(pattern, 0, "a secret goes to named commands only; without a pattern each use is asked about")
    return rule


def session_secrets(workspace: Path, *, with_values: bool = True) -> SecretUse:
    """The user's secrets that hold in a workspace. with_values: the keyring is asked, which may block for a while.

    Never raises: a secret that cannot be had is there without a value, and said.
    """
    places = Places.usual(os.environ)
    if not (places.user / FILE).exists():
        return SecretUse(workspace)
    store = SecretStore(places.user, Keyring(os.environ))
    try:
        every, kept = store.all(), store.of(workspace)
    except SettingsError as error:
        return SecretUse(workspace, notes=[f"no secrets for commands: {error}"])
    notes = list(store.warnings)
    values: dict[KeptSecret, str] = {}
    silent = ""
    for one in every if with_values else ():
        values[one], silent = _value(store, one, silent)
        if not values[one] and one in kept:
            notes.append(f"the secret {one.name} cannot be had: {silent}")
    made = {one: CommandSecret(one.name, one.variable, values.get(one, "")) for one in every}
    secrets = CommandSecrets([made[one] for one in kept], [made[one] for one in every if one not in kept])
    return SecretUse(workspace, secrets, {one.name: one.commands for one in kept}, notes)


def _value(store: SecretStore, secret: KeptSecret, silent: str) -> tuple[str, str]:
    """A value, "" if it cannot be had, and why. silent is why the keyring failed before: it is not waited for again."""
    if silent and not secret.value:
        return "", silent
    try:
        return store.value(secret), silent
    except NoKeyring as error:
        return "", str(error)
