"""The process that works a live run: the session, its socket, its signals, its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Generator

from pool.agent.control import Conversation
from pool.agent.factory import Session, open_session
from pool.agent.questions import Questions
from pool.agent.state import Stop
from pool.config.settings import Settings
from pool.events import STOP_TABLE, Notice, SessionNamed, StopReason
from pool.facekit.live.place import LiveRecord, Place
from pool.headless.gitwishes import GitWishes
from pool.headless.live import LiveOptions
from pool.headless.live.notify import Notifier
from pool.headless.live.obeying import Obedience
from pool.headless.live.serving import LiveServer
from pool.headless.options import extras_for
from pool.headless.plain import one_line

PROMPT_CHARS = 200
"""Of the prompt so much stands in the record."""

FIRST_FACE_SECONDS = 10.0
"""So long the face that started the run is waited for, so that it misses nothing."""

BY_PERSON = "person"


async def work(
    settings: Settings, prompt: str, wishes: GitWishes, options: LiveOptions, report: Callable[[LiveRecord], object]
) -> int:
    """Work a prompt to its end, and what faces ask besides; the exit code. report is called when faces can attach.

    Raises `SettingsError`, `ServerProblem` and `PlaceError` where it cannot begin.
    """
    said = await wishes.before(settings) if wishes else ""
    async with open_session(settings, Questions(), extras_for(options.form)) as session:
        conversation = Conversation(session)
        asked = options.form.asked if options.form else str
        obedience = Obedience(conversation, BY_PERSON, asked)
        record = record_of(session, prompt)
        notifier = Notifier(options.notify, session.hub, record.workspace) if options.notify else None
        with Place(record) as place:
            server = LiveServer(conversation, obedience, record, place)
            await server.start()
            report(record)
            if options.name:
                session.hub.emit(SessionNamed(options.name))
            if said:
                session.hub.emit(Notice("info", said))
            if options.followed:
                await _first_face(server)
            with ending_signals(conversation) as leaving:
                finished = await conversation.submit(asked(prompt))
                failed = await wishes.after(session, finished) if wishes else 0
                failed = failed or await _leave_files(session, options)
                await linger(server, obedience, leaving)
            if obedience.finished is not None:
                await _leave_files(session, options)
            session.hub.close()
            if notifier is not None:
                await notifier.close()
            code = finished.exit_code or failed
            await server.close(code)
            return code


async def _leave_files(session: Session, options: LiveOptions) -> int:
    """Write the files of `--artifacts`, of the last run so far; an exit code for what could not be written."""
    if options.artifacts is None:
        return 0
    from pool.headless.artifacts import Artifacts

    left = Artifacts(options.artifacts, options.form)
    for event in session.hub.so_far():
        left.show(event)
    missing = await asyncio.to_thread(left.write, session)
    for line in missing:
        session.hub.emit(Notice("error", line))
    return STOP_TABLE[StopReason.INTERNAL_ERROR].exit if missing else 0


def record_of(session: Session, prompt: str) -> LiveRecord:
    """What a live run of this process says of itself in the list of runs."""
    return LiveRecord(
        session=session.hub.session,
        pid=os.getpid(),
        workspace=str(session.settings.workspace),
        started=time.time(),
        prompt=one_line(prompt)[:PROMPT_CHARS],
        ephemeral=session.settings.ephemeral,
    )


async def _first_face(server: LiveServer) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(FIRST_FACE_SECONDS):
            await server.changed.wait()


async def linger(server: LiveServer, obedience: Obedience, leaving: asyncio.Event) -> None:
    """Stay while a face may ask for more, or something works that one asked for."""
    asked_to_leave = asyncio.create_task(leaving.wait())
    try:
        while (server.staying or obedience.working) and not leaving.is_set():
            server.changed.clear()
            changed = asyncio.create_task(server.changed.wait())
            settled = asyncio.create_task(obedience.settled()) if obedience.working else changed
            await asyncio.wait({changed, settled, asked_to_leave}, return_when=asyncio.FIRST_COMPLETED)
            for task in (changed, settled):
                task.cancel()
    finally:
        asked_to_leave.cancel()
    await obedience.settled()


@contextlib.contextmanager
def ending_signals(conversation: Conversation) -> Generator[asyncio.Event]:
    """SIGINT and SIGTERM end the run and the process, SIGHUP does nothing; the event says that one has come."""
    loop = asyncio.get_running_loop()
    leaving = asyncio.Event()

    def asked(number: int) -> None:
        reason = StopReason.INTERRUPTED if number == signal.SIGINT else StopReason.SIGNALLED
        conversation.stop(Stop(reason, f"signal {signal.Signals(number).name}", number))
        leaving.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked, number)
    try:
        yield leaving
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
