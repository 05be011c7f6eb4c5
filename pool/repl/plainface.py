"""`pool chat` without a terminal that can do more than lines: TERM=dumb, pipes, files.

From a terminal that is all a person has: a line steers what works, a question is answered by a line. From anything else
each line is a prompt, worked after the one before; nobody is there to ask.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

from pool.config.settings import Settings
from pool.events import STOP_TABLE, StopReason
from pool.ports import Approver
from pool.repl.asking import Query
from pool.repl.chat import Chat
from pool.repl.ink import Ink

if TYPE_CHECKING:
    from pool.facekit.live.place import Attachment

AGAIN_SECONDS = 2.0
CHUNK_BYTES = 65_536
FIRST_WAIT_SECONDS = 3.0
"""After so long without a line it is said what goes on, and again each time that the wait has grown so much longer."""

WAIT_GROWS = 3.0
TICK_SECONDS = 0.5
SIGNALLED = 128
PROMPT = "> "


class PlainFace:
    """Shows one chat as lines, and reads lines."""

    def __init__(
        self, settings: Settings, ink: Ink, approver: Approver | None, attachment: Attachment | None = None
    ) -> None:
        """approver answers where stdin is no terminal; attachment is a run to talk to."""
        self._person = approver is None
        self.chat = Chat(settings, ink, self, approver, attachment)
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._left = asyncio.Event()
        self._code = 0
        self._interrupted = 0.0
        self._said = time.monotonic()
        self._wait = FIRST_WAIT_SECONDS
        self._at_prompt = False

    async def run(self, prompt: str) -> int:
        """Work until the lines end or somebody leaves; the exit code."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.leave, SIGNALLED + number)
        self.chat.start("/help commands, ! shell")
        if prompt:
            self.chat.send(prompt)
        threading.Thread(target=_read, args=(loop, self._lines), daemon=True).start()
        working = asyncio.create_task(self._work())
        telling = asyncio.create_task(self._tell())
        leaving = asyncio.create_task(self._left.wait())
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        for task in (working, telling, leaving):
            task.cancel()
        results = await asyncio.gather(working, telling, leaving, return_exceptions=True)
        await self.chat.close()
        if self._at_prompt:
            self._write("\n")
        for error in results:
            if isinstance(error, Exception):
                raise error
        return self._code or (0 if self._person else self.chat.code)

    # -- what a chat wants of its terminal ---------------------------------------------------------------------------

    @property
    def columns(self) -> int:
        """Lines are as long as they are: a screen reader or another program wraps them."""
        return 0

    def say(self, line: str) -> None:
        """Write a line."""
        if self._at_prompt:
            self._write("\n")
            self._at_prompt = False
        self._write(line + "\n")
        self._said, self._wait = time.monotonic(), FIRST_WAIT_SECONDS

    def refresh(self) -> None:
        """Nothing is live here but the prompt, when a person may write the next one."""
        chat = self.chat
        if self._person and chat.opened.is_set() and not (chat.working or self._at_prompt or chat.asking.current):
            self._prompt(PROMPT)

    def ask(self, query: Query) -> None:
        """Show the answers."""
        for key, words in query.rows:
            self.say(f"  {key}  {words}")
        self._prompt(f"{query.writes[query.writing] if query.writing else 'your answer:'} ")

    def moved(self) -> None:
        """Lines are not brought back here."""

    def leave(self, code: int) -> None:
        """End."""
        self._code = code
        self._left.set()

    def copy(self, text: str) -> None:
        """There is no clipboard here."""

    async def edited(self, text: str) -> str | None:
        """No editor is started here: lines may come from anywhere."""
        self.say(
            "no editor can be started here; write what should be different, or use pool run --approve-plan -f FILE"
        )
        return None

    # -- lines in ----------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        await self.chat.opened.wait()
        await self._settled()
        while True:
            text = await self._whole_line()
            if text is None:
                break
            self._at_prompt = False  # the Enter that ended the line has ended the prompt's line too
            self._take(text)
            await self._settled()
            self.refresh()
        if not self._person:
            await self.chat.settled()

    async def _settled(self) -> None:
        """Without a person the next line waits for the last one's end."""
        if not self._person:
            await self.chat.settled()
            await self.chat.opened.wait()

    def _take(self, text: str) -> None:
        chat = self.chat
        query = chat.asking.current
        if query is not None and query.writing:
            chat.asking.write(text)
        elif query is not None and text.strip() in [key for key, _ in query.rows]:
            if not chat.asking.ready:
                self.say("that came too soon to be an answer; once more, please")
            chat.asking.key(text.strip())
            if query.writing:
                self._prompt(f"{query.writes[query.writing]} ")
        elif query is not None and text.strip() and not text.startswith("/"):
            self.say(f"a question waits: {', '.join(key for key, _ in query.rows)}")
        elif text.strip():
            if self._person:
                chat.feed.echoed(text)
            chat.send(text)

    async def _whole_line(self) -> str | None:
        """A line, with those that a backslash at its end joins to it; None at the end."""
        text = await self._lines.get()
        while text is not None and text.endswith("\\"):
            more = await self._lines.get()
            text = text[:-1] + "\n" + (more or "")
        return text

    def _prompt(self, text: str) -> None:
        self._write(text)
        self._at_prompt = True

    def _write(self, text: str) -> None:
        """Write, or leave where nobody reads any more or nothing can be written."""
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            if isinstance(error, BrokenPipeError):
                self.leave(SIGNALLED + signal.SIGPIPE)
                return
            sys.stderr.write(f"pool chat: the output cannot be written: {error.strerror}\n")
            self.leave(STOP_TABLE[StopReason.INTERNAL_ERROR].exit)

    def _interrupt(self) -> None:
        """Stop what works here; else leave, a person after the second time."""
        now = time.monotonic()
        if not self._person:
            self.leave(STOP_TABLE[StopReason.INTERRUPTED].exit)
        elif not self.chat.driver.attached and self.chat.busy:
            self.chat.stop()
        elif not self.chat.driver.attached and self.chat.asking.decline():
            return
        elif now - self._interrupted < AGAIN_SECONDS:
            self.leave(0)
        else:
            self._interrupted = now
            self.say("Ctrl+C again leaves")
            self.refresh()

    async def _tell(self) -> None:
        """Say what goes on while nothing else is said, more and more seldom."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            words = [word for word in self.chat.words() if word]
            if words and self.chat.asking.current is None and time.monotonic() - self._said >= self._wait:
                wait = self._wait * WAIT_GROWS
                self.chat.feed.remark(" · ".join(words))
                self._wait = wait


def _read(loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[str | None]) -> None:
    """Hand on the lines of stdin, then None. Not through `sys.stdin`: a thread that waits in it holds up the exit."""
    rest = b""
    while True:
        try:
            data = os.read(0, CHUNK_BYTES)
        except OSError:
            data = b""
        *whole, rest = (rest + data).split(b"\n")
        if not data and rest:
            whole, rest = [rest], b""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            for line in whole:
                loop.call_soon_threadsafe(lines.put_nowait, line.decode("utf-8", "replace").rstrip("\r"))
            if not data:
                loop.call_soon_threadsafe(lines.put_nowait, None)
        if not data:
            return
