"""The main screen: what changed within one widget is drawn from that widget alone.

For any change Textual takes the rectangle around all changes, renders every widget that it touches, cuts their rows at
each other's edges and puts them together. A change lies nearly always within one widget that nothing covers, twenty
times a second while a reply streams; that widget's rows then go to the terminal as they are. Whatever else there is
(overlaid widgets, a new layout, another screen on top) is left to Textual. So is all of it where a later Textual lacks
one of the private names that are used here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.control import Control
from textual._compositor import Compositor, CompositorUpdate
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from pool.tui.resizing import LastSize

if TYPE_CHECKING:
    from typing import Any

PlacedStrip = tuple[int, int, Strip]
"""A column and a row of the screen, and what is written from there on."""


class PlacedStrips(CompositorUpdate):
    """Strips with their places; rest is what Textual made of the other changes."""

    def __init__(self, placed: Sequence[PlacedStrip], rest: RenderableType | None) -> None:
        self.placed = placed
        self.rest = rest

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.rest is not None:
            yield self.rest
        for x, y, strip in self.placed:
            yield Control.move_to(x, y)
            yield from strip

    def render_segments(self, console: Console) -> str:
        """All of it as one text for the terminal."""
        rows = [f"\x1b[{y + 1};{x + 1}H{strip.render(console)}" for x, y, strip in self.placed]
        if isinstance(self.rest, CompositorUpdate):
            rows.insert(0, self.rest.render_segments(console))
        return "".join(rows)


class DirectCompositor(Compositor):
    """Textual's compositor, with a short way for changes that lie within one uncovered widget."""

    direct = True
    """Whether the short way is taken; not after it failed once, since it then does not fit this Textual."""

    def render_update(self, full: bool = False, *args: Any, **named: Any) -> RenderableType | None:
        placed = self._direct() if self.direct and not full else []
        made = super().render_update(full, *args, **named)  # pyright: ignore[reportUnknownMemberType] a screen's result is left open
        return PlacedStrips(placed, made) if placed else made

    def _direct(self) -> list[PlacedStrip]:
        """What the short way can draw; all other changes stay among `_dirty_regions`."""
        before: set[Region] | None = None
        try:
            before = set(self._dirty_regions)
            if self.size.region in before:
                return []
            alone = self._take_alone()
            return [strip for widget, regions in alone.items() for strip in self._strips(widget, regions)]
        except (AttributeError, TypeError, KeyError, ValueError):
            self.direct = False
            if before is not None:
                self._dirty_regions = before
            return []

    def _take_alone(self) -> dict[Widget, list[Region]]:
        """The changes that lie within one widget each; they are no longer among `_dirty_regions`."""
        found: dict[Widget, list[Region]] = {}
        shared: set[Region] = set()
        for dirty in self._dirty_regions:
            region = dirty.intersection(self.size.region)
            widget = self._only_widget(region)
            if widget is None:
                shared.add(dirty)
            else:
                found.setdefault(widget, []).append(region)
        self._dirty_regions = shared
        return found

    def _only_widget(self, region: Region) -> Widget | None:
        """The widget that fills a region, if no other one shows there."""
        for widget, (place, clip) in self.visible_widgets.items():  # those in front come first
            shown = place.intersection(clip)
            if shown.overlaps(region):
                return widget if shown.contains_region(region) else None
        return None

    def _strips(self, widget: Widget, regions: Sequence[Region]) -> Iterable[PlacedStrip]:
        place = self.visible_widgets[widget][0]
        for region in regions:
            if any(other != region and other.contains_region(region) for other in regions):
                continue
            for y, strip in enumerate(widget.render_lines(region.translate(-place.offset)), region.y):
                yield region.x, y, strip


class DirectScreen(LastSize, Screen[None]):
    """A screen with a `DirectCompositor`."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        with contextlib.suppress(TypeError):
            self._compositor = DirectCompositor()
