"""A small agent as a process of its own: a workspace with its tools, told by lines of JSON what to call.

`desk_process.py ROOT TIER BOUNDS` where BOUNDS is JSON. The first line printed says how it stands; then each line read
is a call and each line printed its result.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from pool_tools import ToolError
from pool_tools.sandbox import Bounds, Policy
from pool_tools.sandbox.probe import TIERS, probe
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace


def resident_kib() -> int:
    """Memory of this process at its highest."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


async def answer(toolbox: Toolbox, name: str, args: dict[str, Any]) -> dict[str, Any]:
    began = time.monotonic()
    live: list[int] = []
    tool = next(tool for tool in toolbox.tools if tool.spec.name == name)
    out: dict[str, Any]
    try:
        tool.preview(args)
        result = await tool.run(args, lambda text: live.append(len(text)))
        out = {"ok": result.ok, "text": result.text, "data": dict(result.data), "error": ""}
    except ToolError as error:
        out = {"ok": False, "text": "", "data": {}, "error": str(error)}
    return {**out, "seconds": time.monotonic() - began, "peak_kib": resident_kib()}


async def main() -> None:
    root, tier, bounds = sys.argv[1:]
    # What a careless agent would leave open for its commands to find.
    leaked = os.open("/etc/hostname", os.O_RDONLY)
    os.set_inheritable(leaked, True)
    workspace = Workspace(Path(root))
    found = probe(Policy((workspace.root,), bounds=Bounds(**json.loads(bounds))), tiers=(tier,) if tier else TIERS)
    toolbox = Toolbox(workspace, found.sandbox)
    print(json.dumps({"tier": found.tier, "reason": found.reason, "note": found.note, "pid": os.getpid()}), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        call = json.loads(line)
        print(json.dumps(await answer(toolbox, call["tool"], call["args"])), flush=True)
    await toolbox.close()
    found.sandbox.close()
    workspace.close()


if __name__ == "__main__":
    asyncio.run(main())
