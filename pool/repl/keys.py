"""The keys of `pool chat`, beside those of prompt-toolkit for editing a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from prompt_toolkit.filters import Condition, emacs_mode, is_searching
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.keys import Keys

from pool.facekit.pastes import normal_lines

if TYPE_CHECKING:
    from pool.repl.screen import Screen

ANSWER_KEYS = "yesanrd0123456789"
"""Keys that answer some question."""

HELP = (
    ("Enter", "send; while it works: steer the running turn"),
    ("Tab", "complete; while it works: queue for after this run"),
    ("Ctrl+J", "a new line (also Alt+Enter, or a backslash at the end)"),
    ("Esc", "close, stop; twice when idle: back to an earlier prompt"),
    ("Ctrl+C", "stop; clear the line; twice when idle: leave"),
    ("Ctrl+D", "leave (on an empty line)"),
    ("Ctrl+R", "search the prompts sent before"),
    ("Ctrl+G", "write the prompt in $EDITOR"),
    ("Ctrl+T", "show the last thought"),
    ("Shift+Tab", "next approval mode"),
    ("Ctrl+Z", "suspend to the shell"),
    ("?", "these keys (on an empty line)"),
)
"""Key and what it does."""


def bindings(screen: Screen) -> KeyBindings:
    """The keys that are Pool's own. None takes effect while the history is searched."""
    keys = KeyBindings()
    asked = Condition(lambda: screen.answers_by_key) & ~is_searching
    for name, act in _acts(screen).items():
        keys.add(*name.split(), filter=~is_searching)(_calling(act))
    empty = Condition(lambda: not screen.box.text) & ~is_searching & ~asked
    keys.add("?", filter=empty)(_calling(lambda: _show_keys(screen)))
    keys.add("escape", filter=~is_searching & emacs_mode)(_calling(screen.escape))
    keys.add(Keys.BracketedPaste, filter=~is_searching)(_pasting(screen))
    for key in ANSWER_KEYS:
        # Eager: none of these waits to see whether a longer binding begins with it.
        keys.add(key, filter=asked, eager=True)(_letter(screen))
    keys.add(Keys.Any, filter=asked)(_letter(screen))
    return keys


def _acts(screen: Screen) -> dict[str, Callable[[], object]]:
    return {
        "enter": lambda: _enter(screen),
        "c-j": lambda: screen.box.insert_text("\n"),
        "escape enter": lambda: screen.box.insert_text("\n"),
        "tab": lambda: _tab(screen),
        "c-c": screen.interrupt,
        "c-d": lambda: screen.box.delete() if screen.box.text else screen.leave(0),
        "c-g": lambda: screen.spawn(screen.edit()),
        "c-t": screen.show_thought,
        "s-tab": screen.chat.cycle_mode,
        "c-z": lambda: screen.spawn(screen.suspend()),
    }


def _show_keys(screen: Screen) -> None:
    screen.chat.feed.title("Keys")
    width = max(len(name) for name, _ in HELP)
    for name, about in HELP:
        screen.say(f"  {name:<{width}}  {about}")


def _calling(act: Callable[[], object]) -> Callable[[KeyPressEvent], None]:
    def handle(event: KeyPressEvent) -> None:
        act()

    return handle


def _letter(screen: Screen) -> Callable[[KeyPressEvent], None]:
    def handle(event: KeyPressEvent) -> None:
        if event.data.isprintable():
            screen.question_keys.typed(event.data)

    return handle


def _pasting(screen: Screen) -> Callable[[KeyPressEvent], None]:
    def handle(event: KeyPressEvent) -> None:
        screen.paste(normal_lines(event.data))

    return handle


def _enter(screen: Screen) -> None:
    box = screen.box
    state = box.complete_state
    if state is not None and state.current_completion is not None and not box.text.startswith("/"):
        box.complete_state = None
        if not box.text.endswith("/"):
            box.insert_text(" ")
    elif box.document.current_line_before_cursor.endswith("\\"):
        box.delete_before_cursor()
        box.insert_text("\n")
    elif screen.app.key_processor.input_queue:
        # More came with it in one piece: a paste that the terminal did not mark.
        box.insert_text("\n")
    else:
        box.complete_state = None
        screen.send()


def _tab(screen: Screen) -> None:
    box = screen.box
    state = box.complete_state
    if state is not None and len(state.completions) == 1:
        box.apply_completion(state.completions[0])
    elif state is not None:
        box.complete_next()
    elif screen.chat.busy and box.text.strip() and not screen.is_writing_answer:
        screen.queue()
    else:
        box.start_completion(insert_common_part=True)
