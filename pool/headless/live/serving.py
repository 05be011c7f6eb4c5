"""The socket of a live run: shows it to every face that attaches, and does what they ask."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from dataclasses import fields, replace
from typing import Any

from pool.agent.control import Conversation
from pool.events import to_dict
from pool.facekit.live.lines import (
    LINE_LIMIT_BYTES,
    PROTOCOL_VERSION,
    LinkProblem,
    line_of,
    read_line,
    row_of,
)
from pool.facekit.live.peers import refused
from pool.facekit.live.place import LiveRecord, Place
from pool.facekit.live.remote import LiveStatus
from pool.facekit.skillwords import skills_of
from pool.headless.inputs import InputProblem, read_input
from pool.headless.live.obeying import Obedience
from pool.headless.output import LOG_ONLY

STALL_SECONDS = 60.0
"""A face that takes nothing for so long is let go: what it has not taken is kept in memory."""

FIRST_LINE_SECONDS = 5.0


class LiveServer:
    """Serves one conversation on a socket.

    staying counts faces that may send more prompts; changed is set when one comes, goes or asks for something.
    """

    def __init__(self, conversation: Conversation, obedience: Obedience, record: LiveRecord, place: Place) -> None:
        self._conversation = conversation
        self._obedience = obedience
        self._record = record
        self._place = place
        self._began = time.monotonic()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.staying = 0
        self.changed = asyncio.Event()

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_unix_server(self._serve, sock=self._place.socket, limit=LINE_LIMIT_BYTES)

    async def close(self, exit_code: int) -> None:
        """Tell every face how the process ends, after what they have still to get, and let them go.

        The hub is to be closed before.
        """
        if self._server is not None:
            self._server.close()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=FIRST_LINE_SECONDS)
        for writer in set(self._writers):
            if writer.is_closing():
                continue
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(FIRST_LINE_SECONDS):
                    writer.write(line_of({"type": "ended", "exit_code": exit_code}))
                    await writer.drain()
            writer.close()

    def status(self) -> LiveStatus:
        """The run at a glance."""
        conversation = self._conversation
        state = conversation.session.agent.state
        at_a_glance = conversation.status()
        approvals = conversation.session.approvals.pending()
        questions = conversation.session.questions.pending()
        waits = [f"approval of {a.name}" for a in approvals] + ["an answer" for _ in questions]
        return LiveStatus(
            session=at_a_glance.session,
            pid=os.getpid(),
            workspace=at_a_glance.workspace,
            state="waits" if waits else "working" if conversation.busy else "idle",
            waits_for=waits[0] if waits else "",
            prompt=state.prompt or self._record.prompt,
            turns=state.turns,
            tokens=state.usage.total,
            mode=at_a_glance.mode.value,
            model=at_a_glance.model,
            server=at_a_glance.server,
            age=time.monotonic() - self._began,
            queued=conversation.queued(),
            asked=(*(a.call_id for a in approvals), *(q.id for q in questions)),
            sandbox=at_a_glance.sandbox,
            window=at_a_glance.window,
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One face, from its first line on. Whatever it does, the run goes on."""
        try:
            async with asyncio.timeout(FIRST_LINE_SECONDS):
                line = await read_line(reader)
            if why := refused(writer):
                raise LinkProblem(why)
            first = row_of(line)
            if first.get("v") != PROTOCOL_VERSION:
                raise LinkProblem(f"this run speaks version {PROTOCOL_VERSION} of the protocol")
            match first.get("type"):
                case "status":
                    await self._send(writer, self._status_row(self.status()))
                case "attach":
                    await self._attached(reader, writer, first)
                case kind:
                    raise LinkProblem(f"the first line is attach or status, not {kind!r}")
        except LinkProblem as problem:
            with contextlib.suppress(OSError, TimeoutError):
                await self._send(writer, {"type": "refused", "text": str(problem)})
        except (OSError, TimeoutError):
            pass
        finally:
            writer.close()

    async def _attached(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: dict[str, Any]
    ) -> None:
        after = first.get("after", -1)
        if not isinstance(after, int):
            raise LinkProblem("`after` is the number of an event")
        await self._send(writer, self._status_row(replace(self.status(), skills=skills_of(self._conversation))))
        stays = bool(first.get("stay"))
        self.staying += stays
        self.changed.set()
        self._writers.add(writer)
        showing = asyncio.create_task(self._show(writer, after))
        self._tasks.add(showing)
        showing.add_done_callback(self._tasks.discard)
        try:
            await self._obey(reader, writer)
        finally:
            if self._server is not None and self._server.is_serving():
                showing.cancel()
                self._writers.discard(writer)
            await asyncio.gather(showing, return_exceptions=True)
            self.staying -= stays
            self.changed.set()

    async def _show(self, writer: asyncio.StreamWriter, after: int) -> None:
        """Hand on every event, and say once that all earlier ones are handed on; ends with the hub, or the face."""
        hub = self._conversation.hub
        last, current = hub.last_durable, False
        try:
            events = hub.subscribe(after)
            while True:
                if not current and after >= last:
                    current = True
                    await self._send(writer, {"type": "current"})
                event = await anext(events, None)
                if event is None:
                    return
                if not isinstance(event.body, LOG_ONLY):
                    await self._send(writer, to_dict(event))
                after = event.envelope.seq
        except (OSError, TimeoutError):
            writer.transport.abort()

    async def _obey(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Do what the face asks until it leaves."""
        while line := await read_line(reader):
            match row_of(line):
                case {"type": "detach"}:
                    return
                case {"type": "command", "id": str(id_), "line": str(command)}:
                    self._obedience.start(self._command(writer, id_, command))
                    self.changed.set()
                    continue
                case _:
                    pass
            try:
                why = self._obedience.take(read_input(line))
            except InputProblem as problem:
                why = str(problem)
            self.changed.set()
            if why:
                await self._send(writer, {"type": "refused", "text": why})

    async def _command(self, writer: asyncio.StreamWriter, id_: str, line: str) -> None:
        """Do a slash command; a face that has gone meanwhile does not hear of it."""
        from pool.agent.commands import execute
        from pool.facekit.live.results import result_row

        result = await execute(line, self._conversation)
        with contextlib.suppress(OSError, TimeoutError):
            await self._send(writer, result_row(id_, result))

    async def _send(self, writer: asyncio.StreamWriter, row: dict[str, Any]) -> None:
        writer.write(line_of(row))
        async with asyncio.timeout(STALL_SECONDS):
            await writer.drain()

    def _status_row(self, status: LiveStatus) -> dict[str, Any]:
        return {"type": "status", **{each.name: getattr(status, each.name) for each in fields(status)}}
