"""`pool mcp list`, `get`, `add` and `remove`: servers in the configuration's files."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

from pool.agent.configured import settings_for
from pool.cli.config.change import file_of, open_document, table_of, write_document
from pool.cli.config.command import Here
from pool.config.describe import toml
from pool.config.kinds import McpServers
from pool.config.load import LoadedSettings
from pool.config.mcp import McpServer
from pool.config.settings import SettingsError
from pool.config.writing import changing
from pool.extend.mcp.logins import usual_logins
from pool.headless.plain import safe

TABLE = "mcp_servers"


def show_all(folder: str, *, as_json: bool) -> int:
    """A line for each server. Raises `SettingsError`."""
    loaded = _loaded(folder)
    servers = loaded.settings.mcp.servers
    if as_json:
        for server in servers:
            print(json.dumps(_plain(server), ensure_ascii=True))
        return 0
    wide = max((len(server.name) for server in servers), default=0)
    for server in servers:
        state = " (disabled)" if server.disabled else "" if server.sandbox or server.url else " (outside the sandbox)"
        print(_safe(f"{server.name:<{wide}}  {_what(server)}{state}"))
    if not servers:
        print("No MCP servers are configured; `pool mcp add` adds one.")
    waiting = [path for path, names in loaded.ignored.items() if any(TABLE in name.split(".") for name in names)]
    for path in waiting:
        sys.stderr.write(_safe(f"servers of {path} wait for your trust: pool config trust") + "\n")
    return 0


def show_one(folder: str, name: str) -> int:
    """All of one server. Raises `SettingsError`."""
    loaded = _loaded(folder)
    server = named(loaded, name)
    for key, value in _plain(server).items():
        print(_safe(f"{key} = {json.dumps(value, ensure_ascii=False)}"))
    if usual_logins(os.environ).has(server):
        print(_safe(f"# a login is kept; `pool mcp logout {name}` forgets it"))
    print(_safe(f"# last set by {loaded.origin(TABLE)}"))
    return 0


def add(folder: str, target: str, name: str, server: Mapping[str, Any], *, force: bool) -> int:
    """Put a server into a file. Raises `SettingsError`, OSError."""
    import tomlkit

    if not name.strip() or not name.isprintable():
        raise SettingsError("the name of a server needs visible characters")
    if target != "user" and server.get("sandbox") is False:
        raise SettingsError("--no-sandbox counts only in your own file; leave out --project and --local")
    here = Here.at(folder)
    path = file_of(here, target)
    with changing(path):
        document = open_document(path)
        servers = table_of(document, [TABLE])
        if name in servers and not force:
            raise SettingsError(f"there is a server {name} in {path}; --force replaces it")
        table = tomlkit.table()
        for key, value in server.items():
            table[key] = tomlkit.value(toml(tuple(cast(list[object], value)) if isinstance(value, list) else value))
        servers[name] = table
        write_document(here, target, path, document)
    print(_safe(f"{name} is in {path}; `pool mcp test {name}` tries it"))
    return 0


def remove(folder: str, target: str, name: str) -> int:
    """Take a server out of a file. Raises `SettingsError`, OSError."""
    here = Here.at(folder)
    path = file_of(here, target)
    with changing(path):
        document = open_document(path)
        servers = table_of(document, [TABLE])
        if name not in servers:
            raise SettingsError(
                f"there is no server {name} in {path}; `pool mcp get {name}` says which file set it last"
            )
        del servers[name]
        write_document(here, target, path, document)
    print(_safe(f"{name} is no longer in {path}"))
    return 0


def table_from(args: argparse.Namespace) -> dict[str, Any]:
    """A server's table from the flags of `pool mcp add`. Raises `SettingsError`."""
    words: list[str] = args.what
    is_url = len(words) == 1 and words[0].startswith(("http://", "https://"))
    if is_url and args.transport == "stdio":
        raise SettingsError("--transport stdio is for a command; an address takes http or sse")
    if not is_url and args.transport in ("http", "sse"):
        raise SettingsError(f"--transport {args.transport} is for an address, as https://host/mcp")
    for flag, given, fits in (("--header", args.header, is_url), ("--env", args.env, not is_url)):
        if given and not fits:
            raise SettingsError(f"{flag} is for {'a command' if is_url else 'an address'} only")
    if is_url:
        server: dict[str, Any] = {"url": words[0], "headers": _pairs("--header", args.header)}
        server |= {"transport": args.transport} if args.transport else {}
    else:
        server = {"command": words[0], "args": words[1:], "env": _pairs("--env", args.env)}
        server |= {"sandbox": False} if args.no_sandbox else {}
    kept = {key: value for key, value in server.items() if value not in ([], {})}
    try:
        return McpServers().read({args.name: kept})[args.name]
    except ValueError as error:
        raise SettingsError(f"a server must be {error}") from None


def named(loaded: LoadedSettings, name: str) -> McpServer:
    """A configured server. Raises `SettingsError`."""
    servers = loaded.settings.mcp.servers
    for server in servers:
        if server.name == name:
            return server
    raise SettingsError(f"there is no MCP server {name!r}; there are {', '.join(s.name for s in servers) or 'none'}")


def _loaded(folder: str) -> LoadedSettings:
    return settings_for(Here.at(folder).workspace, os.environ, with_key=False)


def _pairs(flag: str, given: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name.strip() or not equals:
            raise SettingsError(f"{flag} wants NAME=VALUE")
        pairs[name.strip()] = value
    return pairs


def _what(server: McpServer) -> str:
    return _address(server.url) if server.url else " ".join([server.command, *server.args])


def _address(url: str) -> str:
    """An address without what may be secret in it: a login, a query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}{'?...' if parts.query else ''}"


def _plain(server: McpServer) -> dict[str, object]:
    """A server as data, secrets left out."""
    where: dict[str, object] = (
        {"url": _address(server.url), "headers": [name for name, _ in server.headers]}
        if server.url
        else {"command": server.command, "args": list(server.args), "env": [name for name, _ in server.env]}
    )
    own: dict[str, object] = {"transport": server.transport, "sandbox": server.sandbox, "disabled": server.disabled}
    return {"name": server.name, **where, **own}


def _safe(text: str) -> str:
    return safe(text, terminal=sys.stdout.isatty())
