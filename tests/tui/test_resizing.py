"""Windows that change their size twice while updates are batched: the screens come to rest."""

from __future__ import annotations

import asyncio

from textual import events
from textual.app import App
from textual.geometry import Size

from pool.tui.compositor import DirectScreen
from pool.tui.screens.frame import PanelScreen


class Counting(DirectScreen):
    laid_out = 0

    def _screen_resized(self, size: Size) -> None:
        self.laid_out += 1
        assert self.laid_out < 100, "the sizes turn into each other"
        super()._screen_resized(size)


class CountingPanel(PanelScreen[int]):
    laid_out = 0

    def _screen_resized(self, size: Size) -> None:
        self.laid_out += 1
        assert self.laid_out < 100, "the sizes turn into each other"
        super()._screen_resized(size)


async def test_two_sizes_at_once_come_to_rest() -> None:
    app = App[int]()
    async with app.run_test(size=(80, 24)) as pilot:
        for screen in (Counting(), CountingPanel()):
            await app.push_screen(screen)
            await pilot.pause()
            before = screen.laid_out
            with app.batch_update():
                for size in (Size(100, 30), Size(80, 24)):
                    screen.post_message(events.Resize(size, size))
                    screen.call_later(lambda: None)
                for _ in range(20):
                    await asyncio.sleep(0)
            await pilot.pause()
            assert screen.laid_out - before <= 2
