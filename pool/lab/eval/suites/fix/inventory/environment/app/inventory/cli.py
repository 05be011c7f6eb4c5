"""The command line: python -m inventory.cli add, take, list, low, tags."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from inventory.items import InventoryError, Item, make_item, parse_count
from inventory.reports import by_tag, low_stock, page, page_count
from inventory.store import load, save


def build_parser() -> argparse.ArgumentParser:
    """The options of all commands."""
    parser = argparse.ArgumentParser(prog="inventory", description="Keep track of what is on the shelf.")
    parser.add_argument("--file", type=Path, default=Path("inventory.json"), help="where the items are kept")
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("add", help="put a new item on the shelf")
    add.add_argument("sku")
    add.add_argument("name")
    add.add_argument("--quantity", default="0")
    add.add_argument("--reorder-level", default="0")
    add.add_argument("--tag", action="append", dest="tags")
    take = commands.add_parser("take", help="take pieces off the shelf")
    take.add_argument("sku")
    take.add_argument("amount")
    listing = commands.add_parser("list", help="show a page of items")
    listing.add_argument("--page", type=int, default=1)
    commands.add_parser("low", help="show what should be bought")
    commands.add_parser("tags", help="show SKUs by tag")
    return parser


def describe(item: Item) -> str:
    """One line about an item."""
    return f"{item.sku:<12}  {item.quantity:>5}  {item.name}"


def run(options: argparse.Namespace) -> list[str]:
    """Do one command and return the lines to print. Raises InventoryError if it cannot be done."""
    store = load(options.file)
    items = store.sorted_items()
    match options.command:
        case "add":
            count, level = parse_count(options.quantity), parse_count(options.reorder_level)
            store.add(make_item(options.sku, options.name, count, level, options.tags))
            save(store, options.file)
            return [f"added {options.sku}"]
        case "take":
            left = store.take(options.sku, parse_count(options.amount))
            save(store, options.file)
            return [f"{left} left of {options.sku}"]
        case "list":
            lines = [describe(item) for item in page(items, options.page)]
            return [*lines, f"page {options.page} of {page_count(items)}"]
        case "low":
            return [describe(item) for item in low_stock(store)]
        case _:
            return [f"{tag}: {', '.join(skus)}" for tag, skus in sorted(by_tag(items).items())]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Returns 0, or 1 after printing what went wrong."""
    options = build_parser().parse_args(argv)
    try:
        lines = run(options)
    except InventoryError as error:
        print(f"inventory: {error}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
