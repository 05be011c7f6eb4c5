"""The plots of a saved measurement: SVG files, or one HTML page that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, cast

from pool.lab.bench.bars import Bar
from pool.lab.bench.charts import Chart, bar_chart, line_chart
from pool.lab.bench.result import Json, targets_of
from pool.lab.bench.timeline import QUANTILES

_UNSAFE = re.compile(r"[^a-z0-9]+")


def write_html(path: Path, document: Json) -> None:
    """Write the page. Raises OSError."""
    path.write_text(html(document), encoding="utf-8")


def write_svgs(folder: Path, document: Json) -> list[Path]:
    """Write each plot as a file of its own into folder, which is made. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    targets = targets_of(document)
    for at, target in enumerate(targets, 1):
        for chart in charts(target):
            name = chart.name if len(targets) == 1 else f"{at}-{chart.name}"
            written.append(folder / f"{_UNSAFE.sub('-', name.lower()).strip('-')}.svg")
            written[-1].write_text(chart.svg, encoding="utf-8")
    return written


def html(document: Json) -> str:
    """The page: what was measured, then every plot."""
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>pool bench</title>",
        "<style>body{font:15px system-ui,sans-serif;max-width:700px;margin:2em auto;padding:0 1em}"
        "@media(prefers-color-scheme:dark){body{background:#1c1c1c;color:#ddd}}svg{max-width:100%;height:auto}</style>",
        f"<h1>pool bench</h1><p>{escape(str(document.get('time', '')))}, protocol "
        f"{escape(str(document.get('protocol', '')))}. Outlined bars are predicted, filled ones measured.</p>",
    ]
    for target in targets_of(document):
        server = _object(target.get("server"))
        words = " ".join(str(server.get(name, "")) for name in ("kind", "version", "model"))
        parts.append(f"<h2>{escape(words)}</h2><p>setup {escape(str(server.get('id', '')))}</p>")
        parts += [chart.svg for chart in charts(target)]
    return "".join(parts) + "</html>\n"


def charts(target: Json) -> Iterator[Chart]:
    """The plots that a target's figures allow."""
    cells = [_object(cell) for cell in _list(target.get("cells"))]
    if singles := _bars(cells, "single", "name", "decode"):
        yield bar_chart("speed", "One stream: tokens a second", singles)
    many = [(str(c.get("streams")), value) for c, value in _figured(cells, "streams", "total")]
    if len(many) > 1:
        yield line_chart("streams", "Together, by streams", many, "tokens a second")
    deep = _figured(cells, "depth", "decode")
    if len(deep) > 1:
        depths = [(f"{c.get('depth'):,}", value) for c, value in deep]
        yield line_chart("depth", "Writing after a long prompt", depths, "tokens a second")
        yield bar_chart(
            "prefill", "Reading a prompt, cold: tokens a second", _bars(cells, "depth", "name", "cold_read")
        )
    for cell in cells:
        if gaps := _list(_object(cell.get("figures")).get("gaps")):
            name = str(cell.get("name"))
            bars = [
                Bar(f"{share:.0%}", gap, f"{gap * 1000:.1f} ms") for share, gap in zip(QUANTILES, gaps, strict=False)
            ]
            yield bar_chart(f"latency {name}", f"Time between pieces, {name}: quantiles", bars)
    drafted = _object(target.get("speculation"))
    if curve := _list(drafted.get("acceptance_by_position")):
        bars = [Bar(f"place {at}", float(share), f"{share:.1%}") for at, share in enumerate(curve, 1)]
        yield bar_chart("acceptance", f"Drafts kept by place, K = {drafted.get('depth')}", bars)
    if depths := [_object(row) for row in _list(_object(target.get("advice")).get("depths"))]:
        bars = [Bar(f"K {d['depth']}", d["rate"], f"{d['rate']:.1f}", bool(d["measured"])) for d in depths]
        yield bar_chart("depths of drafts", "Tokens a second by K", bars)


def _figured(cells: Sequence[Json], part: str, figure: str) -> list[tuple[Json, float]]:
    """The cells of a part that have a figure, with it."""
    own = [(cell, _object(cell.get("figures")).get(figure)) for cell in cells if cell.get("part") == part]
    return [(cell, float(value)) for cell, value in own if isinstance(value, (int, float))]


def _bars(cells: Sequence[Json], part: str, label: str, figure: str) -> list[Bar]:
    return [Bar(str(cell.get(label)), value, f"{value:,.1f}") for cell, value in _figured(cells, part, figure)]


def _list(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


def _object(value: Any) -> Json:
    return cast(Json, value) if isinstance(value, dict) else {}
