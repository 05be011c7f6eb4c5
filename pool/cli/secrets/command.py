"""The command line of `pool secrets`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pool.cli.actions import add_action, run_action

DESCRIPTION = """\
Secrets for commands: the model knows their names, a command that you approve gets a
value as a variable, and nobody sees it: not the model, the session, a trace or you.
"""

EPILOG = """\
examples:
  pool secrets add GITHUB --env GH_TOKEN --for 'gh *' < token.txt
  pool secrets add DEPLOY --project
  pool secrets allow DEPLOY './deploy.sh staging'
  pool secrets list

Exit codes: 0 done, 2 a fault or a wrong use. See docs/secrets.md.
"""


def parser() -> argparse.ArgumentParser:
    """The flags of `pool secrets`."""
    p = argparse.ArgumentParser(
        prog="pool secrets",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EPILOG,
    )
    sub = p.add_subparsers(dest="action", metavar="ACTION")
    listed = add_action(sub, "list", "names, variables and commands (also without any action); never values")
    listed.add_argument("--all", action="store_true", help="those of other projects too")
    listed.add_argument("--json", action="store_true", help="one JSON object a line")
    add = add_action(sub, "add", "keep a secret; its value is asked for, or read from stdin")
    add.add_argument("name", help="what the model calls it, as GITHUB")
    add.add_argument("--env", metavar="NAME", default="", help="the variable that commands get (default: the name)")
    add.add_argument(
        "--for",
        dest="patterns",
        metavar="PATTERN",
        action="append",
        default=[],
        help="commands that get it unasked, as 'gh *'; for any other you are asked",
    )
    add.add_argument("--file", action="store_true", help="keep the value in a file of yours, not in the keyring")
    allow = add_action(sub, "allow", "let such commands have a secret unasked")
    allow.add_argument("name")
    allow.add_argument("pattern", help="as 'gh *'")
    allow.add_argument("--remove", action="store_true", help="ask about them again")
    remove = add_action(sub, "remove", "forget a secret")
    remove.add_argument("name")
    for one in (add, allow, remove):
        one.add_argument("--project", action="store_true", help="the one of this project alone (its folder and below)")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool secrets`; returns the exit code."""
    return run_action(parser(), argv, "list", _dispatch)


def _dispatch(args: argparse.Namespace) -> int:
    from pool.cli.secrets import keeping

    here = keeping.Here.at(args.dir)
    match args.action:
        case "list":
            return keeping.show(here, others=args.all, as_json=args.json)
        case "add":
            return keeping.add(here, args)
        case "allow":
            return keeping.allow(here, args.name, args.pattern, project=args.project, take_back=args.remove)
        case _:
            return keeping.remove(here, args.name, project=args.project)
