"""What is done once a client has gone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading

from pool.acp.agent import AcpAgent
from pool.extend.acp.peer import Peer

LEAVE_SECONDS = 8.0
"""How long requests may take to end."""

THREADS_SECONDS = 2.0
"""How long threads may take then. One in the middle of a long computation hears no cancel, and Python would wait."""


async def leave(peer: Peer, agent: AcpAgent) -> None:
    """End all that works, and the sessions. Whoever has gone answers nothing; prompts end as cancelled, and what was
    asked before is still answered.
    """
    peer.hang_up()
    agent.cancel_all()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LEAVE_SECONDS):
            await peer.settled()
            await agent.end()
    peer.close()


def end_soon(code: int) -> None:
    """See to it that the process has ended in `THREADS_SECONDS`, with this exit code; all that is kept has been."""
    timer = threading.Timer(THREADS_SECONDS, os._exit, (code,))
    timer.daemon = True
    timer.start()
