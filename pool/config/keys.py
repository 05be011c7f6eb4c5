"""What a key of the configuration is: its name, kind, meaning, and what a checkout may do with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache

from pool.config.kinds import Kind
from pool_tools.frozen import frozen

PREFIX = "POOL_"


class Trust(StrEnum):
    """What the files of a checkout may do with a key before the user trusts them.

    FREE: set it. LOWER: set a lower number; 0 stands for none, the highest. NARROWER: choose what allows less. ADDS:
    add to the list, since all it can do is forbid. TRUSTED: nothing. OWNER: nothing, even when they are trusted.
    """

    FREE = "free"
    LOWER = "lower"
    NARROWER = "narrower"
    ADDS = "adds"
    TRUSTED = "trusted"
    OWNER = "owner"

    @property
    def widens(self) -> bool:
        """Whether a value may allow more than the user has allowed."""
        return self in (Trust.LOWER, Trust.NARROWER, Trust.TRUSTED)


TRUST_WORDS: Mapping[Trust, str] = {
    Trust.FREE: "may set it",
    Trust.LOWER: "may lower it",
    Trust.NARROWER: "may narrow it",
    Trust.ADDS: "may add to it",
    Trust.TRUSTED: "needs trust",
    Trust.OWNER: "never",
}


@frozen
class Key:
    """One key. name is dotted, as in TOML. field is its place in `Settings`, "" for keys that act while loading.

    doc is plain text, one or two sentences. make turns the value into what the field holds. variables stand in for the
    one that the name gives (`budgets.answer_tokens`: POOL_BUDGETS_ANSWER_TOKENS). flag is the option of `pool run`.
    danger says what an unwanted value could do; it is shown before a checkout is trusted. secret values are never
    shown. A list with adds grows from layer to layer. path: a file, relative to the folder of the file that names it.
    for_checkout: what is left of a value in a checkout's file, even a trusted one, and a word on what was taken away.
    lines gives the command lines in a value: trust in them covers the files of the checkout that they name.
    """

    name: str
    kind: Kind
    doc: str
    field: str = ""
    trust: Trust = Trust.TRUSTED
    variables: tuple[str, ...] = ()
    flag: str = ""
    danger: str = ""
    make: Callable[[object], object] | None = None
    secret: bool = False
    adds: bool = False
    path: bool = False
    for_checkout: Callable[[object], tuple[object, str]] | None = None
    lines: Callable[[object], tuple[str, ...]] | None = None

    @property
    def table(self) -> str:
        """The table that the key stands in, "" for the top."""
        return self.name.rpartition(".")[0]

    @property
    def environment(self) -> tuple[str, ...]:
        """Variables that set it, the first one that is set counts."""
        if not self.kind.textual:
            return ()
        return self.variables or (PREFIX + self.name.upper().replace(".", "_"),)


@cache
def keys() -> Mapping[str, Key]:
    """All keys by name, in the order in which they are shown."""
    from pool.config.keytable import KEYS

    return {key.name: key for key in KEYS}


def tables() -> Mapping[str, str]:
    """The tables and what they are about, in the order in which they are shown."""
    from pool.config.keytable import TABLES

    return TABLES
