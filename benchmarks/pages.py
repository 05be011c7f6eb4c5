"""What a page of the web costs: the worker that makes it Markdown, by size of the page.

python benchmarks/pages.py
"""

from __future__ import annotations

import asyncio
import statistics
import time

from pool_tools.web.markdown import markdown_of

PARAGRAPH = "<p>A sentence of a page with <a href='/x'>a link</a>, <code>code</code> and commas, to count.</p>\n"
SIZES = (1_000, 100_000, 1_000_000)
TIMES = 5


def page(size: int) -> str:
    body = PARAGRAPH * max(1, size // len(PARAGRAPH))
    return f"<html><head><title>T</title></head><body><nav>menu</nav><div class='content'>{body}</div></body></html>"


async def measure(size: int) -> tuple[float, int]:
    walls: list[float] = []
    chars = 0
    for _ in range(TIMES):
        began = time.perf_counter()
        chars = len((await markdown_of(page(size), "https://a.example/")).text)
        walls.append(time.perf_counter() - began)
    return statistics.median(walls), chars


def main() -> None:
    print("HTML bytes  wall s, median  Markdown characters")
    for size in SIZES:
        wall, chars = asyncio.run(measure(size))
        print(f"{size:>10,}  {wall:>14.2f}  {chars:>19,}")


if __name__ == "__main__":
    main()
