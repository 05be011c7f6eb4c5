"""The keys: one table of actions with their default keys, from which bindings, help and remapping come.

Defaults work in every terminal, in tmux without extended keys and over SSH; nothing is needed on Ctrl-A, Ctrl-B or
Ctrl-S, which multiplexers and flow control take.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """An action of the interface. id is its name in configuration, keys its defaults as Textual names them."""

    id: str
    keys: tuple[str, ...]
    action: str
    help: str


PROMPT_KEYS = (
    Key("send", ("enter",), "send", "send; while it works: steer the running turn"),
    Key("newline", ("ctrl+j", "shift+enter", "alt+enter"), "newline", "a new line (also a backslash at the end)"),
    Key("queue", ("tab",), "complete_or_queue", "take the completion; while it works: queue for after this run"),
    Key("history_back", ("up",), "up", "the prompt before (on the first line)"),
    Key("history_forward", ("down",), "down", "the prompt after (on the last line)"),
    Key("history_search", ("ctrl+r",), "history_search", "search the prompts sent before"),
    Key("editor", ("ctrl+g",), "editor", "write the prompt in $EDITOR"),
    Key("undo_typing", ("ctrl+underscore", "ctrl+slash"), "undo", "undo typing"),
    Key("leave", ("ctrl+d",), "leave_if_empty", "leave (on an empty box)"),
    Key("to_end", ("end",), "end", "end of the line; on an empty box: end of the conversation, and follow"),
)
"""Keys of the prompt box. It takes them in the order in which they come, among what is typed."""

APP_KEYS = (
    Key("stop", ("escape",), "escape", "close what is open; stop the run; twice when idle and empty: rewind"),
    Key("interrupt", ("ctrl+c",), "interrupt", "stop the run; clear the box; twice when idle: leave"),
    Key("suspend", ("ctrl+z",), "suspend", "suspend to the shell (fg comes back)"),
    Key("mode", ("shift+tab",), "cycle_mode", "next approval mode"),
    Key("fold", ("ctrl+t",), "fold_all", "fold or unfold all thoughts and tool output"),
    Key("panels", ("ctrl+o",), "panels", "panels: context, files changed, jobs, sessions, server"),
    Key("palette", ("ctrl+p",), "palette", "everything, by name"),
    Key("help", ("f1",), "help", "this help (also ? on an empty box)"),
    Key("page_up", ("pageup",), "page(-1)", "one page up in the conversation"),
    Key("page_down", ("pagedown",), "page(1)", "one page down"),
    Key("top", ("ctrl+home",), "edge(-1)", "to the start of the conversation"),
    Key("bottom", ("ctrl+end",), "edge(1)", "to its end, and follow"),
    Key("prompt_up", ("alt+up",), "jump(-1)", "to the prompt before"),
    Key("prompt_down", ("alt+down",), "jump(1)", "to the prompt after"),
    Key("find", ("ctrl+f",), "find", "search the conversation"),
    Key("copy", ("ctrl+y",), "copy_answer", "copy the last answer"),
    Key("mouse", ("f2",), "free_mouse", "give the mouse to the terminal, and take it back"),
    Key("focus", ("ctrl+up",), "focus_transcript", "walk through the conversation by keys (Esc comes back)"),
)
"""Keys that work wherever the focus is."""


class KeyError_(ValueError):
    """A remapping that cannot be used. The message names the action, the key and the remedy."""


def remapped(keys: Mapping[str, Iterable[str] | str]) -> dict[str, str]:
    """A keymap as Textual takes it, from `[keys]` of the configuration: action to key or keys. Raises `KeyError_`."""
    known = {k.id for k in (*PROMPT_KEYS, *APP_KEYS)}
    out: dict[str, str] = {}
    for name, given in keys.items():
        if name not in known:
            raise KeyError_(f"there is no action {name!r} to give a key to; there are {', '.join(sorted(known))}")
        wanted = [given] if isinstance(given, str) else list(given)
        if not wanted or not all(w.strip() for w in wanted):
            raise KeyError_(f"the action {name!r} needs a key, such as 'ctrl+r' or ['f5', 'ctrl+r']")
        out[name] = ",".join(w.strip() for w in wanted)
    return out


def shown(key: str) -> str:
    """A key as people write it: `ctrl+j` is `Ctrl+J`."""
    names = {"escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn", "underscore": "_", "slash": "/"}
    parts = key.split("+")
    return "+".join(names.get(p, p.upper() if len(p) == 1 or p[1:].isdigit() else p.capitalize()) for p in parts)
