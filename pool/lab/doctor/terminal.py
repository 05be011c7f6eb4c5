"""The terminal: what it can show, whether its font has Pool's signs, and where a copied text goes.

All is told from the environment. `pool keys` shows what the terminal sends for each key.
"""

from __future__ import annotations

import asyncio
from typing import Any

from pool.facekit.clipboard import PROGRAMS
from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.here import Here
from pool.lab.doctor.subject import Subject

LEAST_COLUMNS, LEAST_ROWS = 60, 15
SIGNS = "│ ─ ✓ ✗ → ⠋ █ ▁▃▇ 日本"
"""Signs that Pool draws, and two wide ones that a model may write."""

RARE_SIGNS = ("2713", "280b", "2583")
"""Code points of ✓, ⠋ and ▃: fonts that lack any of Pool's signs lack one of these."""

TAKES_OSC_52 = frozenset({"iTerm.app", "WezTerm", "ghostty", "vscode", "rio", "mintty", "Tabby"})
"""Values of TERM_PROGRAM whose terminals put text on the clipboard when told by OSC 52 (some after a setting)."""

TAKES_OSC_52_TERM = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour")


async def terminal(subject: Subject) -> Finding:
    """Colours, size and kind of the terminal."""
    here = subject.here
    term, program = here.environ.get("TERM", ""), here.environ.get("TERM_PROGRAM", "")
    colours = _colours(here)
    data = {"term": term, "program": program, "colours": colours, "width": here.width, "height": here.height}
    if not here.width:
        words = f"output goes to no terminal (TERM {term or 'is not set'})"
        return Finding("terminal", Status.OK, words, data=data)
    words = f"{program or term or 'no TERM'}, {here.width} x {here.height}, {colours}"
    if term in ("", "dumb"):
        means = "The full-screen interface cannot work here; pool chat and pool run do."
        return Finding("terminal", Status.FAIL, words, means, "export TERM=xterm-256color", data)
    if here.width < LEAST_COLUMNS or here.height < LEAST_ROWS:
        means = f"Below {LEAST_COLUMNS} x {LEAST_ROWS} much is cut off; pool chat writes plain lines."
        return Finding("terminal", Status.WARN, words, means, "pool chat", data)
    if colours == "16 colours":
        means = "Themes are shown with the nearest of 16 colours."
        return Finding("terminal", Status.WARN, words, means, "export COLORTERM=truecolor", data)
    return Finding("terminal", Status.OK, words, data=data)


def _colours(here: Here) -> str:
    if here.environ.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if here.environ.get("COLORTERM") in ("truecolor", "24bit"):
        return "16 million colours"
    return "256 colours" if "256" in here.environ.get("TERM", "") else "16 colours"


async def fonts(subject: Subject) -> Finding:
    """Can Pool's signs be seen? The encoding is known; the font only where the screen is at this machine."""
    here = subject.here
    data = {"encoding": here.encoding, "signs": SIGNS}
    if not here.utf8:
        means = "Frames and marks are drawn in ASCII, and text in other languages is shown as escapes."
        words = f"text goes out as {here.encoding or 'an unknown encoding'}, not as UTF-8"
        return Finding("fonts", Status.WARN, words, means, "export LANG=C.UTF-8", data)
    if here.environ.get("TERM") == "linux":
        words = f"the Linux console has 512 signs; look whether these are whole: {SIGNS}"
        return Finding("fonts", Status.WARN, words, "Some signs may show as boxes.", "pool chat", data)
    local = not here.remote and (here.environ.get("WAYLAND_DISPLAY") or here.environ.get("DISPLAY"))
    if local and here.program("fc-list"):
        missing = await asyncio.to_thread(_missing, here)
        data["missing"] = " ".join(missing)
        if missing:
            words = f"no installed font has {' '.join(missing)}"
            means = "Some of Pool's signs will show as boxes."
            return Finding("fonts", Status.WARN, words, means, "sudo apt-get install -y fonts-dejavu", data)
    return Finding("fonts", Status.OK, f"UTF-8; look whether these signs are whole: {SIGNS}", data=data)


def _missing(here: Here) -> list[str]:
    return [chr(int(code, 16)) for code in RARE_SIGNS if not here.output("fc-list", f":charset={code}", "family")]


async def clipboard(subject: Subject) -> Finding:
    """Where a copied text goes: a program's clipboard, the terminal's by OSC 52, or a file."""
    here = subject.here
    environ = here.environ
    usable = [c[0] for c, needs in PROGRAMS if (not needs or environ.get(needs)) and here.program(c[0])]
    data: dict[str, Any] = {"programs": usable, "tmux": "TMUX" in environ, "remote": here.remote}
    if not here.width:
        return Finding("clipboard", Status.OK, "output goes to no terminal", data=data)
    if "TMUX" in environ and here.program("tmux"):
        setting = await asyncio.to_thread(here.output, "tmux", "show-options", "-gv", "set-clipboard")
        data["set_clipboard"] = setting
        if setting == "off":
            words = "tmux does not pass copied texts on (set-clipboard off)"
            means = "What you copy stays in a file of Pool's; it says which."
            return Finding("clipboard", Status.WARN, words, means, "tmux set-option -g set-clipboard on", data)
    if usable and not here.remote:
        return Finding("clipboard", Status.OK, f"by {usable[0]}, and by OSC 52 to the terminal", data=data)
    program, term = environ.get("TERM_PROGRAM", ""), environ.get("TERM", "")
    if program in TAKES_OSC_52 or term.startswith(TAKES_OSC_52_TERM):
        return Finding("clipboard", Status.OK, f"by OSC 52 to {program or term}", data=data)
    words = "only by OSC 52, and whether this terminal takes it cannot be told"
    means = "Copied texts are also put into a file, whose name Pool says."
    return Finding("clipboard", Status.WARN, words, means, _program_line(here), data)


def _program_line(here: Here) -> str:
    if here.environ.get("WAYLAND_DISPLAY"):
        return "sudo apt-get install -y wl-clipboard"
    if here.environ.get("DISPLAY"):
        return "sudo apt-get install -y xclip"
    return r"printf '\033]52;c;cG9vbA==\a'  # then paste: pool"


TERMINAL = Check("terminal", "what can the terminal do?", terminal)
FONTS = Check("fonts", "can the signs be seen?", fonts)
CLIPBOARD = Check("clipboard", "where does a copy go?", clipboard)
