"""`pool agents`: the other agents that Pool can drive, and which of them are installed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pool.facekit.agents.descriptions import AgentError, agent_named, agent_names, own_folder
from pool.headless.plain import safe

EXIT_USAGE = 2


def parser() -> argparse.ArgumentParser:
    """The flags of `pool agents`."""
    p = argparse.ArgumentParser(
        prog="pool agents",
        description="The other agents that Pool can drive, and which are installed: pool --agent NAME works with one.",
        epilog=f"Describe your own in {own_folder(os.environ)}, a TOML file each; see docs/agents.md.",
    )
    p.add_argument("name", nargs="?", metavar="NAME", help="one agent: its command, how it is had, how one logs in")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool agents`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    try:
        lines = _one(args.name) if args.name else _all()
    except AgentError as error:
        sys.stderr.write(safe(f"pool agents: {error}; {error.remedy}", terminal=True) + "\n")
        return EXIT_USAGE
    for line in lines:
        print(safe(line, terminal=sys.stdout.isatty()))
    return 0


def _all() -> list[str]:
    names = agent_names(os.environ)
    wide = max(map(len, names), default=0)
    out: list[str] = []
    for name in names:
        try:
            agent = agent_named(name, os.environ)
        except AgentError as error:
            out.append(f"{name:{wide}}  cannot be used: {error}")
            continue
        found = agent.program(os.environ)
        state = f"installed: {found}" if found else f"not installed: {agent.install or agent.command[0]}"
        out.append(f"{name:{wide}}  {agent.title}; {state}")
    return out


def _one(name: str) -> list[str]:
    agent = agent_named(name, os.environ)
    return [
        f"{agent.name}: {agent.title}",
        f"  command      {' '.join(agent.command)}",
        f"  program      {agent.program(os.environ) or 'not installed'}",
        *([f"  variables    {', '.join(key for key, _ in agent.env)}"] if agent.env else []),
        *([f"  to install   {agent.install}"] if agent.install else []),
        *([f"  to log in    {agent.login}"] if agent.login else []),
        f"  described in {agent.file}",
    ]
