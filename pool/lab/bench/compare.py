"""`pool bench compare`: saved measurements side by side, the first one as what the others are compared with."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pool.lab.bench.result import Json, NoResult, load, targets_of
from pool.lab.bench.table import wrapped
from pool_tools.frozen import frozen
from pool_tools.text import visible

EXIT_USAGE = 2
NAME_WIDTH = 20
COLUMN = 12
MOST_COLUMNS = 5
REAL_SHARE = 0.05
"""Differences below this, or below the spread of the repeats, are not called differences: two starts of one server
differ by some per cent (19.5 and 19.87 tokens a second in the seed)."""

ROWS = (("decode", "tok/s"), ("total", "together"))


@frozen
class Column:
    """One measured server: name, what tells its setup, and its cells' figures by name."""

    name: str
    setup: str
    kind: str
    cells: Mapping[str, Json]
    depth: int | None
    length: float | None


def main(argv: Sequence[str]) -> int:
    """Run `pool bench compare`: 0, or 2 for a file that cannot be used."""
    p = argparse.ArgumentParser(prog="pool bench compare", description="Saved measurements side by side.")
    p.add_argument("files", nargs="+", metavar="FILE", help="written by pool bench --save; the first is compared with")
    try:
        args = p.parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    try:
        columns = [column for name in args.files for column in columns_of(name, load(Path(name)))]
    except NoResult as error:
        sys.stderr.write(f"pool bench compare: {error}\n")
        return EXIT_USAGE
    if len(columns) < 2:
        sys.stderr.write("pool bench compare: there is one measurement only; name two files, or one of two servers\n")
        return EXIT_USAGE
    for line in lines(columns):
        print(visible(line))
    return 0


def columns_of(name: str, document: Json) -> list[Column]:
    """A column for each server of a document."""
    targets = targets_of(document)
    stem = Path(name).stem
    return [_column(stem if len(targets) == 1 else f"{stem}.{at}", target) for at, target in enumerate(targets, 1)]


def _column(name: str, target: Json) -> Column:
    server, drafted = _object(target.get("server")), _object(target.get("speculation"))
    cells = {str(cell["name"]): _object(cell.get("figures")) for cell in _objects(target.get("cells"))}
    depth = drafted.get("depth")
    told = [server.get("kind"), server.get("version"), server.get("model")]
    return Column(
        name=name,
        setup=str(server.get("id", "")),
        kind=" ".join(str(word) for word in told if word),
        cells=cells,
        depth=depth if isinstance(depth, int) else None,
        length=_number(drafted, "accepted_length_with_bonus"),
    )


def lines(columns: Sequence[Column]) -> Iterator[str]:
    """The table: a row for each figure that one of the columns has, differences from the first in per cent."""
    shown = columns[:MOST_COLUMNS]
    for column in shown:
        drafts = f", K = {column.depth}, {column.length:.2f} tokens a step" if column.depth and column.length else ""
        yield from wrapped(f"{column.name}: {column.kind} (setup {column.setup}){drafts}")
    yield ""
    yield " " * NAME_WIDTH + "".join(f"{column.name[: COLUMN - 1]:>{COLUMN}}" for column in shown)
    names = dict.fromkeys(name for column in shown for name in column.cells)
    for name in names:
        for figure, unit in ROWS:
            values = [_number(column.cells.get(name, {}), figure) for column in shown]
            if figure == "total" and (" x" not in name):
                continue
            if any(value is not None for value in values):
                yield _row(f"{name}, {unit}" if figure == "total" else name, values)
                if apart := _differences(name, values, shown):
                    yield apart
    if len(columns) > len(shown):
        yield f"{len(columns) - len(shown)} more are not shown."
    yield ""
    yield f"Per cent are against {shown[0].name}. = means: less than {REAL_SHARE:.0%} or than the repeats differ,"
    yield "which two starts of the same server do too."


def _row(name: str, values: Sequence[float | None]) -> str:
    cells = "".join(f"{'-' if value is None else f'{value:,.1f}':>{COLUMN}}" for value in values)
    return f"{name[: NAME_WIDTH - 1]:<{NAME_WIDTH}}{cells}"


def _differences(name: str, values: Sequence[float | None], columns: Sequence[Column]) -> str:
    first = values[0]
    cells = [" " * COLUMN]
    for value, column in zip(values[1:], columns[1:], strict=True):
        if first is None or value is None or not first:
            cells.append(" " * COLUMN)
            continue
        share = value / first - 1
        noise = max(_number(c.cells.get(name, {}), "spread") or 0.0 for c in (columns[0], column))
        cells.append(f"{'=' if abs(share) < max(REAL_SHARE, noise) else f'{share:+.1%}':>{COLUMN}}")
    return (" " * NAME_WIDTH + "".join(cells)).rstrip()


def _number(values: Json, name: str) -> float | None:
    value = values.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _objects(value: Any) -> list[Json]:
    return [_object(item) for item in cast(list[Any], value)] if isinstance(value, list) else []


def _object(value: Any) -> Json:
    return cast(Json, value) if isinstance(value, dict) else {}
