"""The command line of `pool skills`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pool.cli.actions import add_action, run_action

DESCRIPTION = """\
Skills: folders with a SKILL.md that teach the agent a task, in the format of agentskills.io.
They lie in .pool/skills, .agents/skills, ~/.config/pool/skills and ~/.agents/skills; custom
commands are Markdown files in .pool/commands and ~/.config/pool/commands.
"""

EPILOG = """\
examples:
  pool skills
  pool skills check .pool/skills/deploy
  pool skills show pool-docs

Exit codes: 0 done, 1 something is wrong with a skill or a command, 2 a wrong use. See docs/skills.md.
"""


def parser() -> argparse.ArgumentParser:
    """The flags of `pool skills`."""
    p = argparse.ArgumentParser(
        prog="pool skills",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EPILOG,
    )
    sub = p.add_subparsers(dest="action", metavar="ACTION")
    listed = add_action(sub, "list", "skills and custom commands (also without any action)")
    listed.add_argument("--json", action="store_true", help="one JSON object a line")
    check = add_action(sub, "check", "say what is wrong with skills and commands, and where")
    check.add_argument("folder", nargs="*", help="folders of single skills; default: all that count here")
    show = add_action(sub, "show", "one skill as the model gets it")
    show.add_argument("name")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool skills`; returns the exit code."""
    return run_action(parser(), argv, "list", _dispatch)


def _dispatch(args: argparse.Namespace) -> int:
    from pool.cli.skills import showing

    match args.action:
        case "list":
            return showing.show_all(args.dir, as_json=args.json)
        case "check":
            return showing.check(args.dir, args.folder)
        case _:
            return showing.show_one(args.dir, args.name)
