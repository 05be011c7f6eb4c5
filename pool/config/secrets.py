"""Which API key counts, and a warning wherever a secret stands in a file in clear."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import cast
from urllib.parse import urlsplit

from pool.config.credentials import kept_key, key_from_command, key_from_variable, warn_of_readers
from pool.config.files import Places
from pool.config.merge import Merge

_SECRET_HEADER = r"(?i)auth|cookie|key|token|secret"
_SECRET_VARIABLE = r"(?i)(?:^|_)(?:key|token|secret|pass(?:word|wd)?|pat|credentials?)$"
_REFERENCE = "${"


def api_key(merge: Merge, env: Mapping[str, str], places: Places, warnings: list[str]) -> str:
    """The API key for the server that was chosen, "" for none. What was set latest counts; else the user's kept keys.

    Raises `SettingsError` for a command that fails or a file of keys that cannot be read.
    """
    warn_of_secrets(merge, warnings)
    names = ("server.api_key", "server.api_key_command", "server.api_key_env")
    order, _, name = max((merge.order(n), i, n) for i, n in enumerate(names))
    value = str(merge.values[name])
    if not order or not value:
        return kept_key(places.credentials, str(merge.values["server.base_url"]), env, warnings)
    place = str(merge.origin(name))
    if name == "server.api_key_env":
        return key_from_variable(value, env, warnings, place)
    return key_from_command(value, place) if name == "server.api_key_command" else value


def warn_of_secrets(merge: Merge, warnings: list[str]) -> None:
    """Warn of every secret that stands in a file in clear."""
    headers = cast(tuple[tuple[str, str], ...], merge.values["server.headers"])
    found = {
        "server.api_key": ("an API key", bool(merge.values["server.api_key"])),
        "server.headers": ("a secret", any(re.search(_SECRET_HEADER, header) for header, _ in headers)),
        "server.base_url": ("a password", _has_password(str(merge.values["server.base_url"]))),
    }
    for name, (what, there) in found.items():
        source = merge.source(name)
        if not there or source is None:
            continue
        origin = merge.origin(name)
        remedy = "`pool config key` keeps keys out of such files, or use server.api_key_env"
        if name == "server.api_key":
            remedy = "`pool config key --move` takes it out of there, or use server.api_key_env"
        warnings.append(f"{origin.place}:{origin.line}: {name} holds {what} in clear; {remedy}")
        warn_of_readers(source.path, warnings)
    for name, what in _within_tables(merge):
        source = merge.source(name)
        if source is not None:
            place = merge.origin(name).place
            remedy = f"`{_REFERENCE}NAME}}` in its place stands for a variable of your environment"
            warnings.append(f"{place}: {what} seems to hold a secret in clear; {remedy}")
            warn_of_readers(source.path, warnings)


def _within_tables(merge: Merge) -> Iterator[tuple[str, str]]:
    """Keys with a secret in clear somewhere in their value, and where in it."""
    for name, server in cast(Mapping[str, Mapping[str, object]], merge.values["mcp_servers"]).items():
        for field, secret in (("headers", _SECRET_HEADER), ("env", _SECRET_VARIABLE)):
            for leaf in _in_clear(cast(Mapping[str, str], server.get(field, {})).items(), secret):
                yield "mcp_servers", f"mcp_servers.{name}.{field}.{leaf}"
    headers = cast(tuple[tuple[str, str], ...], merge.values["web.search_headers"])
    for leaf in _in_clear(headers, _SECRET_HEADER):
        yield "web.search_headers", f"web.search_headers.{leaf}"


def _in_clear(pairs: Iterable[tuple[str, str]], secret: str) -> list[str]:
    return [name for name, value in pairs if re.search(secret, name) and value and _REFERENCE not in value]


def _has_password(url: str) -> bool:
    try:
        return bool(urlsplit(url).password)
    except ValueError:
        return False
