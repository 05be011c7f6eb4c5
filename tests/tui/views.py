"""Views of the whole interface, for pictures: an app whose session is never opened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.pilot import Pilot

from pool.config.interface import InterfaceSettings
from pool.config.settings import Settings
from pool.ports import ApprovalRequest
from pool.tui.app import PoolApp
from pool.tui.lines import Part
from pool.tui.transcript.answer import Answer
from pool.tui.transcript.notice import Quiet, Tone
from pool.tui.transcript.prompt import Prompt
from pool.tui.transcript.reasoning import Reasoning
from tests.tui.transcript.scenes import cards, diffs

WORKSPACE = Path("/home/you/shop")

ANSWER = """The totals were sums of floats. `total` now adds **decimals**, and checks each item:

```python
result += item.price
return result.quantize(CENT)
```

All 12 tests pass.
"""


class StillApp(PoolApp):
    """The app with nothing behind it. Its status bar says what it is told."""

    def __init__(self, theme: str, *, vi: bool = False) -> None:
        super().__init__(Settings(WORKSPACE, ui=InterfaceSettings(vi=vi)), theme=theme)

    def begin(self) -> None:
        self.actions.welcome()
        self.show_status()

    def show_status(self) -> None:
        self.bar.show_parts(
            [Part("auto", "mode-auto"), Part("bubblewrap"), Part("laguna-s-2.1", "text")],
            [Part("12% of 131k"), Part("main"), Part("96% cached"), Part("38 tok/s")],
        )


Look = Callable[[StillApp, Pilot[int]], Awaitable[None]]


async def conversation(app: StillApp, pilot: Pilot[int]) -> None:
    view = app.transcript
    view.add(Prompt("Why are the totals off by a cent? Mend it."))
    view.add(Reasoning("The totals are sums of floats. I change them to decimals.", done=True))
    diffs(view)
    view.add(Answer(ANSWER, done=True))
    view.add(Quiet("completed · 4 turns · 12,345 tokens read (11,000 cached), 800 written · 32 s", tone=Tone.GOOD))


async def help_panel(app: StillApp, pilot: Pilot[int]) -> None:
    await conversation(app, pilot)
    app.actions.show_help()


async def themes(app: StillApp, pilot: Pilot[int]) -> None:
    await conversation(app, pilot)
    app.actions.panels.show_themes()


async def first_start(app: StillApp, pilot: Pilot[int]) -> None:
    app.first_start.show("")


async def vi_normal(app: StillApp, pilot: Pilot[int]) -> None:
    await conversation(app, pilot)
    await pilot.press(*"look at src")
    app.box.escaped()
    await pilot.press("b", "d")


async def approval(app: StillApp, pilot: Pilot[int]) -> None:
    cards(app.transcript)
    request = ApprovalRequest(
        "call-1",
        "shell",
        {"command": "pip install -r requirements.txt"},
        "execute",
        "command",
        "pip install -r requirements.txt",
        "no rule allows it",
        policy="writes: this folder; network: none",
    )
    app.actions.spawn(_asked(app, request))


async def _asked(app: StillApp, request: ApprovalRequest) -> None:
    await app.approval.ask(request)


VIEWS: dict[str, tuple[Look, int, int]] = {
    "conversation": (conversation, 100, 36),
    "help": (help_panel, 80, 24),
    "themes": (themes, 80, 30),
    "first-start": (first_start, 80, 24),
    "vi": (vi_normal, 80, 24),
    "approval": (approval, 80, 30),
    "small": (conversation, 40, 12),
}
"""Each with its columns and rows."""
