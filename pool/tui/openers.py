"""The panels: which there are, how each is opened, and what comes of it. Their code is loaded when one is opened."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pool.facekit.answers import answer_text
from pool.facekit.driver import earlier_rows, log_rows
from pool.tui.keys import APP_KEYS, shown
from pool.tui.note import Note
from pool.tui.panels import Item, Pager, Picker
from pool.tui.transcript.notice import ErrorCard
from pool_themes import ThemeError

if TYPE_CHECKING:
    from pool.agent.control import Conversation
    from pool.tui.app import PoolApp
    from pool.tui.screens.report import Build
    from pool.tui.screens.review import Review

THEMES = "themes"
COMMAND_MARK = "/"
NOW = "--now"
"""A word of `/undo` and `/redo`: it was shown already what they would do."""


PANELS = (
    ("Context", "/context", "what fills the window, and what is cached"),
    ("Files changed", "/diff", "by file and hunk: keep, take back, comment"),
    ("Model and server", "server", "what it is, what it can, what was measured"),
    ("Guards", "guards", "what they did in this session"),
    ("Usage", "/usage", "turns, time and tokens"),
    ("Status", "/status", "session, server, model, sandbox"),
    ("Budgets", "/budget", "limits, and what is used of them"),
    ("Todo", "/todo", "the model's list of steps"),
    ("Jobs", "/jobs", "commands in the background"),
    ("Tools", "/tools", "what the model can call"),
    ("Approvals", "/approvals", "rules, and what you allowed"),
    ("Commit", "/commit", "what the agent changed, with a message"),
    ("Go back", "/undo", "to before a prompt: files, conversation or both"),
    ("Sessions", "/resume", "go on with another session"),
    ("Statistics", "/stats", "speeds, tools, guards"),
    ("Themes", THEMES, "colours"),
)
"""Panels: title, the command whose answer they show or a name of their own, and what that is."""

ELSEWHERE = {"server": "/status", "guards": "/stats"}
"""The commands that tell most of what a panel does, of a run in another process."""


class Panels:
    """Opens panels over the conversation. Used on the app's loop."""

    def __init__(self, app: PoolApp) -> None:
        self._app = app
        self._review: Review | None = None
        self._reviewed = ""

    def take(self, line: str, conversation: Conversation) -> bool:
        """Open the panel that a command has here; False if it has none, or not for what was typed after it."""
        from pool.agent.commands import parse

        typed = parse(line)
        match (typed.name, typed.rest) if typed is not None else ("", ""):
            case ("diff", scope):
                return self._diff(conversation, scope)
            case ("commit", rest) if not rest.startswith("--"):
                return self._commit(conversation, rest)
            case ("resume", ""):
                return self._sessions(conversation)
            case ("context", ""):
                return self._context(conversation)
            case ("stats", ""):
                self._app.actions.spawn(self._stats(conversation))
                return True
            case ("todo", ""):
                self._app.actions.spawn(self._todo(conversation))
                return True
            case ("undo", ""):
                return self._rewind(conversation)
            case ("undo" | "redo", rest) if NOW in rest.split():
                self._app.actions.spawn(self._go_back(line, conversation))
                return True
            case _:
                return False

    def _diff(self, conversation: Conversation, scope: str) -> bool:
        from pool.agent.undoing import Scope
        from pool.tui.screens.diff import DiffScreen
        from pool.tui.screens.review import Review

        undo = conversation.session.undo
        if undo is None or scope not in ("", *Scope):
            return False
        if self._review is None or self._reviewed != conversation.hub.session:
            self._review, self._reviewed = Review(), conversation.hub.session
        screen = DiffScreen(
            undo,
            self._review,
            Scope(scope or Scope.RUN),
            busy=lambda: conversation.busy,
            take_path=self._app.actions.open_path,
        )
        self._app.push_screen(screen, self._diff_closed)
        return True

    def _diff_closed(self, nothing: None) -> None:
        """What was said of the changes becomes the next prompt."""
        if self._review is None or not (text := self._review.take_prompt()):
            return
        box = self._app.box
        box.set_text(f"{box.text.rstrip()}\n\n{text}" if box.text.strip() else text)
        box.focus()
        self._app.hint("your comments; Enter sends them", 6.0)

    def _commit(self, conversation: Conversation, message: str) -> bool:
        from pool.tui.committing import Committing

        if conversation.busy:
            return False
        self._app.hint("looking at what would be committed", 3.0)
        self._app.actions.spawn(Committing(self._app, conversation, message).show())
        return True

    def _rewind(self, conversation: Conversation) -> bool:
        from pool.tui.screens.rewind import RewindScreen

        undo = conversation.session.undo
        if undo is None or conversation.busy:
            return False

        def picked(line: str | None) -> None:
            if line is not None:
                self._app.actions.spawn(self._go_back(line, conversation))

        self._app.push_screen(RewindScreen(undo), picked)
        return True

    async def _go_back(self, line: str, conversation: Conversation) -> None:
        """Undo or redo, and show what the conversation is then. A prompt that was taken back is in the box again."""
        from pool.agent.commands import execute

        app = self._app
        before = await conversation.session.undo.prompts() if conversation.session.undo else []
        result = await execute(line, conversation)
        after = await conversation.session.undo.prompts() if conversation.session.undo else []
        if len(after) != len(before):
            rows = await asyncio.to_thread(earlier_rows, conversation.hub.session)
            app.feed.clear()
            app.actions.welcome()
            app.feed.replay(rows)
        if len(after) < len(before) and not app.box.text:
            app.box.set_text(before[len(after)].text)
        text, title = answer_text(result), line.replace(f" {NOW}", "")
        app.transcript.add(Note(text, title=title) if result.ok else ErrorCard(title, text))

    def _sessions(self, conversation: Conversation) -> bool:
        from pool.sessions.store import sessions_folder
        from pool.tui.screens.sessions import Finder, SessionsScreen

        if conversation.busy:
            return False

        def picked(session: str | None) -> None:
            if session is not None:
                self._app.actions.command(f"/resume {session}")

        finder = Finder(sessions_folder(), conversation.status().workspace, conversation.session.hub.session)
        self._app.push_screen(SessionsScreen(finder), picked)
        return True

    async def _todo(self, conversation: Conversation) -> None:
        from pool.agent.commands import execute

        self._app.push_screen(Pager("Todo", answer_text(await execute("/todo", conversation), self._pager_cells)))

    # -- reports

    def _report(self, title: str, build: Build, more: Sequence[tuple[str, str, str]] = ()) -> None:
        from pool.tui.screens.report import ReportScreen

        def picked(line: str | None) -> None:
            if line is not None:
                self._app.actions.command(line)

        self._app.push_screen(ReportScreen(title, build, more), picked)

    def _context(self, conversation: Conversation) -> bool:
        from pool.tui.screens.contextrows import context_rows

        report, price = conversation.context(), conversation.price_to_compact()
        self._report("Context", lambda width: context_rows(report, price, width), [("c", "compact now", "/compact")])
        return True

    async def _stats(self, conversation: Conversation) -> None:
        from pool.sessions.figures import Figures, figures_of
        from pool.sessions.turnseries import request_points
        from pool.tui.screens.statsrows import stats_rows

        rows = await self._rows(conversation)
        points, total = request_points(rows), Figures()
        for figures in figures_of(rows).values():
            total.add(figures)
        self._report("Statistics of this session", lambda width: stats_rows(points, total, width))

    async def _guards(self, conversation: Conversation) -> None:
        from pool.sessions.turnseries import firings
        from pool.tui.screens.guardrows import guard_rows

        fired = firings(await self._rows(conversation))
        self._report("Guards", lambda width: guard_rows(fired, width))

    def _server(self, conversation: Conversation) -> None:
        from pool.tui.screens.serverrows import server_rows

        speed = self._app.activity.speed
        self._report("Model and server", lambda width: server_rows(conversation, speed, width))

    async def _rows(self, conversation: Conversation) -> Sequence[dict[str, Any]]:
        """All rows of the session's log; of one that is not saved, what happened since it began."""
        from pool.events import to_dict

        session = conversation.session
        if session.settings.ephemeral:
            return [to_dict(event) for event in session.hub.so_far()]
        return await asyncio.to_thread(log_rows, session.hub.session)

    @property
    def _pager_cells(self) -> int:
        """The columns of a pager's text."""
        return Pager.text_cells(self._app.size.width)

    # -- lists

    def show_list(self) -> None:
        """A choice of panels."""
        items = [Item(line, title, about) for title, line, about in PANELS]
        self._app.push_screen(Picker("Panels", items), self._picked)

    def _picked(self, line: str | None) -> None:
        if line == THEMES:
            self.show_themes()
        elif line is not None:
            self._app.actions.spawn(self._panel(line))

    async def _panel(self, line: str) -> None:
        """Show a command's answer over the conversation, not in it."""
        driver = self._app.driver
        if driver.talk is None:
            self._app.hint("there is no session yet")
            return
        if driver.conversation is not None and await self._own_panel(line, driver.conversation):
            return
        result = await driver.execute(ELSEWHERE.get(line, line))
        if result.ask is not None or result.action is not None:
            self._app.actions.command(line)
        else:
            title = next((title for title, name, _ in PANELS if name == line), line)
            self._app.push_screen(Pager(title, answer_text(result, self._pager_cells)))

    async def _own_panel(self, line: str, conversation: Conversation) -> bool:
        """Open the panel of a session that works here; False if there is none of that name."""
        match line:
            case "guards":
                await self._guards(conversation)
            case "server":
                self._server(conversation)
            case _:
                return self.take(line, conversation)
        return True

    def open(self, name: str) -> None:
        """Open a panel by its name."""
        self._picked(next((line for title, line, _ in PANELS if name.lower() in (title.lower(), line)), f"/{name}"))

    def show_palette(self) -> None:
        """Everything that can be done, by name, with its key."""
        from pool.agent.commands import COMMANDS

        items = [Item(f"/{c.name}", f"/{c.name} {c.hint}".rstrip(), c.help) for c in COMMANDS]
        keys = self._app.keys
        items += [Item(k.action, k.help, ", ".join(map(shown, keys[k.id]))) for k in APP_KEYS if k.id != "palette"]
        items += [Item(THEMES, "Themes", "colours, tried on as you look")]
        hints = {f"/{c.name}" for c in COMMANDS if c.hint and not c.hint.startswith("[")}

        def picked(name: str | None) -> None:
            if name is None:
                return
            if name in hints:
                self._app.box.set_text(f"{name} ")
                self._app.box.focus()
            elif name.startswith(COMMAND_MARK):
                self._app.actions.command(name)
            elif name == THEMES:
                self.show_themes()
            else:
                self._app.actions.spawn(self._run_action(name))

        self._app.push_screen(Picker("Everything", items), picked)

    async def _run_action(self, name: str) -> None:
        await self._app.run_action(name)

    # -- themes

    def show_themes(self) -> None:
        """Pick a theme; each is tried on while the choice stands on it."""
        before = self._app.theme_name
        items = [Item(name, self._theme_title(name), name) for name in self._app.theme_names()]

        def picked(name: str | None) -> None:
            self.use_theme(name or before)
            if name is not None:
                self._app.hint(f"pool config set ui.theme {name} keeps it", 6.0)

        self._app.push_screen(Picker("Themes", items, chosen=before, preview=self.use_theme), picked)

    def use_theme(self, name: str) -> None:
        """Change the colours; a theme with a fault changes nothing and is said."""
        try:
            self._app.use_theme(name)
        except ThemeError as error:
            self._app.hint(str(error), 6.0)

    def _theme_title(self, name: str) -> str:
        try:
            return self._app.load_theme(name).title
        except ThemeError:
            return f"{name} (has a fault)"
