"""The conversation behind the lines: prompts, steering, the queue, commands, and what is said of them.

Knows no terminal: `Terminal` is what shows the lines and takes the keys.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pool import __version__
from pool.config.settings import Settings
from pool.events import STOP_TABLE, Event, PlanProposed, RunStarted, StopReason
from pool.facekit import clipboard
from pool.facekit.activity import Activity
from pool.facekit.answers import answer_text
from pool.facekit.clean import one_line
from pool.facekit.comeback import going_on_words
from pool.facekit.driver import driver_for
from pool.facekit.homely import homely
from pool.facekit.planasking import WAITS, PlanAsking
from pool.facekit.recall import Recall
from pool.facekit.shellline import TOLD_CHARS, ShellLine, untold
from pool.ports import Approver
from pool.repl.asking import Asking, Query
from pool.repl.earlier import earlier_lines
from pool.repl.feed import Feed
from pool.repl.ink import Ink, Role
from pool.repl.shelloutput import ShellOutput

if TYPE_CHECKING:
    from pool.agent.commands import Action, Ask
    from pool.agent.control import Conversation
    from pool.facekit.agents.conversation import AgentConversation
    from pool.facekit.live.place import Attachment
    from pool.facekit.live.remote import RemoteConversation

COMMAND_MARK = "/"
SHELL_MARK = "!"
ANSWER_INDENT = 2
LEAVING = ("/quit", "/exit", "/q")
"""Commands that work before there is a session."""

MODES_ROUND = ("default", "accept-edits", "auto", "plan")
"""The modes that Shift+Tab goes through; allow-all is chosen by name."""


class Terminal(Protocol):
    """What shows a conversation. Lines are safe; colours in them are the ink's."""

    @property
    def columns(self) -> int:
        """Cells of a row, 0 where nothing is to be wrapped."""
        ...

    def say(self, line: str) -> None:
        """Show a line for good."""
        ...

    def refresh(self) -> None:
        """What is live has changed."""
        ...

    def ask(self, query: Query) -> None:
        """A question came up, and what it is about is said; the answers are to be shown."""
        ...

    def moved(self) -> None:
        """The conversation works in another folder from now on."""
        ...

    def leave(self, code: int) -> None:
        """End the interface."""
        ...

    def copy(self, text: str) -> None:
        """Offer a text to the terminal's clipboard, if it has one."""
        ...

    async def edited(self, text: str) -> str | None:
        """A text as the person left it in their editor; None where that cannot be, which is said."""
        ...


