"""Logins at MCP servers: kept in the keyring, or in a file that nobody else may read. Imports nothing of the SDK."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, cast

from pool.config.files import Places
from pool.config.keyrings import START_SECONDS, Keyring, NoKeyring
from pool.config.mcp import McpServer
from pool.config.privatefile import read_private
from pool.config.settings import SettingsError
from pool.config.writing import write_whole
from pool_tools.frozen import frozen

FOLDER = "mcp-logins"
VERSION = 1
_HASH_CHARS = 32


@frozen
class Login:
    """What a login left: tokens, client and metadata are JSON as the SDK writes them.

    expires is when the access token does, in seconds since 1970, 0 unknown.
    """

    tokens: Mapping[str, Any] = field(repr=False)
    client: Mapping[str, Any] = field(repr=False)
    metadata: Mapping[str, Any]
    expires: float = 0.0

    @property
    def expired(self) -> bool:
        """Whether it is over, and cannot renew itself."""
        return bool(self.expires) and self.expires < time.time() and not self.tokens.get("refresh_token")


class Logins:
    """One entry for each server, by its name and address: a server elsewhere never gets the tokens of another."""

    def __init__(self, user: Path, keyring: Keyring) -> None:
        """user is Pool's folder for configuration."""
        self._folder = user / FOLDER
        self._keyring = keyring
        self.warnings: list[str] = []

    def has(self, server: McpServer) -> bool:
        """Whether there is a login; asks no keyring."""
        return self._path(server).is_file()

    def read(self, server: McpServer) -> Login | None:
        """A login, None if there is none. Raises `SettingsError` where it cannot be read."""
        path = self._path(server)
        text = read_private(path, self.warnings)
        if text is None:
            return None
        try:
            body = _object(text)
            if body.get("kept") == "keyring":
                body = _object(self._keyring.get(self._entry(server)) or "{}")
            return Login(body["tokens"], body["client"], body["metadata"], float(body["expires"]))
        except NoKeyring as error:
            raise SettingsError(f"the login at {server.name} is kept in the keyring, but {error}") from None
        except (ValueError, KeyError, TypeError):
            remedy = f"`pool mcp login {server.name}` makes a new one"
            raise SettingsError(f"the login at {server.name} cannot be read ({path}); {remedy}") from None

    def write(self, server: McpServer, login: Login) -> str:
        """Keep a login; says where. Raises OSError."""
        body = {
            "version": VERSION,
            "tokens": dict(login.tokens),
            "client": dict(login.client),
            "metadata": dict(login.metadata),
            "expires": login.expires,
        }
        path = self._path(server)
        try:
            self._keyring.put(self._entry(server), json.dumps(body))
        except NoKeyring:
            write_whole(path, json.dumps(body))
            return str(path)
        write_whole(path, json.dumps({"version": VERSION, "kept": "keyring"}))
        return "the keyring"

    def remove(self, server: McpServer) -> bool:
        """Forget a login; False if there is none. Raises OSError."""
        path = self._path(server)
        if not path.is_file():
            return False
        path.unlink()
        with contextlib.suppress(NoKeyring):
            self._keyring.remove(self._entry(server))
        return True

    def _path(self, server: McpServer) -> Path:
        return self._folder / f"{_hash(server)}.json"

    def _entry(self, server: McpServer) -> str:
        return f"mcp:{_hash(server)}"


def keyring_entries(user: Path) -> list[str]:
    """What the keyring calls the logins that it has; user is Pool's folder for configuration."""
    found: list[str] = []
    for path in sorted((user / FOLDER).glob("*.json")):
        with contextlib.suppress(OSError, ValueError):
            if _object(path.read_text(encoding="utf-8")).get("kept") == "keyring":
                found.append(f"mcp:{path.stem}")
    return found


def usual_logins(env: Mapping[str, str], seconds: float = START_SECONDS) -> Logins:
    """The user's logins; seconds is how long the keyring is waited for."""
    return Logins(Places.usual(env).user, Keyring(env, seconds))


def _hash(server: McpServer) -> str:
    return hashlib.sha256(json.dumps([server.name, server.url]).encode()).hexdigest()[:_HASH_CHARS]


def _object(text: str) -> dict[str, Any]:
    value: Any = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("no object")
    return cast(dict[str, Any], value)
