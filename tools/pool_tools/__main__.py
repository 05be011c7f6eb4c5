"""`python -m pool_tools`: the tools with their schemas, as JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pool_tools.sandbox.base import NoSandbox
from pool_tools.toolbox import build_tools
from pool_tools.workspace import Workspace


def main() -> None:
    """Print one object for each tool."""
    workspace = Workspace(Path("."))
    specs = [tool.spec for tool in build_tools(workspace, NoSandbox())]
    workspace.close()
    listing = [
        {"name": s.name, "effect": s.effect, "description": s.description, "parameters": s.parameters} for s in specs
    ]
    try:
        print(json.dumps(listing, indent=2), flush=True)
    except BrokenPipeError:
        # Whoever read has seen enough; what is left in the buffer must not be an error at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
