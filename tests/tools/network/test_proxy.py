"""Handing over ports to the proxy: by the real starter, and by programs that mean no good."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from pathlib import Path

import pytest

from pool_tools.network import proxy as proxy_module
from pool_tools.network.proxy import NetworkProxy, open_proxy
from pool_tools.network.rules import RuleError, allow_list
from pool_tools.network.starter import FAILED_STATUS, SOCKET_NAME, start_command
from tests.tools.network.conftest import listening

pytestmark = pytest.mark.usefixtures("no_leaks")


def path_of(proxy: NetworkProxy) -> str:
    return str(proxy.folder / SOCKET_NAME)


def hand_over(proxy: NetworkProxy, *handles: int, text: bytes = b"until its end") -> bytes:
    """What a program gets for an answer."""
    with socket.socket(socket.AF_UNIX) as agent:
        agent.settimeout(5)
        agent.connect(path_of(proxy))
        if handles:
            socket.send_fds(agent, [text], list(handles))
        else:
            agent.send(text)
        return agent.recv(1000)


async def test_the_folder_is_private_and_goes(tmp_path: Path) -> None:
    async with open_proxy(allow_list([]), {}) as proxy:
        assert proxy.folder.stat().st_mode & 0o777 == 0o700
        assert os.listdir(proxy.folder) == [SOCKET_NAME]
    assert not proxy.folder.exists()


async def test_ports_are_served_until_the_command_ends() -> None:
    """Without a namespace of its own the command's ports are this machine's, on which the proxy's own may be taken."""
    async with open_proxy(allow_list([]), {}) as proxy:
        port = free_port()
        command = start_command(path_of(proxy), [port], ["sh", "-c", "echo started; read -r line; exit 3"])
        command = tuple(part.replace("28128", str(free_port())) for part in command)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
        assert process.stdin
        assert process.stdout
        assert await process.stdout.readline() == b"started\n"
        # Not on the list, so what connects is let go at once.
        assert await read_all(port) == b""
        process.stdin.write(b"\n")
        assert await process.wait() == 3
        await refuses(port)
        assert await proxy.take_flows() == ()


async def test_ports_for_good_are_served_until_the_proxy_ends() -> None:
    async with open_proxy(allow_list([]), {}) as proxy:
        port = free_port()
        command = [part.replace("28128", str(free_port())) for part in start_command(path_of(proxy), [port])]
        process = await asyncio.create_subprocess_exec(*command)
        assert await process.wait() == 0
        assert await read_all(port) == b""
    await refuses(port)


async def test_a_named_port_of_this_machine() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read()).upper())
        writer.close()

    with socket.create_server(("127.0.0.1", 0)) as inside:
        async with listening(echo) as port, open_proxy(allow_list([f"localhost:{port}"]), {}) as proxy:
            # As if the command's namespace had this port: the number says what it is for.
            await proxy_loopback(proxy, port, inside)
            flows = await proxy.take_flows()
    assert [(flow.place, flow.sent, flow.received) for flow in flows] == [(f"localhost:{port}", 5, 5)]


async def proxy_loopback(proxy: NetworkProxy, port: int, inside: socket.socket) -> None:
    near, accepted = socket.create_connection(inside.getsockname()), inside.accept()[0]
    reader, writer = await asyncio.open_connection(sock=near)
    streams = await asyncio.open_connection(sock=accepted)
    serving = asyncio.create_task(proxy.serve(port, *streams))
    writer.write(b"hello")
    writer.write_eof()
    assert await reader.read() == b"HELLO"
    writer.close()
    await writer.wait_closed()
    await serving


async def test_what_does_not_listen_is_not_taken(tmp_path: Path) -> None:
    pair = socket.socketpair()
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    local = socket.socket(socket.AF_UNIX)
    local.bind(str(tmp_path / "s"))
    local.listen()
    pipe = os.pipe()
    unbound = socket.socket()
    async with open_proxy(allow_list([]), {}) as proxy:
        for handle in (pair[0].fileno(), datagrams.fileno(), local.fileno(), pipe[0], unbound.fileno()):
            answer = await asyncio.to_thread(hand_over, proxy, handle)
            assert answer
            assert answer != b"ok"
        assert await asyncio.to_thread(hand_over, proxy, text=b"for good") == b"ok"
        assert await asyncio.to_thread(hand_over, proxy, text=b"x" * 10_000) == b"ok"
    for sock in (*pair, datagrams, local, unbound):
        sock.close()
    for end in pipe:
        os.close(end)


async def test_who_says_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy_module, "HANDING_SECONDS", 0.1)
    async with open_proxy(allow_list([]), {}) as proxy:
        with socket.socket(socket.AF_UNIX) as agent:
            agent.connect(path_of(proxy))
            began = time.monotonic()
            assert await asyncio.to_thread(agent.recv, 100) == b"nothing was handed over"
            assert time.monotonic() - began < 5


async def test_no_more_than_a_number_of_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy_module, "COMMANDS_MOST", 2)
    async with open_proxy(allow_list([]), {}) as proxy:
        answers = [await asyncio.to_thread(hand_over, proxy, text=b"for good") for _ in range(3)]
    assert answers == [b"ok", b"ok", b"too many commands are running"]


async def test_a_command_is_not_started_without_its_network(tmp_path: Path) -> None:
    command = start_command(str(tmp_path / "nobody"), [], ["touch", str(tmp_path / "ran")])
    pipe = asyncio.subprocess.PIPE
    command = tuple(part.replace("28128", str(free_port())) for part in command)
    process = await asyncio.create_subprocess_exec(*command, stderr=pipe)
    _, errors = await process.communicate()
    assert process.returncode == FAILED_STATUS
    assert errors.startswith(b"The sandbox's network could not be set up: ")
    assert os.listdir(tmp_path) == []


async def test_the_model_servers_port_cannot_be_named() -> None:
    async with open_proxy(allow_list(["localhost:8000"]), {}) as proxy:
        with pytest.raises(RuleError, match="localhost:8000 is the model server"):
            await proxy.forbid("127.0.0.1", 8000)
        await proxy.forbid("127.0.0.1", 8001)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


async def read_all(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    data = await reader.read()
    writer.close()
    await writer.wait_closed()
    return data


async def refuses(port: int) -> None:
    """Wait until nobody listens on port any more."""
    for _ in range(100):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            return
        writer.close()
        await asyncio.sleep(0.02)
    raise AssertionError(f"port {port} is still served")
