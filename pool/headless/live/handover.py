"""A run whose face has lost its terminal: it goes on in the process where it is, served as a detached one is."""

from __future__ import annotations

import asyncio
import os
import signal

from pool.agent.control import Conversation
from pool.events import RunFinished
from pool.facekit.live.place import Place
from pool.headless.live.obeying import Obedience
from pool.headless.live.serving import LiveServer
from pool.headless.live.working import BY_PERSON, ending_signals, linger, record_of

BUSY_SECONDS = 0.1
"""How often it is looked whether the run is over."""


async def serve_to_end(conversation: Conversation) -> int:
    """Serve a run that works until it is over, and what faces ask for besides; the exit code of the last run.

    The process lets go of its terminal, and SIGHUP does nothing any more. Raises `PlaceError` if it cannot be served.
    """
    obedience = Obedience(conversation, BY_PERSON)
    record = record_of(conversation.session, conversation.session.agent.state.prompt)
    with Place(record) as place:
        server = LiveServer(conversation, obedience, record, place)
        await server.start()
        _leave_terminal()
        with ending_signals(conversation) as leaving:
            while conversation.busy:
                await asyncio.sleep(BUSY_SECONDS)
            await linger(server, obedience, leaving)
        conversation.hub.close()
        code = _exit_code(conversation)
        await server.close(code)
        return code


def _exit_code(conversation: Conversation) -> int:
    ends = [e.body for e in conversation.hub.so_far() if isinstance(e.body, RunFinished) and not e.envelope.agent]
    return ends[-1].exit_code if ends else 0


def _leave_terminal() -> None:
    """Reading from a terminal that is gone, or writing to it, fails; of one that is there nothing more is taken."""
    asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for target in (0, 1, 2):
        os.dup2(null, target)
    os.close(null)
