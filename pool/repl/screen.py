"""The terminal of `pool chat`: finished lines go to its scrollback, the prompt and what goes on stand below them."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.styles import Style

from pool.config.settings import Settings
from pool.facekit.editor import EditorError, edited
from pool.facekit.pastes import Pastes
from pool.repl.asking import Query
from pool.repl.chat import Chat
from pool.repl.completing import Offers
from pool.repl.ink import Ink, Role
from pool.repl.keys import bindings
from pool.repl.layout import layout
from pool.repl.output import LineOutput
from pool.repl.past import Past
from pool.repl.thought import thought_line
from pool.repl.typedahead import QuestionKeys

if TYPE_CHECKING:
    from pool.facekit.live.place import Attachment

FLUSH_SECONDS = 0.03
"""Lines that come within so little time are written together."""

TICK_SECONDS = 0.25
"""How often the seconds of what goes on are drawn."""

ESCAPE_SECONDS = 0.3
"""How long Esc may be the beginning of Alt and a key."""

SEQUENCE_SECONDS = 0.05
"""How long an escape character may be the beginning of a sequence."""

AFTER_STOP_SECONDS = 1.0
"""For so long after a stop no Esc counts as the first of two."""

AGAIN_SECONDS = 2.0
"""A second Ctrl-C within this time leaves; a second Esc within it goes back to an earlier prompt."""

HINT_SECONDS = 3.0
SIGNALLED = 128
"""Added to a signal's number it is the exit code of a program that it ended."""


