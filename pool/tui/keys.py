"""The keys: one table of actions with their default keys, from which bindings, help and remapping come.

Defaults work in every terminal, in tmux without extended keys and over SSH; nothing is needed on Ctrl-A, Ctrl-B or
Ctrl-S, which multiplexers and flow control take.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Mapping

from pool_tools.frozen import frozen


@frozen
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
    Key("history_back", ("up",), "up", "the prompt before (on the first line); in the empty box: take back what waits"),
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
    Key("todo", ("f3",), "todo", "the model's list of steps"),
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


MODIFIERS = frozenset({"ctrl", "alt", "shift", "super", "hyper", "meta"})
ALIASES = {
    **{"esc": "escape", "return": "enter", "pgup": "pageup", "page_up": "pageup", "pgdn": "pagedown"},
    **{
        "page_down": "pagedown",
        "del": "delete",
        "ins": "insert",
        "bs": "backspace",
        "control": "ctrl",
        "option": "alt",
    },
}
NAMED = frozenset(
    "up down left right home end pageup pagedown insert delete enter tab escape backspace space".split()
) | frozenset(f"f{n}" for n in range(1, 25))
"""Names of keys that have no character, as Textual has them."""

CHARACTER_NAMES = {
    **{"solidus": "slash", "reverse_solidus": "backslash", "commercial_at": "at", "hyphen_minus": "minus"},
    **{"plus_sign": "plus", "low_line": "underscore"},
}
"""Where Textual calls a character otherwise than Unicode does."""


class RemapError(ValueError):
    """A remapping that cannot be used. The message names the action, the key and the remedy."""


def key_name(text: str) -> str:
    """A key as Textual calls it: `Ctrl+/` is `ctrl+slash`. Raises `RemapError` for what is no key, or is for typing."""
    *before, last = [p.strip() for p in (text.strip()[:-1] + "PLUS" if text.endswith("+") else text.strip()).split("+")]
    modifiers = {ALIASES.get(m.lower(), m.lower()) for m in before}
    name = "+" if last == "PLUS" else last
    if len(name) == 1:
        plain = not modifiers - {"shift"}
        name = name.lower() if name.isalnum() else _character_name(name)
        if plain:
            raise RemapError(f"{text!r} is needed for typing; add ctrl or alt, or take a function key")
    else:
        name = ALIASES.get(name.lower(), name.lower())
    if unknown := modifiers - MODIFIERS:
        raise RemapError(f"{text!r} is no key: {unknown.pop()!r} is none of {', '.join(sorted(MODIFIERS))}")
    if not name or (len(name) > 1 and name not in NAMED and not _is_character_name(name)):
        raise RemapError(f"{text!r} is no key; `pool keys` shows how the keys of this terminal are called")
    return "+".join([*sorted(modifiers), name])


def _character_name(character: str) -> str:
    name = unicodedata.name(character, "").lower().replace("-", "_").replace(" ", "_")
    return CHARACTER_NAMES.get(name, name)


def _is_character_name(name: str) -> bool:
    if name in CHARACTER_NAMES.values():
        return True
    try:
        unicodedata.lookup(name.replace("_", " "))
    except KeyError:
        return False
    return True


Bound = Mapping[str, tuple[str, ...]]
"""The keys of every action, by the action's id."""

DEFAULTS: Bound = {k.id: k.keys for k in (*PROMPT_KEYS, *APP_KEYS)}


def bound(given: Iterable[tuple[str, tuple[str, ...]]]) -> Bound:
    """The keys in force where `[keys]` of the configuration gives these. Raises `RemapError`.

    A key given to an action is taken from the one that had it, which has to keep another.
    """
    taken: dict[str, str] = {}
    wanted: dict[str, tuple[str, ...]] = {}
    for name, texts in given:
        if name not in DEFAULTS:
            near = difflib.get_close_matches(name, DEFAULTS, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(sorted(DEFAULTS))}"
            raise RemapError(f"keys: there is no action {name!r}{meant}")
        try:
            wanted[name] = tuple(dict.fromkeys(key_name(text) for text in texts))
        except RemapError as error:
            raise RemapError(f"keys.{name}: {error}") from None
        if not wanted[name]:
            raise RemapError(f"keys.{name} needs a key, as 'ctrl+x' or ['f5', 'ctrl+x']")
        for key in wanted[name]:
            if taken.setdefault(key, name) != name:
                raise RemapError(f"keys: {key!r} is given to {taken[key]!r} and to {name!r}; leave it to one of them")
    out: dict[str, tuple[str, ...]] = {}
    for name, keys in DEFAULTS.items():
        out[name] = wanted.get(name) or tuple(k for k in keys if k not in taken)
        if not out[name]:
            other = next(taken[k] for k in keys if k in taken)
            raise RemapError(f"keys.{other} takes {keys[0]!r}, the only key of {name!r}; give that one another key")
    return out


def listed(keys: Bound) -> list[str]:
    """A line for each action: its id, its keys, what it does."""
    rows = [(k.id, ", ".join(keys[k.id]), k.help) for k in (*PROMPT_KEYS, *APP_KEYS)]
    ids, names = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
    return [f"{id:<{ids}}  {name:<{names}}  {help}" for id, name, help in rows]


def shown(key: str) -> str:
    """A key as people write it: `ctrl+j` is `Ctrl+J`."""
    names = {"escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn", "underscore": "_", "slash": "/"}
    parts = key.split("+")
    return "+".join(names.get(p, p.upper() if len(p) == 1 or p[1:].isdigit() else p.capitalize()) for p in parts)
