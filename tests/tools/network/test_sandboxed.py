"""Commands in bubblewrap and the network: A38, A39 and A40 of the list of escapes, and what a list lets through."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pool_tools.api import ToolResult
from pool_tools.network.dial import Resolve, resolve
from pool_tools.network.proxy import NetworkProxy, open_proxy
from pool_tools.network.rules import RuleError, allow_list
from pool_tools.network.session import SessionNetwork
from pool_tools.sandbox.base import CannotExpress, Policy, Sandbox
from pool_tools.sandbox.landlock import Landlock
from pool_tools.sandbox.probe import probe
from pool_tools.sandbox.sharednet import SharesNetwork
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace
from tests.tools.network.conftest import UserProxy, listening

# Tells of each address what comes of asking the proxy for a tunnel there: the first line of the answer.
TUNNELS = """
import os, socket, sys
for place in sys.argv[1:]:
    with socket.create_connection(("127.0.0.1", 28128)) as proxy:
        proxy.sendall(f"CONNECT {place} HTTP/1.1\\r\\n\\r\\n".encode())
        print(proxy.makefile().readline().strip())
"""

# Tries to get out without the proxy, and tells what came of it.
DIRECT = """
import errno, socket, sys
def attempt(name, work):
    try:
        work()
        print(name, "open")
    except OSError as error:
        print(name, errno.errorcode.get(error.errno, type(error).__name__))
