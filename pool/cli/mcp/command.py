"""The command line of `pool mcp`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Protocol

from pool.config.settings import SettingsError
from pool.headless.plain import safe

EXIT_USAGE = 2

DESCRIPTION = """\
MCP servers: programs and addresses that offer tools to the model. Each is a table
[mcp_servers.NAME] of the configuration; add and remove change your own file.
"""

EPILOG = """\
examples:
  pool mcp add time -- uvx mcp-server-time
  pool mcp add docs https://docs.example/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}'
  pool mcp test time

Exit codes: 0 done, 1 the server does not work, 2 a wrong use. See docs/mcp.md.
"""


class _Actions(Protocol):
    """What `add_subparsers` gives; its class has no public name."""

    def add_parser(self, name: str, *, help: str, description: str) -> argparse.ArgumentParser:
        """Add an action."""
        ...


def parser() -> argparse.ArgumentParser:
    """The flags of `pool mcp`."""
    p = argparse.ArgumentParser(
        prog="pool mcp",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EPILOG,
    )
    sub = p.add_subparsers(dest="action", metavar="ACTION")
    listed = _add(sub, "list", "the servers (also without any action)")
    listed.add_argument("--json", action="store_true", help="one JSON object a line")
    get = _add(sub, "get", "one server, without the values of its variables and headers")
    get.add_argument("name")
    add = _add(sub, "add", "add a server: an address, or a command after --")
    add.add_argument("name")
    add.add_argument("what", nargs="+", metavar="URL | -- COMMAND", help="an address, or a command and its arguments")
    add.add_argument("--env", metavar="NAME=VALUE", action="append", default=[], help="a variable of its process")
    add.add_argument("--header", metavar="NAME=VALUE", action="append", default=[], help="a header of its requests")
    add.add_argument("--transport", choices=["stdio", "http", "sse"], help="default: stdio for a command, else http")
    add.add_argument("--no-sandbox", action="store_true", help="start it outside the sandbox (your own file only)")
    add.add_argument("--force", action="store_true", help="replace one of the same name")
    remove = _add(sub, "remove", "take a server out of a file")
    remove.add_argument("name")
    for one in (add, remove):
        where = one.add_mutually_exclusive_group()
        where.add_argument("--user", dest="target", action="store_const", const="user", help="your own file (default)")
        where.add_argument("--project", dest="target", action="store_const", const="project", help=".pool/config.toml")
        where.add_argument(
            "--local", dest="target", action="store_const", const="local", help=".pool/config.local.toml"
        )
        one.set_defaults(target="user")
    test = _add(sub, "test", "start a server as a session would, and show its tools")
    test.add_argument("name")
    test.add_argument("--sandbox", metavar="WHAT", help="auto (default), required, read-only, external or off")
    test.add_argument("--net", metavar="WHAT", help="what commands reach, as for pool run")
    return p


def _add(sub: _Actions, name: str, text: str) -> argparse.ArgumentParser:
    p = sub.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    p.add_argument("-C", "--dir", metavar="DIR", default=".", help="workspace folder (default: this one)")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool mcp`; returns the exit code."""
    words = list(argv)
    if not words or (words[0].startswith("-") and words[0] not in ("-h", "--help")):
        words.insert(0, "list")
    try:
        args = parser().parse_args(words)
    except SystemExit as error:
        return int(error.code or 0)
    try:
        return _dispatch(args)
    except SettingsError as error:
        sys.stderr.write(safe(f"pool mcp: {error}", terminal=True) + "\n")
        return EXIT_USAGE
    except OSError as error:
        name = f": {error.filename}" if error.filename else ""
        sys.stderr.write(safe(f"pool mcp: {error.strerror or error}{name}", terminal=True) + "\n")
        return EXIT_USAGE


def _dispatch(args: argparse.Namespace) -> int:
    if args.action == "test":
        from pool.cli.mcp.trying import try_server

        return try_server(args.dir, args.name, args.sandbox, args.net)
    from pool.cli.mcp import files

    match args.action:
        case "list":
            return files.show_all(args.dir, as_json=args.json)
        case "get":
            return files.show_one(args.dir, args.name)
        case "remove":
            return files.remove(args.dir, args.target, args.name)
        case _:
            return files.add(args.dir, args.target, args.name, files.table_from(args), force=args.force)
