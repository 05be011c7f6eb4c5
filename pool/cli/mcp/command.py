"""The command line of `pool mcp`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pool.cli.actions import add_action, add_targets, run_action
from pool.config.settings import SettingsError

DESCRIPTION = """\
MCP servers: programs and addresses that offer tools to the model. Each is a table
[mcp_servers.NAME] of the configuration; add and remove change your own file.
"""

EPILOG = """\
examples:
  pool mcp add time -- uvx mcp-server-time
  pool mcp add docs https://docs.example/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}'
  pool mcp test time
  pool mcp serve --tools read,search,edit,run_task

Exit codes: 0 done, 1 the server does not work, 2 a wrong use. See docs/mcp.md.
"""


def parser() -> argparse.ArgumentParser:
    """The flags of `pool mcp`."""
    p = argparse.ArgumentParser(
        prog="pool mcp",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EPILOG,
    )
    sub = p.add_subparsers(dest="action", metavar="ACTION")
    listed = add_action(sub, "list", "the servers (also without any action)")
    listed.add_argument("--json", action="store_true", help="one JSON object a line")
    get = add_action(sub, "get", "one server, without the values of its variables and headers")
    get.add_argument("name")
    add = add_action(sub, "add", "add a server: an address, or a command after --")
    add.add_argument("name")
    add.add_argument("what", nargs="+", metavar="URL | -- COMMAND", help="an address, or a command and its arguments")
    add.add_argument("--env", metavar="NAME=VALUE", action="append", default=[], help="a variable of its process")
    add.add_argument("--header", metavar="NAME=VALUE", action="append", default=[], help="a header of its requests")
    add.add_argument("--transport", choices=["stdio", "http", "sse"], help="default: stdio for a command, else http")
    add.add_argument("--no-sandbox", action="store_true", help="start it outside the sandbox (your own file only)")
    add.add_argument("--force", action="store_true", help="replace one of the same name")
    remove = add_action(sub, "remove", "take a server out of a file")
    remove.add_argument("name")
    for one in (add, remove):
        add_targets(one)
    test = add_action(sub, "test", "start a server as a session would, and show its tools")
    test.add_argument("name")
    test.add_argument("--sandbox", metavar="WHAT", help="auto (default), required, read-only, external or off")
    test.add_argument("--net", metavar="WHAT", help="what commands reach, as for pool run")
    login = add_action(sub, "login", "log in at a server with an address, by OAuth in a browser")
    login.add_argument("name")
    login.add_argument("--no-browser", action="store_true", help="only show the address to open")
    add_action(sub, "logout", "forget the login at a server").add_argument("name")
    _add_serve(add_action(sub, "serve", "be an MCP server: Pool's tools, and tasks, for another agent"))
    return p


def _add_serve(serve: argparse.ArgumentParser) -> None:
    """Flags of `pool mcp serve`."""
    serve.add_argument(
        "--tools",
        type=_names,
        metavar="LIST",
        help="what is offered: read,list,search (default), ..., run_task, or all",
    )
    serve.add_argument("--port", type=int, metavar="N", help="streamable HTTP on this port of 127.0.0.1 (0: any)")
    serve.add_argument("--sandbox", metavar="WHAT", help="auto (default), required, read-only, external or off")
    serve.add_argument("--net", metavar="WHAT", help="what commands reach, as for pool run")
    serve.add_argument("--mode", metavar="MODE", help="what runs without a question; tasks get none that is wider")
    serve.add_argument("--allow", metavar="RULE", action="append", default=[], help="run such calls, as for pool run")
    serve.add_argument("--base-url", metavar="URL", help="the model server of tasks")
    serve.add_argument("--model", metavar="ID", help="the model of tasks")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def main(argv: Sequence[str]) -> int:
    """Run `pool mcp`; returns the exit code."""
    return run_action(parser(), argv, "list", _dispatch)


def _dispatch(args: argparse.Namespace) -> int:
    if args.action == "test":
        from pool.cli.mcp.trying import try_server

        return try_server(args.dir, args.name, args.sandbox, args.net)
    if args.action in ("login", "logout"):
        from pool.cli.mcp.login import log_in, log_out

        return (
            log_out(args.dir, args.name)
            if args.action == "logout"
            else log_in(args.dir, args.name, browser=not args.no_browser)
        )
    if args.action == "serve":
        return _serve(args)
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


def _serve(args: argparse.Namespace) -> int:
    try:
        from pool.cli.mcp.serving import serve
    except ModuleNotFoundError as error:
        raise SettingsError(f"serving needs the package {error.name!r}: pip install 'laguna-pool[mcp]'") from None
    return serve(args)
