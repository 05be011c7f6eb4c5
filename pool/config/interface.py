"""Settings of the full-screen interface. No run depends on them."""

from __future__ import annotations

from enum import StrEnum

from pool_tools.frozen import frozen

AUTO_THEME = "auto"
"""The theme that follows the terminal."""


class ReasoningView(StrEnum):
    """How much of the model's thinking is shown: nothing, one line, or the text while it is written."""

    HIDDEN = "hidden"
    LINE = "line"
    OPEN = "open"


class Notify(StrEnum):
    """How a terminal that has lost the focus is told that a run has ended or asks something.

    `auto` takes what the terminal is known to understand, else the bell. `desktop` asks the desktop itself, by
    notify-send or osascript; where there is neither, the bell rings.
    """

    AUTO = "auto"
    OFF = "off"
    BELL = "bell"
    OSC9 = "osc9"
    OSC777 = "osc777"
    OSC99 = "osc99"
    DESKTOP = "desktop"


class DiffView(StrEnum):
    """Diffs: one line below the other, side by side, or side by side where there is room."""

    AUTO = "auto"
    UNIFIED = "unified"
    SIDE = "side"


class OnHangup(StrEnum):
    """What a run does when its terminal goes: end, or go on as a detached one."""

    DETACH = "detach"
    STOP = "stop"


@frozen
class InterfaceSettings:
    """How the interface looks and behaves. theme is `auto` or the name of a theme; vi: the prompt box has vi's modes.

    mouse: the mouse is Pool's at start, else the terminal's. keys are other keys for actions, by the action's name.
    """

    theme: str = AUTO_THEME
    reasoning: ReasoningView = ReasoningView.LINE
    notify: Notify = Notify.AUTO
    vi: bool = False
    mouse: bool = True
    diff: DiffView = DiffView.AUTO
    on_hangup: OnHangup = OnHangup.DETACH
    keys: tuple[tuple[str, tuple[str, ...]], ...] = ()