class Chat:
    """One conversation at a time. code is that of the first run that did not go well, 0 so far."""

    def __init__(
        self,
        settings: Settings,
        ink: Ink,
        terminal: Terminal,
        approver: Approver | None = None,
        attachment: Attachment | None = None,
    ) -> None:
        """approver answers in the place of a person, where nobody is there; attachment is a run to talk to."""
        self.settings = settings
        self.ink = ink
        self.terminal = terminal
        self._nobody = approver is not None
        self.recall = Recall(settings.workspace)
        self.activity = Activity()
        self.feed = Feed(ink, terminal.say, settings.ui.reasoning, lambda: terminal.columns)
        self.asking = Asking(ink, self._raised, terminal.refresh)
        self.driver = driver_for(
            attachment,
            settings,
            approver or self.asking,
            on_event=self._take,
            on_earlier=self._earlier,
            on_open=self._opened,
            on_failed=self._failed,
            # A line of a pipe waits for the end of the run before it: nothing may be known late.
            gather=0.0,
        )
        self.ran = False
        self.code = 0
        self.opened = asyncio.Event()
        self._before_open: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._shell: ShellLine | None = None
        self._shell_output: ShellOutput | None = None
        self._told: list[str] = []
        self._plans = PlanAsking(self.asking.question, self.send, self.feed.remark, self._spawn)

    @property
    def talk(self) -> Conversation | RemoteConversation | AgentConversation | None:
        return self.driver.talk

    @property
    def busy(self) -> bool:
        """Whether something works that can be stopped."""
        return self._shell is not None or (self.talk is not None and self.talk.busy)

    @property
    def working(self) -> bool:
        """Whether anything that was asked for is not done yet."""
        return bool(self._tasks)

    def start(self, hint: str) -> None:
        """Say hello, with what may be typed, and open the session."""
        self.feed.remark(f"Pool {__version__} in {homely(self.settings.workspace)} · {hint}")
        self.driver.start()

    async def close(self) -> None:
        """End what works, and the session."""
        if self._shell is not None:
            self._shell.stop()
        await self.driver.close()

    async def settled(self) -> None:
        """Wait until nothing works any more: prompts, commands, the shell."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def words(self) -> list[str]:
        """What goes on right now, the most important first."""
        if self.driver.opening:
            return ["looking for the server"]
        if self._shell is not None:
            return [f"running ! {one_line(self._shell.command)}"]
        return self.activity.words(time.monotonic())

    def live(self) -> list[str]:
        """Lines that are not said for good yet."""
        if self._shell_output is not None:
            return self._shell_output.tail
        return self.feed.live

    def waiting(self) -> list[tuple[str, str]]:
        """Messages that have not reached the model: when they will, and their text."""
        rows = [("when the server is there", text) for text in self._before_open]
        if (talk := self.talk) is not None:
            rows += [("for this turn", text) for text in talk.waiting_steering()]
            when = "after this run" if talk.busy else "after the next run"
            rows += [(when, text) for text in talk.queued()]
        return rows

    # -- prompts

    def send(self, text: str) -> None:
        """Do with a line what it asks for: a command, a shell line, a steering word, a run."""
        if self.talk is None and text.strip() in LEAVING:
            self.terminal.leave(0)
        elif self.talk is None:
            self._before_open.append(text)
        elif text.startswith(COMMAND_MARK) and "\n" not in text.strip():
            self.command(text.strip())
        elif text.startswith(SHELL_MARK) and text[1:].strip():
            self._spawn(self._run_shell(text[1:].strip()))
        else:
            self.prompt(text)
        self.terminal.refresh()

    def prompt(self, text: str) -> None:
        """Say a text to the model, whatever it begins with: to the run that works, or as a new one."""
        if self.talk is None or self.talk.steer(text):
            return
        if self.talk.busy:
            self.queue(text)
        else:
            told, self._told = self._told, []
            self._spawn(self._run("\n\n".join([*told, text])))

    def queue(self, text: str) -> None:
        """Keep a prompt for after the run."""
        if self.talk is not None:
            self.talk.queue(text)
        else:
            self._before_open.append(text)
        self.terminal.refresh()

    def stop(self) -> None:
        """Stop the run, or the user's own command."""
        if self._shell is not None:
            self._shell.stop()
        if self.talk is not None:
            self.talk.stop()

    async def _run(self, text: str) -> None:
        if (finished := await self.driver.submit(text)) is not None:
            self.code = self.code or finished.exit_code

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.feed.remark(f"Pool failed inside: {error!r}; please report this", Role.BAD)
            self.code = self.code or STOP_TABLE[StopReason.INTERNAL_ERROR].exit
        self.terminal.refresh()

    # -- what the session says

    def _opened(self) -> None:
        waiting, self._before_open = self._before_open, []
        for number, text in enumerate(waiting):
            if number and not text.startswith((COMMAND_MARK, SHELL_MARK)):
                self.queue(text)
            else:
                self.send(text)
        self.opened.set()
        self.terminal.refresh()

    def _failed(self, why: str, remedy: str) -> None:
        self.feed.remark(why, Role.BAD)
        if remedy:
            self.feed.remedy(remedy)
        self.terminal.leave(self.driver.failure_code)

    def _earlier(self, rows: Sequence[dict[str, Any]]) -> None:
        for line in ("", *earlier_lines(rows, self.ink, self.terminal.columns)):
            self.terminal.say(line)
        self._told = untold(rows)
        if (glance := self.driver.glance()) is not None and not self.driver.attached:
            self.feed.remark(going_on_words(self.driver.kept_session, glance.mode))

    def _take(self, event: Event) -> None:
        self.activity.take(event, event.envelope.mono)
        self.feed.show(event)
        self.ran = self.ran or isinstance(event.body, RunStarted)
        if not self._nobody:
            self._plans.take(event.body)
        elif isinstance(event.body, PlanProposed):
            self.feed.remark(WAITS)
        self.terminal.refresh()

    def _raised(self, query: Query) -> None:
        """A question comes up: what it is about stands above the answers."""
        self.feed.asked(query.call)
        self.feed.title(query.title)
        for line in query.body:
            self.terminal.say(f"  {line}")
        for reason in query.reasons:
            self.feed.note(reason, indent="  ")
        self.terminal.ask(query)

    # -- commands

    def command(self, line: str) -> None:
        """Do a slash command."""
        self._spawn(self._command(line))

    async def _command(self, line: str) -> None:
        if self.talk is None:
            return
        result = await self.driver.execute(line)
        self.activity.rest(time.monotonic())
        self.feed.title(line)
        if text := answer_text(result, max(0, self.terminal.columns - ANSWER_INDENT)):
            for row in text.split("\n"):
                self.terminal.say(f"  {row}" if result.ok else self.ink.paint(f"  {row}", Role.BAD))
        if result.ask is not None and self._nobody:
            self._tell_lines(result.ask)
        elif result.ask is not None:
            if chosen := await self.asking.choose(result.ask):
                self.command(chosen)
            else:
                self.feed.remark("left as it is")
        if result.action is not None:
            await self._act(result.action)

    def _tell_lines(self, ask: Ask) -> None:
        """Where nobody can be asked, say which lines are the answers; nothing is done."""
        self.feed.remark(f"nothing was done, since nobody can be asked here ({ask.text}); these lines do it:")
        for choice in ask.choices:
            if choice.line:
                self.terminal.say(f"  {one_line(f'{choice.label}: {choice.line}')}")

    async def _act(self, action: Action) -> None:
        """What a command leaves to the interface."""
        match action.kind.value:
            case "quit":
                self.terminal.leave(0)
            case "copy":
                await self._copy(action.value)
            case "submit":
                self.prompt(action.value)
            case "edit-plan":
                if (text := await self.terminal.edited(action.value)) is not None:
                    self.command(f"/plan edited {text}")
            case "open":
                self.feed.remark(f"{action.value} belongs to the full-screen interface: pool")
            case "agent":
                self.feed.remark("other agents belong to the full-screen interface: pool --agent NAME")
            case "resume" | "new" if self.driver.attached:
                self.feed.remark("another session cannot be opened here; leave this run first (/quit), it goes on")
            case "resume":
                self._spawn(self._reopen(action.value, action.folder))
            case _:
                self._spawn(self._reopen(""))

    async def _reopen(self, resume: str, folder: str = "") -> None:
        """Leave this session and begin a new one, or go on with another; folder is where, "" for this one."""
        glance = self.driver.glance()
        mode = glance.mode if glance is not None else self.settings.mode
        await self.driver.close()
        place = Path(folder) if folder else self.settings.workspace
        self.settings = replace(
            self.settings, workspace=place, resume=resume, continue_last=False, fork="", mode=mode, keep_mode=False
        )
        self._told = []
        self.driver.settings = self.settings
        if folder:
            self.recall.move(place)
            self.terminal.moved()
        self.opened.clear()
        self.ran = False
        self.feed.remark(f"going on with session {resume}" if resume else "a new session")
        self.driver.start()

    async def _copy(self, text: str) -> None:
        self.terminal.copy(text)
        count = f"{len(text):,} characters copied"
        if program := await asyncio.to_thread(clipboard.by_program, text):
            self.feed.remark(f"{count} ({program})")
            return
        path = await asyncio.to_thread(clipboard.by_file, text)
        self.feed.remark(f"{count}{f'; also in {path}' if path else ''}")

    def cycle_mode(self) -> None:
        """The next approval mode."""
        if (glance := self.driver.glance()) is not None:
            mode = glance.mode.value
            at = MODES_ROUND.index(mode) if mode in MODES_ROUND else -1
            self.command(f"/mode {MODES_ROUND[(at + 1) % len(MODES_ROUND)]}")

    async def _run_shell(self, command: str) -> None:
        """Run the user's command; its output is shown, and goes to the model with the next prompt."""
        if self._shell is not None:
            self.feed.remark("a command of yours is still running; stop it first")
            return
        self.feed.title(f"! {command}")
        self._shell = line = ShellLine(command, self.settings.workspace)
        self._shell_output = ShellOutput(self.ink, self.terminal.say)
        try:
            await line.run(self._shell_output.append)
        except OSError as error:
            self.feed.remark(f"your shell cannot be started: {error.strerror}", Role.BAD)
            return
        finally:
            self._shell_output.end()
            self._shell = self._shell_output = None
        self.feed.remark(line.ended)
        self._told.append(line.told())
        if (conversation := self.driver.conversation) is not None:
            conversation.note_command(command, line.output[-TOLD_CHARS:], line.ended)
