"""Serving one client over the standard streams, until it goes."""

from __future__ import annotations

import asyncio
import signal

from pool.acp.agent import AcpAgent, SettingsFor
from pool.acp.leaving import end_soon, leave
from pool.acp.stdio import LINE_LIMIT_BYTES, LineReader, LineWriter, Streams, take_streams
from pool.extend.acp.errors import INVALID_REQUEST, RpcError
from pool.extend.acp.peer import Peer


def serve(settings_for: SettingsFor, *, confined: bool = True) -> int:
    """Serve until stdin ends or the client stops reading; the exit code. confined is that of `AcpAgent`."""
    return asyncio.run(_serve(take_streams(), settings_for, confined=confined))


async def _serve(streams: Streams, settings_for: SettingsFor, *, confined: bool) -> int:
    gone = asyncio.Event()
    writer = LineWriter(streams.write, gone.set)
    peer = Peer(writer.send)
    agent = AcpAgent(peer, settings_for, confined=confined)
    too_long = RpcError(INVALID_REQUEST, f"a message has more than {LINE_LIMIT_BYTES:,} bytes")
    LineReader(streams.read, peer.take, lambda: peer.refuse(too_long), gone.set).start()
    code = 0
    loop = asyncio.get_running_loop()

    def signalled(number: int) -> None:
        nonlocal code
        code = 128 + number
        gone.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, signalled, number)
    await gone.wait()
    await leave(peer, agent)
    await asyncio.to_thread(writer.close)
    end_soon(code)
    return code