class Screen:
    """Shows one chat and takes its keys. Runs on one event loop."""

    def __init__(self, settings: Settings, ink: Ink, attachment: Attachment | None = None) -> None:
        self.chat = Chat(settings, ink, self, attachment=attachment)
        self.pastes = Pastes()
        self.box = Buffer(
            multiline=True,
            history=Past(self.chat.recall),
            completer=Offers(lambda: self.chat.settings.workspace, lambda: self.chat.driver),
            complete_while_typing=True,
            on_text_changed=self._typed,
        )
        self.question_keys = QuestionKeys(self)
        self._hint = ""
        self._hint_until = self._escaped = self._interrupted = self._stopped = 0.0
        self._lines: list[str] = []
        self._flush: asyncio.TimerHandle | None = None
        self._away = False
        self._height = 0
        self._output = LineOutput(sys.stdout, os.environ.get("TERM", ""), colours=ink.colours)
        self.app: Application[int] = Application(
            layout=layout(self),
            key_bindings=bindings(self),
            editing_mode=EditingMode.VI if settings.ui.vi else EditingMode.EMACS,
            output=self._output,
            style=Style([]),
            erase_when_done=True,
            before_render=self._shrink,
            min_redraw_interval=FLUSH_SECONDS,
        )
        self.app.timeoutlen = ESCAPE_SECONDS
        self.app.ttimeoutlen = SEQUENCE_SECONDS

    async def run(self, prompt: str) -> int:
        """Show the interface until it is left; the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.leave, SIGNALLED + number)
        loop.set_exception_handler(self._fault)
        self.chat.start("? keys, / commands, @ files, ! shell")
        if prompt:
            self.chat.send(prompt)
        if draft := self.chat.recall.draft():
            self.set_text(draft)
        ticking = asyncio.create_task(self._tick())
        try:
            return await self.app.run_async(set_exception_handler=False)
        except EOFError:
            return SIGNALLED + signal.SIGHUP
        finally:
            ticking.cancel()
            self.chat.recall.save_draft(self.pastes.unfold(self.box.text))
            await self.chat.close()
            self._write_lines()
            self._output.last_words()

    # -- what a chat wants of its terminal ---------------------------------------------------------------------------

    @property
    def columns(self) -> int:
        """Cells of a row."""
        return self._output.get_size().columns

    def say(self, line: str) -> None:
        """Write a line for good, soon."""
        self._lines.append(line)
        if self._flush is None:
            self._flush = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._write)

    def refresh(self) -> None:
        """Draw anew what is live."""
        self.app.invalidate()

    def ask(self, query: Query) -> None:
        """The answers stand above the prompt until one is given."""
        self.app.invalidate()

    def moved(self) -> None:
        """Up brings back what was typed in the folder that is worked in now."""
        self.box.history = Past(self.chat.recall)
        self.box.reset(self.box.document)

    def leave(self, code: int) -> None:
        """End the interface."""
        if self.app.is_running and not (self.app.future and self.app.future.done()):
            self.app.exit(result=code)

    def copy(self, text: str) -> None:
        """Offer a text to the terminal's clipboard (OSC 52)."""
        data = base64.b64encode(text.encode("utf-8", "replace")).decode()
        self._output.write_raw(f"\x1b]52;c;{data}\x07")
        self._output.flush()

    def _fault(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An error that nobody expected: a line, and the talk goes on."""
        why = context.get("exception") or context.get("message")
        self.chat.feed.remark(f"Pool failed inside: {why!r}; please report this", Role.BAD)

    # -- drawing -----------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        """Put the lines above the prompt, in one write with the new prompt."""
        self._flush = None
        if self._away or not self._lines:
            return
        if not self.app.is_running:
            return
        with self._output.together():
            self.app.renderer.erase(leave_alternate_screen=False)
            self._write_lines()
            self.app.renderer.render(self.app, self.app.layout)
        self.app.invalidate()

    def _write_lines(self) -> None:
        lines, self._lines = self._lines, []
        if lines:
            self._output.write_raw("".join(f"{line}\r\n" for line in lines))
            self._output.flush()

    def _shrink(self, app: Application[int]) -> None:
        """Where less is to be drawn than before, begin anew: prompt-toolkit would keep the rows."""
        size = self._output.get_size()
        height = app.layout.container.preferred_height(size.columns, size.rows).preferred
        if height < self._height:
            with self._output.together():
                app.renderer.erase(leave_alternate_screen=False)
        self._height = height

    async def _tick(self) -> None:
        """Seconds go on though no event comes."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            if self.chat.busy or self.chat.driver.opening or self._hint:
                self.app.invalidate()

    # -- hints -------------------------------------------------------------------------------------------------------

    def hint(self, text: str, seconds: float = HINT_SECONDS) -> None:
        """Say something short in the toolbar, for a while."""
        self._hint, self._hint_until = text, self._now + seconds
        self.app.invalidate()

    @property
    def hint_text(self) -> str:
        if self._hint and self._now < self._hint_until:
            return self._hint
        self._hint = ""
        query = self.chat.asking.current
        if query is not None and not query.writing and self.box.text:
            return "a question waits: send or clear the line first"
        return "Esc stops, Tab queues" if self.chat.busy and self.box.text else "Esc stops" if self.chat.busy else ""

    @property
    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    # -- the prompt --------------------------------------------------------------------------------------------------

    @property
    def answers_by_key(self) -> bool:
        """Whether keys are answers now: a question waits, and nothing is being written."""
        query = self.chat.asking.current
        return query is not None and not query.writing and not self.box.text

    @property
    def is_writing_answer(self) -> bool:
        """Whether what is typed is an answer in words."""
        query = self.chat.asking.current
        return query is not None and bool(query.writing)

    def _typed(self, box: Buffer) -> None:
        if not self.is_writing_answer:
            self.chat.asking.settle()

    def set_text(self, text: str) -> None:
        """Put a text in the box, the cursor at its end."""
        self.box.document = Document(text)

    def take(self) -> str:
        """Empty the box; what it meant, pastes unfolded."""
        shown = self.box.text
        text = self.pastes.unfold(shown)
        self.box.reset()
        self.pastes.clear()
        self.chat.recall.add(text)
        self.box.history = Past(self.chat.recall)
        self.chat.recall.save_draft("")
        return text

    def send(self) -> None:
        """Enter: an answer in words, or a prompt, a steering word, a command."""
        if self.question_keys.confirm():
            return
        if self.is_writing_answer:
            words = self.box.text
            self.box.reset()
            self.chat.asking.write(words)
        elif self.box.text.strip():
            self.chat.send(self.take())

    def queue(self) -> None:
        """Tab while it works: keep it for after the run."""
        self.chat.queue(self.take())

    def paste(self, text: str) -> None:
        """Insert a pasted text; a large one as a mark."""
        self.box.insert_text(self.pastes.fold(text))

    def escape(self) -> None:
        """Close what is open; else stop the run; else, twice with nothing typed, go back to an earlier prompt."""
        self.question_keys.forget()
        if self.box.complete_state is not None:
            self.box.cancel_completion()
        elif self.chat.asking.back():
            self.box.reset()
        elif self._stop_or_decline():
            return
        elif self.box.text or self._now - self._stopped < AFTER_STOP_SECONDS:
            self._escaped = 0.0
        elif self._now - self._escaped < AGAIN_SECONDS:
            self._escaped, self._hint = 0.0, ""
            self.chat.command("/undo")
        else:
            self._escaped = self._now
            self.hint("Esc again goes back to an earlier prompt", AGAIN_SECONDS)

    def interrupt(self) -> None:
        """Ctrl-C: stop the run, if it works here; clear the line; else, twice, leave."""
        if not self.chat.driver.attached and self._stop_or_decline():
            return
        if self.box.text:
            self.take()
            self.hint("cleared; Up brings it back")
        elif self._now - self._interrupted < AGAIN_SECONDS:
            self.leave(0)
        else:
            self._interrupted = self._now
            self.hint("Ctrl+C again leaves", AGAIN_SECONDS)

    def _stop_or_decline(self) -> bool:
        """Stop what works, or leave a command's question unanswered; whether there was either."""
        if self.chat.busy:
            self._stopped = self._now
            self.chat.stop()
            self.hint("stopping", AFTER_STOP_SECONDS)
            return True
        if self.chat.asking.decline():
            self.box.reset()
            return True
        return False

    # -- more keys ---------------------------------------------------------------------------------------------------

    def show_thought(self) -> None:
        """The last thought, in full."""
        lines = self.chat.feed.last_thought
        if not lines:
            self.hint("there is no thought to show yet")
        for line in lines:
            self.say(thought_line(line, self.chat.ink))

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside the keys."""
        self.app.create_background_task(work)

    async def suspend(self) -> None:
        """Give the terminal to the shell until it comes back; nothing where there is no job control."""
        if os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp():
            await self._give_away(lambda: os.kill(0, signal.SIGTSTP))

    async def edit(self) -> None:
        """Write the prompt in the user's editor; the terminal is its while it runs."""
        text = self.pastes.unfold(self.box.text)
        await self._give_away(lambda: self._edited(text))

    async def edited(self, text: str) -> str | None:
        """Any text in the user's editor; None if there is none, which is said."""
        out: list[str] = []
        await self._give_away(lambda: out.extend(self._in_editor(text)))
        return out[0] if out else None

    def _edited(self, text: str) -> None:
        for changed in self._in_editor(text):
            self.pastes.clear()
            self.set_text(changed)

    def _in_editor(self, text: str) -> list[str]:
        try:
            return [edited(text, dict(os.environ))]
        except EditorError as error:
            self.chat.feed.remark(str(error), Role.BAD)
            return []

    async def _give_away(self, work: Callable[[], None]) -> None:
        """Do something with the terminal while lines wait."""
        self._away = True
        try:
            async with in_terminal():
                with self._output.given_away():
                    work()
        finally:
            self._away = False
            self._write()
