"""The bottom line: mode, model, share of the context and speed, as much of it as fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.utils import get_cwidth

from pool.facekit.clean import one_line

if TYPE_CHECKING:
    from pool.repl.screen import Screen

GAP = " · "
NO_SESSION = "no session yet"


def toolbar(screen: Screen) -> str:
    """The line. A hint comes first, then what matters most; what does not fit is left out."""
    parts = [part for part in (screen.hint_text, *status_words(screen)) if part]
    columns = screen.app.output.get_size().columns
    line = ""
    for part in parts:
        longer = f"{line}{GAP}{part}" if line else part
        if line and get_cwidth(longer) > columns:
            continue
        line = longer
    return line


def status_words(screen: Screen) -> list[str]:
    """Mode, share of the context, speed, sandbox and model."""
    chat = screen.chat
    if (glance := chat.driver.glance()) is None:
        return [NO_SESSION]
    activity, window = chat.activity, glance.window
    context = ""
    if activity.context:
        context = (
            f"{activity.context / window:.0%} of {_short(window)}" if window else f"{_short(activity.context)} tokens"
        )
    speed = f"{activity.speed.writing:.0f} tok/s" if activity.speed.writing else ""
    return [one_line(w) for w in (glance.mode.value, context, speed, glance.model, f"sandbox {glance.sandbox}")]


def _short(tokens: int) -> str:
    """A count of tokens for people: 131,072 is 131k."""
    return f"{tokens / 1000:.0f}k" if tokens >= 1000 else str(tokens)
