"""The app towards its terminal: colours, raw sequences, early typing, signals, and leaving after a fault."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
import termios
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import cast

from rich.console import RenderableType
from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.binding import Binding, BindingsMap
from textual.geometry import Offset
from textual.screen import Screen
from textual.signal import Signal
from textual.widget import Widget
from textual.widgets import Input, TextArea

from pool.facekit.textualtheme import PREFIX, textual_theme
from pool.tui.keys import APP_KEYS, Bound
from pool_themes import DEFAULT, Theme, ThemeError
from pool_themes import load as load_theme
from pool_themes import names as theme_names
from pool_tools.frozen import frozen

SIGNALLED = 128
"""Added to a signal's number it is the exit code of a program that it ended."""

RESUMED_SECONDS = 0.1

RELOAD_SECONDS = 1.0
"""How often the file of a theme of the user's own is looked at, while one is in use."""


BEHIND_PANELS = frozenset({"escape", "interrupt", "suspend"})
"""Actions of the app that work while a panel lies over it."""


@frozen
class Fault:
    """An error of the interface itself. trace is for its makers, without the values of variables."""

    what: str
    trace: str


class TerminalApp(App[int], inherit_bindings=False):
    """An app of Pool's. Its keys are `APP_KEYS`, as bound; the actions are its subclass's."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, keys: Bound, *, own_themes: Path | None = None, typed: bytes = b"") -> None:
        """own_themes is the folder of the user's themes; typed is what came before the terminal was the app's."""
        super().__init__()
        self.keys = keys
        self.theme_name = DEFAULT
        self.own_themes = own_themes
        self.fault: Fault | None = None
        self._early: list[events.Key | events.Paste] | None = early_events(typed)
        self._theme_file: tuple[Path, tuple[int, int]] | None = None
        self._generation = 0
        self._bindings = BindingsMap(
            Binding(",".join(keys[k.id]), k.action, k.help, show=False, priority=True, id=k.id) for k in APP_KEYS
        )

    def get_default_screen(self) -> Screen[None]:
        try:
            from pool.tui.compositor import DirectScreen
        except ImportError:  # a Textual whose private parts have moved
            return Screen(id="_default")
        return DirectScreen(id="_default")

    # -- colours ----------------------------------------------------------------------------------------------------

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Roles of the default theme, so that the style sheet parses before a theme is set."""
        return textual_theme(load_theme(DEFAULT)).variables

    def get_css_variables(self) -> dict[str, str]:
        """None before a theme of ours is set, as Textual asks once before: working them out takes a millisecond."""
        return super().get_css_variables() if self.theme.startswith(PREFIX) else {}

    def theme_names(self) -> tuple[str, ...]:
        """The themes there are."""
        return theme_names(self.own_themes)

    def load_theme(self, name: str) -> Theme:
        """A theme by its name. Raises `ThemeError`."""
        return load_theme(name, self.own_themes)

    def use_theme(self, name: str) -> None:
        """Change the colours. Raises `ThemeError` for a theme that does not exist or has a fault."""
        theme = self.load_theme(name)
        self._generation += 1
        # A name of its own each time: Textual takes no notice of a theme that changed under the same name.
        made = textual_theme(theme, f"{PREFIX}{name}-{self._generation}")
        before = self.theme
        self.register_theme(made)
        self.theme = made.name
        if before.startswith(PREFIX):
            self.unregister_theme(before)
        self.theme_name = name
        path = self.own_themes / f"{name}.toml" if self.own_themes is not None else None
        stamp = _stamp(path) if path is not None else None
        self._theme_file = (path, stamp) if path is not None and stamp is not None else None
        self.theme_used(theme)

    def theme_used(self, theme: Theme) -> None:
        """The colours changed: for what knows colours beside the style sheet."""

    def watch_own_theme(self) -> None:
        """Follow changes of the user's theme file, if one is in use."""
        self.set_interval(RELOAD_SECONDS, self._look_at_theme)

    def _look_at_theme(self) -> None:
        if self._theme_file is None:
            return
        path, stamp = self._theme_file
        now = _stamp(path)
        if now is None or now == stamp:
            return
        self._theme_file = (path, now)
        try:
            self.use_theme(self.theme_name)
        except ThemeError as error:
            self.theme_failed(str(error))

    def theme_failed(self, why: str) -> None:
        """The user's theme file has a fault; the colours stay as they are."""

    # -- the cursor -------------------------------------------------------------------------------------------------

    @property
    def cursor_position(self) -> Offset:  # pyright: ignore[reportIncompatibleVariableOverride]  # Textual has a plain attribute
        """Where the terminal's cursor is put after each drawing: input methods show there what is being composed.

        Textual notes it when the cursor moves within its widget. Asked for anew, it also follows what moves the widget:
        more rows in the box, a queue above it, another size of the window.
        """
        stack = self.screen_stack
        focused = stack[-1].focused if stack else None
        if isinstance(focused, (TextArea, Input)) and focused.is_attached:
            return focused.cursor_screen_offset
        return self._cursor_noted

    @cursor_position.setter
    def cursor_position(self, noted: Offset) -> None:
        self._cursor_noted = noted

    # -- the terminal -----------------------------------------------------------------------------------------------

    def write(self, sequence: str) -> None:
        """Send an escape sequence of ours to the terminal."""
        if self._driver is not None and sequence:
            self._driver.write(sequence)

    async def on_event(self, event: events.Event) -> None:
        """Keep what is typed before there is a widget to take it."""
        if self._early is not None and isinstance(event, (events.Key, events.Paste)):
            self._early.append(event)
            return
        await super().on_event(event)

    def hand_on_early(self, widget: Widget) -> None:
        """The widget is there: it gets what was typed before."""
        early, self._early = self._early or [], None
        for key in early:
            # The terminal was not ours yet, and turned the CR of Enter into LF.
            enter = isinstance(key, events.Key) and key.key == "ctrl+j"
            widget.post_message(events.Key("enter", "\r") if enter else key)

    def leave_on_signals(self, leave: Callable[[int], object]) -> None:
        """Leave in order when the terminal goes or somebody ends the program; leave gets the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, leave, SIGNALLED + number)

    def redraw_when_resumed(self) -> None:
        """Draw everything anew after `fg`, once what came meanwhile (a new size) is taken in.

        What Textual draws by itself then may be only what changed, on a screen that the terminal has cleared.
        """
        resuming = cast("Signal[object]", self.app_resume_signal)  # pyright: ignore[reportUnknownMemberType] Textual leaves the result open
        resuming.subscribe(self, self._resumed, immediate=True)

    def _resumed(self, app: object) -> None:
        self.set_timer(RESUMED_SECONDS, self._redraw)

    def _redraw(self) -> None:
        for screen in self.screen_stack:
            screen.refresh(layout=True)
            screen.refresh()

    def action_suspend(self) -> None:
        """Give the terminal to the shell; nothing where there is no job control."""
        if sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp():
            self.action_suspend_process()

    # -- faults -----------------------------------------------------------------------------------------------------

    def _fatal_error(self) -> None:
        """An exception that nobody expected: told when the terminal is back, without the values of variables."""
        error = sys.exc_info()[1]
        self.fault = self.fault or Fault(f"{type(error).__name__}: {error}", traceback.format_exc())
        self._close_messages_no_wait()

    def gone(self) -> None:
        """The terminal is gone; SIGHUP may come later than that, or never."""
        os.kill(os.getpid(), signal.SIGHUP)

    def panic(self, *renderables: RenderableType) -> None:
        """The same, for what Textual reports itself. That a terminal which is gone cannot be read is no fault."""
        if terminal_gone():
            self.gone()
            return
        error = self._exception or sys.exc_info()[1]
        what = f"{type(error).__name__}: {error}" if error else "the terminal's input cannot be read"
        self.fault = self.fault or Fault(what, "".join(traceback.format_exception(error)) if error else "")
        self._close_messages_no_wait()


def terminal_gone() -> bool:
    """Whether the terminal that the program was started on does not answer any more."""
    try:
        termios.tcgetattr(0)
    except termios.error as error:
        return error.args[0] == errno.EIO
    return False


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def early_events(typed: bytes) -> list[events.Key | events.Paste]:
    """The keys and pastes that bytes from a terminal mean."""
    found = XTermParser().feed(typed.decode("utf-8", "replace")) if typed else ()
    return [event for event in found if isinstance(event, (events.Key, events.Paste))]
