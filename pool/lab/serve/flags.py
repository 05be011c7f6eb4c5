"""A command as flags with reasons, and reading a command that somebody else wrote."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from pool_tools.frozen import frozen

OWN_REASON = "given by you"
SHORT_NAMES = {
    "-tp": "--tensor-parallel-size",
    "-sc": "--speculative-config",
    "-cc": "--compilation-config",
    "-O": "--compilation-config",
    "-np": "--parallel",
    "-c": "--ctx-size",
}
"""Second names of flags that Pool looks at (vLLM, llama.cpp)."""


@frozen
class Flag:
    """A flag with its values and why it is there. name may be "" for a positional argument."""

    name: str
    values: tuple[str, ...]
    reason: str

    @property
    def words(self) -> tuple[str, ...]:
        return (self.name, *self.values) if self.name else self.values


@frozen
class Command:
    """A program with its flags. env: variables that it is given besides."""

    program: tuple[str, ...]
    flags: tuple[Flag, ...]
    env: tuple[tuple[str, str, str], ...] = ()
    """Name, value, reason."""

    @property
    def words(self) -> list[str]:
        """All words, ready to be run."""
        return [*self.program, *(word for flag in self.flags for word in flag.words)]

    def with_extra(self, words: Sequence[str]) -> Command:
        """With a person's own flags: one that is there already takes the new values, in its place."""
        flags = list(self.flags)
        for flag in read_flags(words):
            place = next((n for n, old in enumerate(flags) if old.name == flag.name and flag.name), None)
            if place is None:
                flags.append(flag)
            else:
                flags[place] = flag
        return replace(self, flags=tuple(flags))

    def shell(self) -> str:
        """As lines to paste into a shell, one flag on each."""
        first = [f"{name}={shlex.quote(value)}" for name, value, _ in self.env]
        lines = [" ".join([*first, *map(shlex.quote, self.program)])]
        for flag in self.flags:
            text = " ".join(map(shlex.quote, flag.words))
            if not flag.name and len(lines) == 1:
                lines[0] += f" {text}"
            else:
                lines.append(text)
        return " \\\n    ".join(lines)


def read_flags(words: Iterable[str]) -> list[Flag]:
    """Flags of a command line: `--name value ...`, `--name=value`, and what is no flag's value with the name ""."""
    out: list[Flag] = []
    for word in words:
        if word.startswith("-") and word != "-" and not _number(word):
            name, sign, value = word.partition("=")
            out.append(Flag(SHORT_NAMES.get(name, name), (value,) if sign else (), OWN_REASON))
        elif out:
            out[-1] = replace(out[-1], values=(*out[-1].values, word))
        else:
            out.append(Flag("", (word,), OWN_REASON))
    return out


@frozen
class Arguments:
    """What a command line says, by flag. A flag that is there twice counts by its last place, as servers do it."""

    flags: dict[str, str]

    @classmethod
    def of(cls, words: Iterable[str]) -> Arguments:
        """Read words; underscores in names count as hyphens, as vLLM has it."""
        flags = {flag.name.replace("_", "-"): " ".join(flag.values) for flag in read_flags(words) if flag.name}
        return cls(flags)

    def __contains__(self, name: str) -> bool:
        return name in self.flags

    def text(self, name: str) -> str:
        """A flag's value, "" without one."""
        return self.flags.get(name, "")

    def number(self, name: str) -> int | None:
        """A flag's value as a whole number; `4k` is 4,000 and `4K` 4,096, as vLLM reads them. None if it is none."""
        text = self.text(name)
        digits, unit = text.rstrip("kKmM"), text[-1:]
        if not digits.isdecimal() or len(text) - len(digits) > 1:
            return None
        return int(digits) * {"k": 1_000, "K": 1_024, "m": 10**6, "M": 2**20}.get(unit, 1)

    def decimal(self, name: str) -> float | None:
        """A flag's value as a number."""
        try:
            return float(self.text(name))
        except ValueError:
            return None

    def object(self, name: str) -> dict[str, Any]:
        """A flag's value as a JSON object; empty if it is none. `--name.key value` counts as well."""
        try:
            value: Any = json.loads(self.text(name) or "{}")
        except ValueError:
            value = {}
        out = dict(cast(dict[str, Any], value)) if isinstance(value, dict) else {}
        for flag, text in self.flags.items():
            if flag.startswith(f"{name}."):
                key = flag.removeprefix(f"{name}.").replace("-", "_")
                out[key] = int(text) if text.isdecimal() else text
        return out


def _number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
