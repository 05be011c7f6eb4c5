"""A configuration file as a document whose comments and order are kept while it is changed."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any, cast

from pool.config.files import PROFILES
from pool.config.settings import SettingsError

NEW_FILE = "# Pool's configuration. All keys: pool config reference\n"
"""What a file begins with that was not there."""


def table_of(document: Any, names: Sequence[str]) -> MutableMapping[str, Any]:
    """A table of a document, made if it is not there. Raises `SettingsError` where something else stands."""
    import tomlkit

    at: Any = document
    for name in names:
        if name not in at:
            at[name] = tomlkit.table(is_super_table=name == PROFILES)
        at: Any = at[name]
        if not isinstance(at, MutableMapping):
            raise SettingsError(f"{'.'.join(names)}: something else than a table stands there; mend the file by hand")
    return cast(MutableMapping[str, Any], at)
