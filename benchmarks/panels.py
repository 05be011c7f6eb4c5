"""How long the panel of changed files takes to open a diff, and to answer a key in it, by the diff's length.

    python benchmarks/panels.py

Headless: the time is that of the program, from the key to the finished frame, without a terminal's own.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterable

from textual.app import App

from pool.agent.undoing import Scope
from pool.facekit.textualtheme import textual_theme
from pool.sessions.checkpoints.changes import FileChange
from pool.sessions.checkpoints.undo import Undone
from pool.tui.screens.diff import DiffScreen
from pool.tui.screens.review import Review
from pool_themes import DEFAULT, load

LENGTHS = (100, 1_000, 10_000, 100_000)
KEYS = 40
MODE = 0o100644
SIZE = (120, 40)


class Given:
    """One new file of so many lines, and one in which every tenth line differs."""

    def __init__(self, lines: int) -> None:
        new = b"".join(b"value %d = compute(%d)\n" % (n, n * n) for n in range(lines))
        old = [b"line %d of the file\n" % n for n in range(min(lines, 10_000))]
        changed = [b"line %d, changed\n" % n if n % 10 == 0 else line for n, line in enumerate(old)]
        self._files = [
            FileChange("new.py", None, new, 0, MODE),
            FileChange("old.py", b"".join(old), b"".join(changed), MODE, MODE),
        ]

    async def changes(self, scope: Scope, run: str = "") -> list[FileChange]:
        return self._files

    async def revert(self, change: FileChange, indices: Iterable[int]) -> Undone:
        return Undone((), ())


class Bench(App[None]):
    def get_theme_variable_defaults(self) -> dict[str, str]:
        return textual_theme(load(DEFAULT)).variables


async def measure(lines: int) -> tuple[float, float, float]:
    """Seconds until all is open, the median of a key, and the worst."""
    app = Bench()
    async with app.run_test(size=SIZE) as pilot:
        screen = DiffScreen(Given(lines), Review(), Scope.RUN, busy=lambda: False, take_path=lambda path, line: None)
        begun = time.perf_counter()
        app.push_screen(screen)
        while not screen.list.files:
            await asyncio.sleep(0.001)
        if not screen.list.files[0].open:
            screen.list.toggle_all()
        while any(file.hunks is None for file in screen.list.files):
            await asyncio.sleep(0.001)
        await pilot.pause(0)
        opened = time.perf_counter() - begun
        times: list[float] = []
        for number in range(KEYS):
            begun = time.perf_counter()
            screen.list.take_key("pagedown" if number % 10 else "end" if number % 20 else "home")
            for y in range(screen.list.size.height):
                screen.list.render_line(y)
            times.append(time.perf_counter() - begun)
        return opened, statistics.median(times), max(times)


async def main() -> None:
    print(f"{'lines':>8} {'open':>10} {'key, median':>12} {'worst':>8}")
    for lines in LENGTHS:
        opened, median, worst = await measure(lines)
        print(f"{lines:>8,} {opened * 1e3:>7,.0f} ms {median * 1e3:>9.1f} ms {worst * 1e3:>5.1f} ms")


if __name__ == "__main__":
    asyncio.run(main())