outside = "198.51.100.1"
attempt("tcp", lambda: socket.create_connection((outside, 443), 3))
attempt("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", (outside, 53)))
attempt("tcp6", lambda: socket.create_connection(("2001:db8::1", 443), 3))
attempt("icmp", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt("ping", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1).sendto(b"x" * 8, (outside, 0)))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("name", lambda: socket.getaddrinfo("example.org", 443))
attempt("model", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 3))
"""


@dataclass
class Cell:
    """A workspace whose commands may reach what a list says."""

    folder: Path
    sandbox: Sandbox
    toolbox: Toolbox
    proxy: NetworkProxy | None

    async def shell(self, command: str) -> ToolResult:
        tool = next(tool for tool in self.toolbox.tools if tool.spec.name == "shell")
        return await tool.run({"command": command}, lambda text: None)

    async def python(self, script: str, *arguments: object) -> list[str]:
        (self.folder / "script.py").write_text(script)
        done = await self.shell(f"python3 script.py {' '.join(map(str, arguments))}")
        return [line for line in done.text.splitlines()[1:] if not line.startswith("[")]


@asynccontextmanager
async def open_cell(
    folder: Path, entries: Sequence[str] | None, environ: dict[str, str] | None = None, resolver: Resolve = resolve
) -> AsyncGenerator[Cell]:
    """entries None: no network at all."""
    if entries is None:
        async with _cell(folder, Policy((folder,)), None) as cell:
            yield cell
        return
    async with open_proxy(allow_list(entries), environ or {}, resolver=resolver) as proxy:
        policy = Policy((folder,), allow=proxy.allow, proxy_folder=proxy.folder)
        async with _cell(folder, policy, proxy) as cell:
            yield cell


@asynccontextmanager
async def _cell(folder: Path, policy: Policy, proxy: NetworkProxy | None) -> AsyncGenerator[Cell]:
    found = await asyncio.to_thread(probe, policy, None, ("bubblewrap",))
    if found.tier != "bubblewrap":
        pytest.skip(f"no bubblewrap here: {found.reason}")
    workspace = Workspace(folder)
    toolbox = Toolbox(workspace, found.sandbox, None, SessionNetwork(found.sandbox, {}, proxy=proxy))
    try:
        yield Cell(folder, found.sandbox, toolbox, proxy)
    finally:
        await toolbox.close()
        found.sandbox.close()
        workspace.close()


async def model(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server on this machine's loopback."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nmodel")
    writer.close()


@pytest.mark.parametrize("entries", [None, ["example.org"]], ids=["off", "listed"])
async def test_nothing_gets_out_by_itself(tmp_path: Path, entries: list[str] | None) -> None:
    """A38 and A39. Without a route nothing is sent, whatever the address."""
    async with listening(model) as port, open_cell(tmp_path, entries) as cell:
        told = await cell.python(DIRECT, port)
    assert len(told) == 8
    assert not [line for line in told if line.endswith(" open")], told
    assert "tcp ENETUNREACH" in told
    assert "model ECONNREFUSED" in told


async def test_the_model_server_is_out_of_reach(tmp_path: Path) -> None:
    """A39, by every name that leads to it."""

    async def names(host: str, port: int) -> Sequence[str]:
        return {"alias.example": ["127.0.0.1"], "mapped.example": ["::ffff:127.0.0.1"]}.get(host) or await resolve(
            host, port
        )

    async with listening(model) as port:
        entries = [f"alias.example:{port}", f"mapped.example:{port}"]
        async with open_cell(tmp_path, entries, resolver=names) as cell:
            assert cell.proxy
            await cell.proxy.forbid("127.0.0.1", port)
            places = [
                f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]", "alias.example", "mapped.example")
            ]
            told = await cell.python(TUNNELS, *places)
            plain = await cell.shell(f"curl -sS http://alias.example:{port}/ || wget -qO- http://alias.example:{port}/")
            flows = plain.data["network"]
        assert [line.split()[1] for line in told] == ["403"] * 5, told
        assert "model" not in plain.text.splitlines()
        assert all(flow["refused"] for flow in flows)
        async with open_proxy(allow_list([f"localhost:{port}"]), {}) as proxy:
            with pytest.raises(RuleError, match="is the model server"):
                await proxy.forbid("localhost", port)


async def test_a_listed_host_and_others(tmp_path: Path, user_proxy: UserProxy) -> None:
    """A40, where this machine reaches the world through a proxy."""

    async def names(host: str, port: int) -> Sequence[str]:
        if host == "inside.example":
            return ["192.168.1.1"]
        raise OSError("only the user's proxy knows it")

    entries = ["out.example", "inside.example", ".below.example"]
    async with open_cell(tmp_path, entries, user_proxy.environ, names) as cell:
        places = ["out.example:443", "a.below.example:443", "other.example:443", "198.51.100.1:443", "10.0.0.1:443"]
        told = await cell.python(TUNNELS, *places, "inside.example:443", "out.example:22", "OUT.example.:443")
        done = await cell.shell("curl -sS http://out.example/ >/dev/null; curl -sS https://other.example")
    assert [line.split()[1] for line in told] == ["200", "200", "403", "403", "403", "403", "403", "200"], told
    assert "other.example is not on the list of allowed hosts" in told[2]
    assert "inside.example lies at 192.168.1.1, a private address" in told[5]
    assert "[Stopped by the sandbox's network: other.example is not on the list" in done.text
    assert "--net other.example" in done.text
    assert {(flow["host"], bool(flow["refused"])) for flow in done.data["network"]} == {
        ("out.example", False),
        ("other.example", True),
    }
    assert {head.split()[1] for head in user_proxy.heads} == {
        b"out.example:443",
        b"a.below.example:443",
        b"http://out.example/",
    }


async def test_a_named_port_leads_to_this_machine(tmp_path: Path) -> None:
    """A test database, say. Programs that take localhost for ::1 find it too."""
    script = (
        "import socket, sys\n"
        "for host in ('127.0.0.1', 'localhost', '::1'):\n"
        "    with socket.create_connection((host, int(sys.argv[1]))) as s:\n"
        "        s.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n')\n"
        "        print(s.makefile().read()[-5:])\n"
    )
    async with listening(model) as port, listening(model) as other, open_cell(tmp_path, [f"localhost:{port}"]) as cell:
        assert await cell.python(script, port) == ["model"] * 3
        assert "ConnectionRefusedError" in "\n".join(await cell.python(script, other))


async def test_a_command_with_a_list_is_like_any_other(tmp_path: Path) -> None:
    async with open_cell(tmp_path, ["example.org"]) as cell:
        done = await cell.shell("ls -l /proc/self/fd | grep -c -- '->'; exit 7")
        assert done.data["exit_status"] == 7
        assert done.text.splitlines()[1] == "4"  # the three of any command, and the one that ls reads
        assert (await cell.shell("sleep 60 & ps -e -o comm= | sort -u | grep -v sleep")).data["left_running"] == [
            "sleep"
        ]
        assert "network" not in done.data
        both = await asyncio.gather(*(cell.shell(f"sleep 0.2; echo {n}") for n in range(8)))
        assert [one.text.splitlines()[1] for one in both] == [str(n) for n in range(8)]


async def test_several_commands_at_once_have_the_proxy_each(tmp_path: Path, user_proxy: UserProxy) -> None:
    async with open_cell(tmp_path, ["out.example"], user_proxy.environ) as cell:
        (cell.folder / "t.py").write_text(TUNNELS)
        told = await asyncio.gather(*(cell.shell("python3 t.py out.example:443") for _ in range(6)))
    assert [one.text.splitlines()[1] for one in told] == ["HTTP/1.1 200 Connection established"] * 6


async def test_commands_that_share_a_network_share_its_ways_out(tmp_path: Path, user_proxy: UserProxy) -> None:
    async with (
        listening(model) as port,
        open_cell(tmp_path, ["out.example", f"localhost:{port}"], user_proxy.environ) as cell,
    ):
        assert isinstance(cell.sandbox, SharesNetwork)
        fault = await asyncio.to_thread(cell.sandbox.share_network)
        if "not installed" in fault:
            pytest.skip(fault)
        assert fault == ""
        for _ in range(2):
            told = await cell.python(TUNNELS, "out.example:443", "other.example:443")
            assert [line.split()[1] for line in told] == ["200", "403"], told
        reached = await cell.shell(f"exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'a\\r\\n\\r\\n' >&3; tail -c 5 <&3")
        assert reached.text.splitlines()[1] == "model"
        assert "tcp ENETUNREACH" in await cell.python(DIRECT, 1)


async def test_a_command_that_takes_the_agents_socket_harms_only_itself(tmp_path: Path) -> None:
    async with open_cell(tmp_path, ["out.example"]) as cell:
        done = await cell.shell("rm -f /run/pool/start; touch /run/pool/x; mv /run/pool /run/other; ls /run/pool")
        assert done.text.splitlines()[-1] == "start"
        assert (await cell.shell("echo fine")).ok


async def test_a_lost_library_names_the_preset_that_would_help(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("x\n")
    async with open_cell(tmp_path, None) as cell:
        done = await cell.shell("echo 'Could not resolve host: example.org'; exit 1")
    assert "network is off" in done.text
    assert "--net python allows installing packages" in done.text


def test_landlock_says_that_it_knows_no_list(tmp_path: Path) -> None:
    policy = Policy((tmp_path,), allow=allow_list(["example.org"]), proxy_folder=tmp_path)
    with pytest.raises(CannotExpress, match="list of hosts"):
        Landlock(policy, 7)
    found = probe(policy, None, ("landlock",))
    assert found.tier == "none"
    assert found.reason


def test_a_policy_has_one_network(tmp_path: Path) -> None:
    for wrong in (
        {"network": True, "allow": allow_list([]), "proxy_folder": tmp_path},
        {"allow": allow_list([])},
        {"proxy_folder": tmp_path},
    ):
        with pytest.raises(ValueError, match=r"network on or|needs a proxy"):
            Policy((tmp_path,), **wrong)  # pyright: ignore[reportArgumentType]  # keywords as given


TWO_MACHINES = """
ip link set lo up
unshare --net sleep 60 &
other=$!
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
ip link add near type veth peer name far netns $other
ip addr add 203.0.113.1/24 dev near && ip link set near up
nsenter --net=/proc/$other/ns/net sh -c "ip addr add 203.0.113.2/24 dev far && ip link set far up"
nsenter --net=/proc/$other/ns/net "$0" -m http.server --bind 203.0.113.2 --directory "$1" 80 >/dev/null 2>&1 &
"$0" "$2" "$3"; status=$?
kill $other %2
exit $status
"""

AGENT = """
import asyncio, json, sys
from pathlib import Path
from tests.tools.network.test_sandboxed import open_cell

