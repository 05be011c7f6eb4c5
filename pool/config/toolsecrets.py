"""The secrets that the user keeps for commands: a list of names in a file, values in the keyring or in that file."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from pool.config.keyrings import Keyring, NoKeyring
from pool.config.privatefile import read_private
from pool.config.settings import SettingsError
from pool.config.writing import changing, write_whole
from pool_tools.frozen import frozen
from pool_tools.masking import LEAST_CHARS

FILE = "secrets.toml"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
MOST_CHARS = 64 * 1024
"""Longest value: a variable has room for 128 KiB on Linux."""

_HEAD = "# Secrets for commands (pool secrets). Nobody but you may read this file.\n\n"


class KeptIn(StrEnum):
    """Where a value is."""

    KEYRING = "keyring"
    FILE = "file"


@frozen
class KeptSecret:
    """One secret. variable is what a command finds it in; commands are patterns that get it unasked.

    folder is the only one, with all below, whose sessions have it, "" for all. value is "" if the keyring has it.
    """

    name: str
    variable: str
    commands: tuple[str, ...] = ()
    folder: str = ""
    kept: KeptIn = KeptIn.FILE
    value: str = field(default="", repr=False)

    @property
    def entry(self) -> str:
        """What the keyring calls it."""
        where = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:16] if self.folder else "everywhere"
        return f"secret:{self.name}:{where}"


class SecretStore:
    """The user's secrets. user is Pool's folder for configuration; warnings are what people should know of the file."""

    def __init__(self, user: Path, keyring: Keyring) -> None:
        self.path = user / FILE
        self.warnings: list[str] = []
        self._keyring = keyring

    def all(self) -> tuple[KeptSecret, ...]:
        """All of them. Raises `SettingsError` for a file that cannot be used."""
        text = read_private(self.path, self.warnings)
        if not text:
            return ()
        import tomllib

        try:
            rows: object = tomllib.loads(text).get("secrets", [])
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{self.path}: this is no TOML: {error}") from None
        found = [_secret(cast(Mapping[str, Any], row)) for row in cast(list[object], rows) if isinstance(row, dict)]
        return tuple(one for one in found if one is not None)

    def of(self, workspace: Path) -> tuple[KeptSecret, ...]:
        """Those that sessions in a workspace have, by name; one for a folder counts more than one for all."""
        here = Path(os.path.realpath(workspace))
        fitting = [one for one in self.all() if not one.folder or here.is_relative_to(one.folder)]
        nearest = {one.name: one for one in sorted(fitting, key=lambda one: len(one.folder))}
        return tuple(nearest[name] for name in sorted(nearest))

    def value(self, secret: KeptSecret) -> str:
        """Its value. Raises `NoKeyring` where the keyring does not give it."""
        if secret.kept is KeptIn.FILE:
            return secret.value
        found = self._keyring.get(secret.entry)
        if not found:
            raise NoKeyring(f"the keyring has no value for {secret.name} any more; add it again")
        return found

    def add(self, secret: KeptSecret, value: str, *, in_file: bool = False) -> tuple[KeptSecret, str]:
        """Keep a secret, in place of one of the same name and folder; what was kept, and why not in the keyring.

        in_file: the file is wanted. Raises `SettingsError` and OSError.
        """
        check_value(value)
        # First, so that a file which cannot be used leaves nothing in the keyring.
        self.all()
        why = ""
        kept = replace(secret, kept=KeptIn.FILE, value=value)
        if not in_file:
            try:
                self._keyring.put(secret.entry, value)
                kept = replace(secret, kept=KeptIn.KEYRING, value="")
            except NoKeyring as error:
                why = str(error)
        with changing(self.path):
            others = [one for one in self.all() if (one.name, one.folder) != (secret.name, secret.folder)]
            self._write([*others, kept])
        return kept, why

    def change(self, before: KeptSecret, after: KeptSecret) -> None:
        """Replace what is said of a secret; its value stays. Raises `SettingsError` and OSError."""
        with changing(self.path):
            self._write([after if one == before else one for one in self.all()])

    def remove(self, secret: KeptSecret) -> str:
        """Forget a secret; what could not be forgotten, "" if all was. Raises `SettingsError` and OSError."""
        with changing(self.path):
            self._write([one for one in self.all() if one != secret])
        if secret.kept is KeptIn.KEYRING:
            try:
                self._keyring.remove(secret.entry)
            except NoKeyring as error:
                return f"its value is still in the keyring ({secret.entry}): {error}"
        return ""

    def _write(self, secrets: Sequence[KeptSecret]) -> None:
        import tomlkit

        document: Any = tomlkit.document()
        rows: Any = tomlkit.aot()
        for one in secrets:
            row: Any = tomlkit.table()
            row.update({"name": one.name, "variable": one.variable, "kept": one.kept.value})
            row.update({"commands": list(one.commands)} if one.commands else {})
            row.update({"folder": one.folder} if one.folder else {})
            row.update({"value": one.value} if one.kept is KeptIn.FILE else {})
            rows.append(row)
        if secrets:
            document["secrets"] = rows
        write_whole(self.path, _HEAD + tomlkit.dumps(document))


def check_value(value: str) -> None:
    """Raise `SettingsError` for what cannot be a secret, without showing it."""
    if len(value.strip()) < LEAST_CHARS:
        raise SettingsError(
            f"a secret needs at least {LEAST_CHARS} characters: a shorter one would be replaced in harmless text too"
        )
    if len(value) > MOST_CHARS:
        raise SettingsError(f"a secret has at most {MOST_CHARS:,} characters; put a longer one into a file")
    if "\0" in value:
        raise SettingsError("a secret cannot hold a NUL character, as no variable can")


def _secret(row: Mapping[str, Any]) -> KeptSecret | None:
    name, variable = str(row.get("name", "")), str(row.get("variable", ""))
    if not NAME.fullmatch(name) or not NAME.fullmatch(variable):
        return None
    given: object = row.get("commands", [])
    commands = tuple(str(one) for one in cast(list[object], given)) if isinstance(given, list) else ()
    kept = KeptIn.KEYRING if row.get("kept") == KeptIn.KEYRING.value else KeptIn.FILE
    return KeptSecret(name, variable, commands, str(row.get("folder", "")), kept, str(row.get("value", "")))
