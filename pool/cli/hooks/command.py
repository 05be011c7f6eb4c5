"""The command line of `pool hooks`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pool.cli.actions import add_action, run_action

DESCRIPTION = """\
Hooks: commands that run at fixed points of a session. Each is a table [hooks.NAME] of the
configuration; those of a project count once you have trusted its file (pool config trust).
"""

EPILOG = """\
examples:
  pool hooks list
  pool hooks test format --tool write --args '{"path": "src/a.py", "content": "x=1"}'
  pool hooks test guard --prompt 'deploy it'

Exit codes: 0 done, 1 the hook failed, 2 a wrong use. See docs/hooks.md.
"""


def parser() -> argparse.ArgumentParser:
    """The flags of `pool hooks`."""
    p = argparse.ArgumentParser(
        prog="pool hooks",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EPILOG,
    )
    sub = p.add_subparsers(dest="action", metavar="ACTION")
    listed = add_action(sub, "list", "the hooks in the order in which they run (also without any action)")
    listed.add_argument("--json", action="store_true", help="one JSON object a line")
    test = add_action(sub, "test", "run a hook once, as a session would, and say what its answer means")
    test.add_argument("name")
    test.add_argument("--tool", metavar="NAME", default="write", help="tool of the call that it is told of (write)")
    test.add_argument("--args", metavar="JSON", default='{"path": "example.txt"}', help="arguments of that call")
    test.add_argument("--prompt", metavar="TEXT", default="A prompt.", help="prompt that it is told of")
    test.add_argument("--sandbox", metavar="WHAT", help="auto (default), required, read-only, external or off")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool hooks`; returns the exit code."""
    return run_action(parser(), argv, "list", _dispatch)


def _dispatch(args: argparse.Namespace) -> int:
    if args.action == "list":
        from pool.cli.hooks.listing import show_all

        return show_all(args.dir, as_json=args.json)
    from pool.cli.hooks.trying import Sample, try_hook

    return try_hook(args.dir, args.name, Sample(args.tool, args.args, args.prompt), args.sandbox)
