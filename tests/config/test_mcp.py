"""MCP servers in configuration files: what a table may hold, and what a checkout's may do."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.config.mcp import HTTP, SSE, STDIO, McpServer
from pool.config.settings import SettingsError
from tests.config.places import Home

FULL = """
[mcp]
share = 0.1
[mcp_servers.time]
command = "uvx"
args = ["mcp-server-time"]
env = { TZ = "UTC" }
sandbox = false
call_seconds = 5
[mcp_servers.docs]
url = "https://docs.example/mcp"
headers = { Authorization = "Bearer ${TOKEN}" }
disabled = true
[mcp_servers.old]
url = "http://127.0.0.1:9/sse"
transport = "sse"
"""


def test_a_server_has_all_that_its_table_says(tmp_path: Path) -> None:
    made = Home(tmp_path, user=FULL).load().settings.mcp
    time, docs, old = made.servers
    assert time == McpServer(
        "time", "uvx", ("mcp-server-time",), (("TZ", "UTC"),), transport=STDIO, sandbox=False, call_seconds=5.0
    )
    assert (docs.transport, docs.disabled, docs.sandbox) == (HTTP, True, True)
    assert old.transport == SSE
    assert made.used == (time, old)
    assert made.share == 0.1
    assert "TOKEN" not in repr(made)


@pytest.mark.parametrize(
    "table",
    [
        "command = ''",
        "url = 'ftp://x'",
        "url = 'http://['",
        "url = 'http://'",
        "command = 'x'\nurl = 'http://x'",
        "command = 'x'\nsandbox = 'no'",
        "command = 'x'\ncall_seconds = -1",
        "command = 'x'\nargs = 'y'",
        "command = 'x'\nother = 1",
        "args = ['x']",
    ],
)
def test_a_table_that_is_no_server_is_a_fault_with_its_place(tmp_path: Path, table: str) -> None:
    with pytest.raises(SettingsError, match=r"config\.toml:\d+: mcp_servers must be a table of servers"):
        Home(tmp_path, user=f"[mcp_servers.a]\n{table}\n").load()


def test_a_checkouts_servers_count_after_trust_and_never_leave_the_sandbox(tmp_path: Path) -> None:
    mine = "[mcp_servers.mine]\ncommand = 'x'\nsandbox = false\n"
    home = Home(tmp_path, user=mine, project="[mcp_servers.theirs]\ncommand = 'y'\nsandbox = false\n")
    assert [server.name for server in home.load().settings.mcp.servers] == ["mine"]
    home.trust()
    loaded = home.load()
    assert [(s.name, s.sandbox) for s in loaded.settings.mcp.servers] == [("mine", False), ("theirs", True)]
    assert any("sandbox = false of theirs counts only in files of your own" in w for w in loaded.warnings)
    home.write("project", "[mcp_servers.theirs]\ncommand = 'z'\nsandbox = false\n")
    assert [server.name for server in home.load().settings.mcp.servers] == ["mine"]


def test_trust_covers_the_files_of_the_checkout_that_a_servers_command_names(tmp_path: Path) -> None:
    project = "[mcp_servers.own]\ncommand = 'python3'\nargs = ['-u', 'tools/server one.py', '--to', '.']\n"
    home = Home(tmp_path, project=f"{project}[mcp_servers.far]\nurl = 'https://mcp.example'\n")
    script = home.workspace / "tools" / "server one.py"
    script.parent.mkdir()
    script.write_text("print(1)\n")
    home.trust()
    assert [server.name for server in home.load().settings.mcp.servers] == ["own", "far"]
    (home.workspace / "other.py").write_text("any other file may change\n")
    assert len(home.load().settings.mcp.servers) == 2
    script.write_text("print(2)\n")
    assert home.load().settings.mcp.servers == ()
