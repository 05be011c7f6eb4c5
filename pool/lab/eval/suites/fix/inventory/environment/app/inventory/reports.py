"""What the shelf looks like: what runs low, pages of a list, the biggest stocks, groups by tag."""

from __future__ import annotations

from collections.abc import Sequence

from inventory.items import Item
from inventory.store import Store


def low_stock(store: Store) -> list[Item]:
    """Items whose quantity is at or below their reorder level."""
    return [item for item in store.sorted_items() if item.quantity < item.reorder_level]


def page(items: Sequence[Item], number: int, size: int = 10) -> list[Item]:
    """One page of items; pages count from 1. A page past the end is empty."""
    start = (number - 1) * size
    return list(items[start : start + size])


def page_count(items: Sequence[Item], size: int = 10) -> int:
    """How many pages items fill; the last one may be short, but never empty."""
    return (len(items) + size - 1) // size


def biggest(items: Sequence[Item], limit: int = 3) -> list[Item]:
    """The first limit items when sorted by quantity, biggest first."""
    ranked = sorted(items, key=lambda item: item.quantity, reverse=True)
    return ranked[:limit]


def by_tag(items: Sequence[Item], groups: dict[str, list[str]] | None = None) -> dict[str, list[str]]:
    """SKUs grouped by tag, added to groups if some are given."""
    if groups is None:
        groups = {}
    for item in items:
        for tag in item.tags:
            groups.setdefault(tag, []).append(item.sku)
    return groups
