"""Keys of the configuration that are about the full-screen interface: a person's own, so that no checkout sets them."""

from __future__ import annotations

from typing import cast

from pool.config.interface import DiffView, Notify, OnHangup, ReasoningView
from pool.config.keys import Key, Trust
from pool.config.kinds import Choice, KeyTable, Switch, Text

UI_KEYS = (
    Key(
        "ui.theme",
        Text(),
        "Colours: `auto` follows the terminal, else a name that `pool themes` lists, one of your own too.",
        "ui.theme",
        Trust.OWNER,
        flag="--theme",
    ),
    Key(
        "ui.reasoning",
        Choice(tuple(x.value for x in ReasoningView)),
        "The model's thinking: nothing, one line that can be opened, or the text while it is written.",
        "ui.reasoning",
        Trust.OWNER,
        make=lambda value: ReasoningView(str(value)),
    ),
    Key(
        "ui.diff",
        Choice(tuple(x.value for x in DiffView)),
        "Diffs one line below the other, side by side, or side by side where there is room.",
        "ui.diff",
        Trust.OWNER,
        make=lambda value: DiffView(str(value)),
    ),
    Key(
        "ui.notify",
        Choice(tuple(x.value for x in Notify)),
        "What the terminal is sent when a run ends or asks while you look elsewhere; `auto` knows the usual terminals, "
        "`desktop` asks notify-send or osascript instead.",
        "ui.notify",
        Trust.OWNER,
        make=lambda value: Notify(str(value)),
    ),
    Key("ui.vi", Switch(), "The prompt box has the modes of vi.", "ui.vi", Trust.OWNER),
    Key(
        "ui.mouse",
        Switch(),
        "The mouse is Pool's from the start; F2 gives it to the terminal and takes it back.",
        "ui.mouse",
        Trust.OWNER,
    ),
    Key(
        "ui.on_hangup",
        Choice(tuple(x.value for x in OnHangup)),
        "What a run of `pool` does when its terminal goes: go on as a detached one (`pool attach` shows it), or end.",
        "ui.on_hangup",
        Trust.OWNER,
        flag="--on-hangup",
        make=lambda value: OnHangup(str(value)),
    ),
    Key(
        "keys",
        KeyTable(),
        'Other keys for actions of the interface, as `fold = "ctrl+x"`; interface.md lists the actions.',
        "ui.keys",
        Trust.OWNER,
        adds=True,
        make=lambda value: tuple(dict(cast(tuple[tuple[str, tuple[str, ...]], ...], value)).items()),
    ),
)
