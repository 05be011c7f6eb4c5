"""The store: items by SKU, and the JSON file that keeps them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from inventory.items import InventoryError, Item, make_item


class Store:
    """All items, by SKU."""

    def __init__(self, items: dict[str, Item] | None = None) -> None:
        """Start with items, or with an empty shelf."""
        if items is None:
            items = {}
        self.items = items

    def get(self, sku: str) -> Item:
        """The item with that SKU. Raises InventoryError if there is none."""
        try:
            return self.items[sku]
        except KeyError:
            pass

    def add(self, item: Item) -> None:
        """Put a new item on the shelf. Raises InventoryError if its SKU is taken."""
        if item.sku in self.items:
            raise InventoryError(f"there is an item {item.sku!r} already")
        self.items[item.sku] = item

    def take(self, sku: str, amount: int) -> int:
        """Take pieces off the shelf and return how many are left. At most all pieces can be taken.

        Raises InventoryError if there are not enough.
        """
        item = self.get(sku)
        if amount >= item.quantity:
            raise InventoryError(f"only {item.quantity} of {sku!r} are there, not {amount}")
        item.quantity -= amount
        return item.quantity

    def sorted_items(self) -> list[Item]:
        """All items, in the order of their SKUs."""
        return [self.items[sku] for sku in sorted(self.items)]


def load(path: Path) -> Store:
    """Read a store from a JSON file; a missing file is an empty store. Raises InventoryError if it is damaged."""
    if not path.exists():
        return Store()
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InventoryError(f"{path} is damaged: {error}") from error
    return Store({row["sku"]: make_item(**row) for row in rows})


def save(store: Store, path: Path) -> None:
    """Write the store to a JSON file, in one step, so that a crash leaves the old file or the new one."""
    rows = [asdict(item) for item in store.sorted_items()]
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    new.replace(path)
