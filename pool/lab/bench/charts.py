"""Charts as SVG, by hand: bars and lines need no library. Text is escaped; colours follow light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pool.lab.bench.bars import Bar
from pool_tools.frozen import frozen

WIDTH, ROW, LABEL, FIGURE, TOP = 640, 22, 110, 80, 34
HEIGHT = 260
STYLE = (
    "<style>text{font:13px system-ui,sans-serif;fill:currentColor}.t{font-weight:600;font-size:15px}"
    ".b{fill:#3b74c4}.p{fill:none;stroke:#3b74c4;stroke-dasharray:4 3}.l{fill:none;stroke:#3b74c4;stroke-width:2}"
    ".m{fill:#3b74c4}.a{stroke:currentColor;stroke-opacity:.35}svg{color:#222;background:#fff}"
    "@media(prefers-color-scheme:dark){svg{color:#ddd;background:#1c1c1c}.b,.m{fill:#7aa7e8}.p,.l{stroke:#7aa7e8}}"
    "</style>"
)


@frozen
class Chart:
    """A finished chart: the name of its file, without an ending, and its SVG."""

    name: str
    svg: str


def bar_chart(name: str, title: str, bars: Sequence[Bar]) -> Chart:
    """Bars that lie; predicted ones are outlines."""
    most = max((bar.value for bar in bars), default=0.0) or 1.0
    room = WIDTH - LABEL - FIGURE
    parts: list[str] = []
    for at, bar in enumerate(bars):
        y, long = TOP + at * ROW, max(0.0, room * bar.value / most)
        parts.append(
            f'<text x="{LABEL - 8}" y="{y + 15}" text-anchor="end">{escape(bar.label)}</text>'
            f'<rect class="{"b" if bar.measured else "p"}" x="{LABEL}" y="{y + 3}" width="{long:.1f}" '
            f'height="{ROW - 6}"/><text x="{LABEL + long + 6:.1f}" y="{y + 15}">{escape(bar.shown)}</text>'
        )
    return Chart(name, _svg(title, TOP + len(bars) * ROW + 10, parts))


def line_chart(name: str, title: str, points: Sequence[tuple[str, float]], unit: str) -> Chart:
    """A line over steps of equal width, each point with its figure."""
    most = max((value for _, value in points), default=0.0) or 1.0
    left, right, base = 30, WIDTH - 30, HEIGHT - 34
    step = (right - left) / max(1, len(points) - 1)
    places = [(left + at * step, base - (base - TOP - 24) * value / most) for at, (_, value) in enumerate(points)]
    parts = [f'<line class="a" x1="{left}" y1="{base}" x2="{right}" y2="{base}"/>']
    parts.append(f'<polyline class="l" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>')
    for (label, value), (x, y) in zip(points, places, strict=True):
        parts.append(
            f'<circle class="m" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
            f'<text x="{x:.1f}" y="{y - 9:.1f}" text-anchor="middle">{value:,.1f}</text>'
            f'<text x="{x:.1f}" y="{base + 20}" text-anchor="middle">{escape(label)}</text>'
        )
    return Chart(name, _svg(f"{title} ({unit})", HEIGHT, parts))


def _svg(title: str, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'role="img">{STYLE}<title>{escape(title)}</title><text class="t" x="8" y="20">{escape(title)}</text>'
        f"{''.join(parts)}</svg>\n"
    )
