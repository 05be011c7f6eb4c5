"""What must not be imported before it is needed: until `pool run` sends its first request, and before `pool` paints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pool.tui.rest import REST

ROOT = Path(__file__).parents[1]

NEVER_AT_START = {
    "acp",
    "click",
    "git",
    "keyring",
    "mcp",
    "pathspec",
    "prompt_toolkit",
    "pydantic",
    "pytest",
    "ray",
    "sqlite3",
    "starlette",
    "tiktoken",
    "tomlkit",
    "tree_sitter_bash",
    "unittest",
    "uvicorn",
}
ONLY_FOR_THE_SCREEN = {"rich", "textual", "tree_sitter"}
WITH_THE_FIRST_ANSWER = {"linkify_it", "markdown_it", "pygments"}
ONLY_FOR_HTTP = {"anyio", "certifi", "h11", "httpcore", "httpx"}

WITH_THE_FIRST_CALL = {
    "pool.agent.rules.commands",
    "pool.agent.rules.reader",
    "pool.sessions.checkpoints",
    "pool_tools.git.reading",
    "pool_tools.git.signing",
    "pool_tools.git.transport",
}
WHEN_ASKED_FOR = {
    "pool.agent.commands",
    "pool.agent.control",
    "pool.agent.gitwork",
    "pool.agent.hooking",
    "pool.agent.undoing",
    "pool.config.checkers",
    "pool.config.hooks",
    "pool.extend.diagnostics",
    "pool.extend.hooks",
    "pool.extend.mcp",
    "pool.lab",
    "pool.sessions.export",
    "pool.sessions.forks",
    "pool.sessions.index",
    "pool.sessions.rewind",
    "pool.sim",
    "pool.tui",
}

# A server in the process of `pool run` itself: it sees which modules there are when the request's head has come.
RUN = """
import json, socket, sys, threading
loaded = []
server = socket.create_server(("127.0.0.1", 0))

def answer(connection):
    head = connection.recv(65536)
    if head.startswith(b"POST") and not loaded:
        loaded.append(sorted(sys.modules))
    connection.sendall(b"HTTP/1.1 404 Not Found\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
    connection.close()

def serve():
    while True:
        threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()

threading.Thread(target=serve, daemon=True).start()
address = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
sys.argv = ["pool", "run", "hello", "--base-url", address, "--model", "m", *sys.argv[1:]]
from pool.cli.main import entry
try:
    entry()
except SystemExit:
    print(json.dumps(loaded[0]))
"""

# The answer to the first message of an editor; what a session is made of is imported behind it.
INITIALIZE = """
import asyncio, json, sys
import pool.cli.acp, pool.acp.command
from pool.acp.agent import AcpAgent
from pool.extend.acp.peer import Peer

async def main():
    told = asyncio.get_running_loop().create_future()
    peer = Peer(lambda line: told.done() or told.set_result((json.loads(line), sorted(sys.modules))))
    AcpAgent(peer, None)
    peer.take(b'{"id": 1, "method": "initialize", "params": {"protocolVersion": 1}}')
    message, loaded = await told
    assert message["result"]["protocolVersion"] == 1
    print(json.dumps(loaded))

asyncio.run(main())
"""

HELP = """
import json, sys
from pool.cli.main import main
main(sys.argv[1:])
print(json.dumps(sorted(sys.modules)))
"""

PAINT = """
import json, sys
import pool.cli.interactive, pool.tui.command
print(json.dumps(sorted(sys.modules)))
"""


def loaded_by(script: str, folder: Path, *argv: str) -> set[str]:
    """Modules that a script in a fresh interpreter tells on the last line of its output, and their packages."""
    done = subprocess.run(
        [sys.executable, "-c", script, *argv], capture_output=True, text=True, cwd=folder, stdin=subprocess.DEVNULL
    )
    assert done.stdout, done.stderr
    names: list[str] = json.loads(done.stdout.splitlines()[-1])
    return set(names) | {name.partition(".")[0] for name in names}


@pytest.mark.parametrize(
    ("flags", "besides"),
    # Without a session to keep there is no first look at the files, which may begin while a slow machine still sends.
    [(("--ephemeral",), WITH_THE_FIRST_CALL), ((), set[str]())],
    ids=["ephemeral", "kept"],
)
def test_a_run_imports_only_what_its_first_request_needs(
    tmp_path: Path, flags: tuple[str, ...], besides: set[str]
) -> None:
    loaded = loaded_by(RUN, tmp_path, *flags)
    assert {"httpx", "pool.agent.loop", "pool_tools.git.tool"} <= loaded
    assert loaded & (NEVER_AT_START | ONLY_FOR_THE_SCREEN | WITH_THE_FIRST_ANSWER | WHEN_ASKED_FOR | besides) == set()


def test_a_run_with_mcp_servers_imports_their_sdk_behind_its_first_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / "config.toml").write_text("[mcp_servers.a]\ncommand = 'true'\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    workspace = tmp_path / "work"
    workspace.mkdir()
    loaded = loaded_by(RUN, workspace, "--ephemeral")
    assert "pool.extend.mcp.tools" in loaded
    assert loaded & NEVER_AT_START == set()


@pytest.mark.parametrize("argv", [("--version",), ("--help",), ("run", "--help"), ("prompt", "--help")], ids=" ".join)
def test_help_and_version_import_next_to_nothing(tmp_path: Path, argv: tuple[str, ...]) -> None:
    loaded = loaded_by(HELP, tmp_path, *argv)
    unneeded = {"asyncio", "dataclasses", "pool.agent", "pool.config", "pool.events", "pool.sessions", "pool_tools"}
    assert loaded & (NEVER_AT_START | ONLY_FOR_THE_SCREEN | ONLY_FOR_HTTP | unneeded) == set()


def test_an_editor_is_answered_before_the_agent_is_imported(tmp_path: Path) -> None:
    loaded = loaded_by(INITIALIZE, tmp_path)
    assert "pool.extend.acp.peer" in loaded
    assert loaded & (NEVER_AT_START - {"acp"} | ONLY_FOR_THE_SCREEN | ONLY_FOR_HTTP) == set()
    assert not {name for name in loaded if name.startswith(("pool.agent", "pool.config", "pool.sessions", "pool.wire"))}


def test_the_interface_paints_before_the_agent_is_imported(tmp_path: Path) -> None:
    loaded = loaded_by(PAINT, tmp_path)
    assert "textual" in loaded
    assert loaded & (NEVER_AT_START | ONLY_FOR_HTTP | WITH_THE_FIRST_ANSWER) == set()
    agents = {name for name in loaded if name.startswith(("pool.agent.loop", "pool.wire", "pool_tools."))}
    assert agents == {"pool_tools.home", "pool_tools.frozen"}
    assert loaded & {*REST, "hashlib", "pool.events"} == set()
