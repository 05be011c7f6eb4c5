"""What a person may ask of the interface: send, steer, queue, stop, commands, copying, panels."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pool.config.settings import Mode
from pool.facekit import clipboard
from pool.facekit.activity import Activity
from pool.facekit.answers import answer_lines, answer_text
from pool.facekit.comeback import going_on_words
from pool.facekit.editor import EditorError, edited
from pool.facekit.homely import homely
from pool.facekit.planasking import PlanAsking
from pool.facekit.skillwords import skills_for
from pool.tui.askline import AskLine
from pool.tui.attention import window_title
from pool.tui.completion import Offer
from pool.tui.helptext import commands_help, help_text, welcome_text
from pool.tui.lines import STOPPING
from pool.tui.note import Note
from pool.tui.openers import COMMAND_MARK, Panels
from pool.tui.panels import Item, Pager, Picker
from pool.tui.queue import Waiting
from pool.tui.transcript.notice import ErrorCard, Quiet
from pool.tui.usershell import UserShell

if TYPE_CHECKING:
    from pool.agent.commands import Action, Ask
    from pool.agent.control import Conversation
    from pool.facekit.agents.conversation import AgentConversation
    from pool.facekit.live.remote import RemoteConversation
    from pool.tui.app import PoolApp

MODES_ROUND = ("default", "accept-edits", "auto", "plan")
"""The modes that Shift+Tab goes through; allow-all is chosen by name."""

LEAVING = ("/quit", "/exit", "/q")
"""Commands that work before there is a session."""

SHELL_MARK = "!"
WAITS_HINT_SECONDS = 6.0
MOST_TITLE_CHARS = 60
ENDED_HINT_SECONDS = 6.0
NO_OTHER = "another session cannot be opened where a run of another process is shown"


class Actions:
    """Deeds of the app, kept apart from its looks. Used on the app's loop."""

    def __init__(self, app: PoolApp) -> None:
        self._app = app
        self.panels = Panels(app)
        self._before_open: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._mouse_free = not app.settings.ui.mouse
        self.shell = UserShell(app)
        self._watches = False
        self.opening_since = 0.0
        self.plans = PlanAsking(app.questions.ask, self.send, self.say, self.spawn)
        self._edits_plan = False

    @property
    def _talk(self) -> Conversation | RemoteConversation | AgentConversation | None:
        return self._app.driver.talk

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something in the background; what goes wrong is shown, never lost."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.say_error(f"Pool failed inside: {error!r}", "please report this")

    # -- saying -----------------------------------------------------------------------------------------------------

    def welcome(self) -> None:
        """The first lines of a conversation."""
        self._app.transcript.add(Quiet(welcome_text(self._app.settings.workspace)))

    def say(self, text: str) -> None:
        """Show a few lines that are the interface's own."""
        self._app.transcript.add(Note(text) if "\n" in text else Quiet(text))

    def say_error(self, why: str, remedy: str = "") -> None:
        """Show an error card."""
        self._app.transcript.add(ErrorCard(why, remedy=remedy))

    # -- prompts ----------------------------------------------------------------------------------------------------

    def send(self, text: str) -> None:
        """Do with a prompt what it asks for: a command, a shell line, a steering word, a run."""
        self._app.recall.add(text)
        self._app.recall.save_draft("")
        if self._talk is None and text.strip() in LEAVING:
            self._app.leave()
            return
        if self._app.driver.ended:
            self._app.hint(f"the run has ended; {self._app.key('leave')} leaves", ENDED_HINT_SECONDS)
            return
        edits_plan, self._edits_plan = self._edits_plan, False
        if text.startswith(COMMAND_MARK) and "\n" not in text.strip():
            self.command(text.strip())
        elif edits_plan:
            self.command(f"/plan edited {text}")
        elif text.startswith(SHELL_MARK) and text[1:].strip():
            self.spawn(self.shell.run(text[1:].strip()))
        elif self._talk is None:
            self._before_open.append(text)
            self.show_queue()
            if self._app.driver.lacks_server:
                self._app.first_start.show("there is no model server yet")
        else:
            self.prompt(text)

    def prompt(self, text: str) -> None:
        """Say a text to the model, whatever it begins with: to the run that works, or as a new one."""
        if self._talk is None:
            return
        if self._talk.steer(text):
            self.show_queue()
        elif self._talk.busy:
            self.queue(text)
        else:
            self.spawn(self._run("\n\n".join([*self.shell.take_told(), text])))

    async def _run(self, text: str) -> None:
        await self._app.driver.submit(text)

    def send_waiting(self) -> None:
        """Send what was written before the session was open."""
        waiting, self._before_open = self._before_open, []
        self.show_queue()
        self.spawn(self._send_all(waiting))

    async def _send_all(self, texts: Sequence[str]) -> None:
        """Send in order: a command is done before what comes after it; prompts wait for the run of the first."""
        asked = False
        for text in texts:
            if text.startswith(COMMAND_MARK) and "\n" not in text.strip():
                await self._command(text.strip())
            elif asked:
                self.queue(text)
            else:
                self.send(text)
                asked = True

    def queue(self, text: str) -> None:
        """Keep a prompt for after the run."""
        self._app.recall.add(text)
        if self._talk is not None:
            self._talk.queue(text)
        else:
            self._before_open.append(text)
        self.show_queue()

    def show_queue(self) -> None:
        """Show what waits."""
        rows = [Waiting(-1 - n, t, steering=False) for n, t in enumerate(self._before_open)]
        if (talk := self._talk) is not None:
            rows += [Waiting(n, t, steering=True) for n, t in enumerate(talk.waiting_steering())]
            held = not self._app.activity.busy
            rows += [Waiting(n, t, steering=False, held=held) for n, t in enumerate(talk.queued())]
        self._app.queue.show_rows(rows)
        self._app.box.has_waiting = any(self._can_take_back(row) for row in rows)

    def _can_take_back(self, waiting: Waiting) -> bool:
        """Whether the model cannot have it yet: what is said to a run of another process is on its way at once."""
        conversation = self._app.driver.conversation
        if not waiting.steering:
            return True
        said = conversation.waiting_steering() if conversation is not None else ()
        return waiting.number < len(said) and said[waiting.number] == waiting.text

    def take_back(self, waiting: Waiting) -> None:
        """Put a waiting message back into the box, to be changed or left out."""
        if not self._can_take_back(waiting):
            self._app.hint("that one is on its way to the model")
            return
        if waiting.steering and self._app.driver.conversation is not None:
            self._app.driver.conversation.drop_steering(waiting.number)
        elif waiting.number < 0:
            del self._before_open[-1 - waiting.number]
        elif (talk := self._talk) is not None:
            talk.drop_queued(waiting.number)
        box = self._app.box
        box.set_text(f"{waiting.text}\n{box.text}" if box.text else waiting.text)
        box.focus()
        self.show_queue()

    def take_back_last(self) -> None:
        """The last message that waits, back into the box."""
        if rows := [row for row in self._app.queue.rows if self._can_take_back(row)]:
            self.take_back(rows[-1])

    def stop(self) -> None:
        """Stop the run, and the user's own command."""
        self.shell.stop()
        if (talk := self._talk) is not None and talk.stop():
            self._app.hint(STOPPING)

    # -- commands ---------------------------------------------------------------------------------------------------

    def command_offers(self, line: str) -> Sequence[Offer]:
        """Commands and arguments that fit a line that begins with a slash."""
        if (given := self._app.driver.command_offers(line)) is not None:
            return [Offer(text, about, line=True) for text, about in given]
        from pool.agent.commands import complete

        found = complete(line, self._app.driver.conversation)
        return [Offer(c.text, " ".join(w for w in (c.hint, c.help) if w), line=True) for c in found]

    def skill_offers(self, word: str) -> Sequence[Offer]:
        """Skills that fit a word that begins with a dollar sign."""
        return [Offer(*found) for found in skills_for(word, self._app.driver.skills())]

    def command(self, line: str) -> None:
        """Do a slash command."""
        self.spawn(self._command(line))

    async def _command(self, line: str) -> None:
        driver = self._app.driver
        if driver.talk is None:
            self._without_session(line)
            return
        if driver.conversation is not None and self.panels.take(line, driver.conversation):
            return
        result = await driver.execute(line)
        self._app.activity.rest(time.monotonic())
        self._app.hearing.show_busy()
        if text := answer_text(result):
            note = Note("\n".join(answer_lines(result)), title=line, table=result.rows)
            self._app.transcript.add(note if result.ok else ErrorCard(line, text))
        if result.ask is not None:
            self._put_question(result.ask)
        if result.action is not None:
            await self._act(result.action)

    def _without_session(self, line: str) -> None:
        """Colours and help need no session; what does waits for it."""
        name, _, rest = line.removeprefix(COMMAND_MARK).partition(" ")
        match name:
            case "theme" if rest.strip():
                self.panels.use_theme(rest.strip())
            case "theme":
                self.panels.show_themes()
            case "help":
                self.show_help()
            case _:
                self._before_open.append(line)
                self.show_queue()
                if self._app.driver.lacks_server:
                    self._app.hint(f"{line} waits for a model server", WAITS_HINT_SECONDS)

    def _put_question(self, ask: Ask) -> None:
        """Let the person choose; the chosen command is done."""
        items = [Item(str(n), choice.label) for n, choice in enumerate(ask.choices)]

        def picked(number: str | None) -> None:
            if number is not None and (line := ask.choices[int(number)].line):
                self.command(line)

        title, _, body = ask.text.partition("\n")
        if len(title) > MOST_TITLE_CHARS:
            # A border cuts what is too long for it, and what is asked has to be read in full.
            title, body = "", ask.text
        self._app.push_screen(Picker(title, items, body=body), picked)

    async def _act(self, action: Action) -> None:
        """What a command leaves to the interface."""
        match action.kind.value:
            case "quit":
                self._app.leave()
            case "copy":
                self.copy(action.value)
            case "submit":
                self.prompt(action.value)
            case "open":
                self.panels.open(action.value)
            case "edit-plan":
                self._edit_plan(action.value)
            case "agent":
                from pool.tui import agents

                await agents.use(self._app, action.value) if action.value else agents.choose(self._app)
            case "theme" if action.value:
                self.panels.use_theme(action.value)
            case "theme":
                self.panels.show_themes()
            case "resume" | "new" if self._app.driver.attached:
                self.say_error(NO_OTHER, "leave it first (/quit); the run goes on")
            case "resume":
                await self.reopen(resume=action.value, folder=action.folder)
            case _:
                await self.reopen(resume="")

    async def reopen(self, *, resume: str, folder: str = "") -> None:
        """Leave this session and begin a new one, or go on with another; folder is where, "" for this one.

        The mode stays what the person made it: a new session must not ask less.
        """
        app = self._app
        glance = app.driver.glance()
        mode = glance.mode if glance is not None else app.settings.mode
        await app.driver.close()
        if app.garbage is not None:
            app.garbage.left_session()
        app.activity = Activity()
        app.transcript.clear()
        place = Path(folder) if folder else app.settings.workspace
        app.settings = app.driver.settings = replace(
            app.settings, workspace=place, resume=resume, continue_last=False, fork="", mode=mode, keep_mode=False
        )
        self.shell.earlier(())
        if folder:
            app.recall.move(place)
        app.write(window_title(place, ""))
        self.welcome()
        self.open_session()

    def open_session(self) -> None:
        """Let the driver open the session; the line above the box says so until it is open, or cannot be."""
        self.opening_since = time.monotonic()
        self._app.driver.start()
        self._app.line.run(True)

    def stop_opening(self) -> bool:
        """Look no longer for the server of a session here: let the person choose. False where that cannot be."""
        from pool.facekit.driver import Driver

        if not isinstance(self._app.driver, Driver):
            return False
        self.spawn(self._app.driver.give_up())
        return True

    def cycle_mode(self) -> None:
        """The next approval mode."""
        if (glance := self._app.driver.glance()) is None or (talk := self._talk) is None:
            self._app.hint("there is no session yet")
            return
        mode = glance.mode.value
        at = MODES_ROUND.index(mode) if mode in MODES_ROUND else -1
        # Not by its command, which would answer in the conversation; the status bar shows the mode.
        talk.set_mode(Mode(MODES_ROUND[(at + 1) % len(MODES_ROUND)]))

    # -- earlier rows, the server, the editor -----------------------------------------------------------------------

    def earlier(self, rows: Sequence[dict[str, Any]]) -> None:
        """Show a session that is gone on with; what the user ran last in it is still to be told."""
        self._app.feed.replay(rows)
        self.shell.earlier(rows)
        driver = self._app.driver
        if (glance := driver.glance()) is not None and not driver.attached and driver.agent is None:
            self.say(going_on_words(driver.kept_session, glance.mode))

    def watch_server(self) -> None:
        """Ask the server how it works on a reply, while it does."""
        conversation = self._app.driver.conversation
        if conversation is not None and self._app.activity.worth_watching and not self._watches:
            self._watches = True
            self.spawn(self._look_at_server(conversation))

    async def _look_at_server(self, conversation: Conversation) -> None:
        try:
            news = await conversation.look_at_server()
        finally:
            self._watches = False
        if news is not None:
            self._app.activity.hear(news.running, news.waiting, news.accepted)

    def edit_prompt(self) -> None:
        """Write the prompt in the user's editor; the terminal is its while it runs."""
        box = self._app.box
        text = self._in_editor(box.full_text)
        if isinstance(text, EditorError):
            self.say_error(str(text))
            return
        box.pastes.clear()
        box.set_text(text)

    def _in_editor(self, text: str) -> str | EditorError:
        """A text as the user left it, or why there was no editor: an error would keep the terminal suspended."""
        with self._app.suspend():
            try:
                return edited(text, dict(os.environ))
            except EditorError as error:
                return error

    def _edit_plan(self, plan: str) -> None:
        """Change the plan that waits in the user's editor; without one, in the box."""
        text = self._in_editor(plan)
        if isinstance(text, EditorError):
            self._app.box.set_text(plan)
            self._app.box.focus()
            self._edits_plan = True
            self.say_error(str(text), f"change the plan in the box; {self._app.key('send')} keeps it")
            return
        self.command(f"/plan edited {text}")

    # -- copying ----------------------------------------------------------------------------------------------------

    def copy(self, text: str) -> None:
        """Copy a text: OSC 52 for the terminal, and a clipboard program, else a file."""
        self._app.copy_to_clipboard(text)
        self.spawn(self._copy(text))

    async def _copy(self, text: str) -> None:
        program = await asyncio.to_thread(clipboard.by_program, text)
        count = f"{len(text):,} characters copied"
        if program:
            self._app.hint(f"{count} ({program})", 3.0)
            return
        path = await asyncio.to_thread(clipboard.by_file, text)
        where = f"; also in {homely(path)}" if path else ""
        self._app.hint(f"{count} to the terminal{where}", 5.0)

    def copy_answer(self) -> None:
        """Copy the last answer as the model wrote it."""
        text = self._app.last_answer
        if text:
            self.copy(text)
        else:
            self._app.hint("there is no answer to copy yet")

    def free_mouse(self) -> None:
        """Give the mouse to the terminal, so that its own selection works, or take it back."""
        self._mouse_free = not self._mouse_free
        on, off = "\x1b[?1000h\x1b[?1003h\x1b[?1015h\x1b[?1006h", "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"
        self._app.write(off if self._mouse_free else on)
        freed = f"the mouse is the terminal's; {self._app.key('mouse')} takes it back"
        self._app.hint(freed if self._mouse_free else "the mouse works in Pool again", 4.0)

    # -- panels -----------------------------------------------------------------------------------------------------

    def show_help(self) -> None:
        """Keys and commands."""
        conversation = self._app.driver.conversation
        own = conversation.session.skills.found.commands.commands if conversation else ()
        commands = [(f"/{command.name} {command.hint}".rstrip(), command.description) for command in own]
        others = self._app.driver.command_offers(COMMAND_MARK)
        known = commands_help() + commands if others is None else others
        self._app.push_screen(Pager("Help", help_text(self._app.keys, known, width=self._app.size.width)))

    def search_history(self) -> None:
        """Pick one of the prompts sent before."""
        prompts = list(dict.fromkeys(reversed(self._app.recall.prompts)))
        items = [Item(str(n), " ".join(p.split())) for n, p in enumerate(prompts)]

        def picked(number: str | None) -> None:
            if number is not None:
                self._app.box.set_text(prompts[int(number)])

        self._app.push_screen(Picker("Prompts sent before", items), picked)

    def find(self) -> None:
        """Search the conversation."""

        def asked(text: str | None) -> None:
            if not text:
                return
            if self._app.transcript.search(text):
                self._app.transcript.focus()
                self._app.hint("n: next, N: before, Esc: back to the box", 6.0)
            else:
                self._app.hint(f"{text!r} is not in the conversation")

        self._app.push_screen(AskLine("Search the conversation"), asked)

    def open_path(self, path: str, line: int) -> None:
        """Name a file that was clicked in the prompt."""
        box = self._app.box
        place = f"@{path}" + (f":{line}" if line else "")
        box.insert(f" {place} " if box.text and not box.text.endswith((" ", "\n")) else f"{place} ")
        box.focus()
