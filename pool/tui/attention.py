"""Telling a person who looks elsewhere: the bell, the notifications that terminals know, and the window's title."""

from __future__ import annotations

import re
from pathlib import Path

MOST_CHARS = 120

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    """Text that may stand inside an escape sequence: one line, no control characters."""
    return _CONTROL.sub(" ", text)[:MOST_CHARS]


def notification(text: str, how: str) -> str:
    """The bytes that make a terminal notify; how is bell, osc9 (iTerm2, kitty, Windows Terminal), osc777 (urxvt, foot,
    VTE), osc99 (kitty), or off."""
    text = clean(text)
    match how:
        case "off":
            return ""
        case "osc9":
            return f"\x1b]9;{text}\x07"
        case "osc777":
            return f"\x1b]777;notify;Pool;{text.replace(';', ',')}\x07"
        case "osc99":
            return f"\x1b]99;;{text}\x1b\\"
        case _:
            return "\x07"


def through_tmux(sequence: str) -> str:
    """The same for the terminal that tmux runs in; tmux hands it on with `set -g allow-passthrough on`."""
    doubled = sequence.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\" if sequence.startswith("\x1b") else sequence


def guess(environ: dict[str, str]) -> str:
    """Which notification this terminal is known to take; the bell where that is not known, and inside tmux."""
    if environ.get("TMUX") or environ.get("STY"):
        return "bell"
    program, term = environ.get("TERM_PROGRAM", ""), environ.get("TERM", "")
    if "kitty" in term:
        return "osc99"
    if program in ("iTerm.app", "WezTerm", "ghostty") or environ.get("WT_SESSION"):
        return "osc9"
    if environ.get("VTE_VERSION") or term.startswith(("foot", "rxvt")):
        return "osc777"
    return "bell"


def window_title(workspace: Path, state: str) -> str:
    """The sequence that sets the window's title: the folder's name, and a mark for what goes on."""
    title = f"{state} {workspace.name or '/'} - pool".strip()
    return f"\x1b]2;{clean(title)}\x07"
