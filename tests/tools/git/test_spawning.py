"""Every git process starts through the sandbox: what an interpreter itself sees being started, by an audit hook.

In an interpreter of its own, since a hook cannot be taken back.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from ..conftest import bubblewrap
from .conftest import run_git

_AGENT = """
import asyncio, json, sys
from pathlib import Path
from pool_tools.sandbox.base import Policy
from pool_tools.sandbox.probe import probe
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace

STARTS = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "pty.spawn"}
heard = []

def hear(event, args):
    if event in STARTS:
        heard.append([event, [str(word) for word in args[1]] if event == "subprocess.Popen" else []])

async def main(folder):
    found = probe(Policy((folder,)), tiers=("bubblewrap",))
    workspace = Workspace(folder)
    toolbox = Toolbox(workspace, found.sandbox)
    git = next(tool for tool in toolbox.tools if tool.spec.name == "git")
    sys.addaudithook(hear)
    for action in ("status", "diff", "log", "show", "branch", "stash", "restore", "add", "commit", "worktree"):
        ops = {"branch": "list", "stash": "list", "worktree": "list"}
        given = {"action": action, **({"op": ops[action]} if action in ops else {})}
        if action in ("restore", "add"):
            given["paths"] = ["a.txt"]
        if action == "commit":
            given["message"] = "two"
        if action == "add":
            (folder / "a.txt").write_text("changed")
        result = await git.run(given, lambda _: None)
        assert result.ok, (action, result.text)
    await toolbox.close()
    found.sandbox.close()
    workspace.close()
    print(json.dumps({"heard": heard, "libraries": [name for name in ("git", "gitdb") if name in sys.modules]}))

asyncio.run(main(Path(sys.argv[1])))
"""


def test_git_starts_through_the_sandbox_and_by_no_library(folder: Path) -> None:
    bubblewrap(folder).close()  # Skips where there is none.
    run_git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\n")
    run_git(folder, "add", "a.txt")
    run_git(folder, "commit", "-qm", "one")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", _AGENT, str(folder)], capture_output=True, text=True, env=env, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["libraries"] == []
    assert len(told["heard"]) >= 10
    for event, argv in told["heard"]:
        assert event == "subprocess.Popen"
        # The launcher, perhaps behind a shell that opens its filter; whatever runs git comes after it.
        launcher = next(at for at, word in enumerate(argv) if Path(word).name == "bwrap")
        assert not any(Path(word).name == "git" for word in argv[:launcher]), argv
        assert "--unshare-user" in argv
    assert "two" in run_git(folder, "log", "--oneline")