NAMES = {"out.example": ["203.0.113.2"], "own.example": ["203.0.113.1"], "mixed.example": ["203.0.113.2", "10.0.0.1"]}

async def names(host, port):
    return NAMES[host]

async def main():
    async with open_cell(Path(sys.argv[1]), [*NAMES, "203.0.113.2:80"], resolver=names) as cell:
        get = "python3 -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())' "
        out = {}
        for url in (*NAMES, "203.0.113.2", "203.0.113.1", "other.example"):
            done = await cell.shell(f"{get} http://{url}/page")
            out[url] = [done.ok, done.text, done.data.get("network")]
        print(json.dumps(out))

asyncio.run(main())
"""


def test_a_listed_host_on_another_machine(tmp_path: Path) -> None:
    """A40 with a route out: another network namespace is the other machine."""
    if not shutil.which("ip") or not shutil.which("unshare") or not shutil.which("nsenter"):
        pytest.skip("ip (iproute2), unshare or nsenter is not installed")
    for name in ("site", "work"):
        (tmp_path / name).mkdir()
    (tmp_path / "site/page").write_text("it works")
    (tmp_path / "agent.py").write_text(AGENT)
    arguments = (sys.executable, *(str(tmp_path / name) for name in ("site", "agent.py", "work")))
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--net", "bash", "-c", TWO_MACHINES, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])},
        capture_output=True,
        text=True,
        timeout=50,
    )
    if "{" not in done.stdout:
        pytest.skip(f"no second machine can be made here: {done.stderr[-500:]}")
    told: dict[str, Any] = json.loads(done.stdout)
    assert {host: ok for host, (ok, _, _) in told.items()} == {
        "out.example": True,
        "203.0.113.2": True,
        "own.example": False,
        "mixed.example": False,
        "203.0.113.1": False,
        "other.example": False,
    }
    assert "it works" in told["out.example"][1]
    assert told["out.example"][2][0]["received"] > len("it works")
    assert "an address of this machine" in told["own.example"][1]
    assert "10.0.0.1, a private address" in told["mixed.example"][1]
    assert all("403" in told[host][1] for host in ("own.example", "mixed.example", "203.0.113.1", "other.example"))
