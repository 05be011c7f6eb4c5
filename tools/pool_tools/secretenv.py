"""Secrets that the user keeps for commands: the model knows their names, commands get the values as variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, cast

from pool_tools.api import ToolError, ToolSpec
from pool_tools.frozen import frozen
from pool_tools.masking import Mask

PARAMETER = "secrets"
"""The argument of a call by which a command is given secrets."""


@frozen
class CommandSecret:
    """A secret: its name, the variable that a command finds it in, and its value, "" if it cannot be had just now."""

    name: str
    variable: str
    value: str = field(repr=False)


class CommandSecrets:
    """The secrets of one session. others are not for its commands; their values are not shown either."""

    def __init__(self, secrets: Sequence[CommandSecret] = (), others: Sequence[CommandSecret] = ()) -> None:
        self._secrets = {secret.name: secret for secret in secrets}
        values = {secret.name: secret.value for secret in secrets if secret.value}
        self.mask = Mask(values, [(secret.name, secret.value) for secret in others if secret.value])

    def masking(self) -> CommandSecrets:
        """The same for commands that are given none: no output shows a value."""
        view = CommandSecrets()
        view.mask = self.mask
        return view

    def __bool__(self) -> bool:
        return bool(self._secrets)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self._secrets)

    def variable(self, name: str) -> str:
        """The variable of a secret, "" for a name that is none."""
        return self._secrets[name].variable if name in self._secrets else ""

    def environment(self, names: Sequence[str]) -> dict[str, str]:
        """Variables for a command that gets these secrets. Raises `ToolError` for one that cannot be had."""
        out: dict[str, str] = {}
        for name in names:
            secret = self._secrets.get(name)
            if secret is None:
                raise ToolError(f"There is no secret {name!r}. There are: {', '.join(self.names) or 'none'}.")
            if not secret.value:
                raise ToolError(f"The secret {name} cannot be had just now. The user can see why: pool secrets list.")
            out[secret.variable] = secret.value
        return out

    def parameter(self) -> dict[str, Any]:
        """The argument in the schema of a tool that runs commands."""
        known = ", ".join(f"{s.name} as ${s.variable}" for s in self._secrets.values())
        return {
            "type": "array",
            "items": {"type": "string", "enum": list(self.names)},
            "description": f"Secrets that the command needs in its environment: {known}. Values are never shown",
        }


NO_SECRETS = CommandSecrets()


def wanted_secrets(args: Mapping[str, Any]) -> tuple[str, ...]:
    """The names that a call asks for, whatever form they have."""
    given: object = args.get(PARAMETER)
    items = cast(Sequence[object], given) if isinstance(given, (list, tuple)) else [given] if given else []
    return tuple(dict.fromkeys(str(item) for item in items))


def with_secrets(spec: ToolSpec, secrets: CommandSecrets) -> ToolSpec:
    """The specification of a tool that runs commands, which can be given secrets where there are any."""
    if not secrets:
        return spec
    properties = {**spec.parameters["properties"], PARAMETER: secrets.parameter()}
    return replace(spec, parameters={**spec.parameters, "properties": properties})


def secrets_note(args: Mapping[str, Any], secrets: CommandSecrets) -> str:
    """What the title of a preview says of the secrets that a call asks for, "" for none."""
    wanted = wanted_secrets(args) if secrets else ()
    return f", with the secret {', '.join(f'{name} (${secrets.variable(name)})' for name in wanted)}" if wanted else ""
