"""Items on the shelf, and the checks on what a user types about them."""

from __future__ import annotations

from dataclasses import dataclass

MAX_SKU_LENGTH = 12


class InventoryError(Exception):
    """Something that the user can put right; the message says what."""


@dataclass
class Item:
    """One kind of thing on the shelf.

    quantity counts pieces. reorder_level is the number of pieces at which more should be bought.
    """

    sku: str
    name: str
    quantity: int
    reorder_level: int
    tags: list[str]


def valid_sku(sku: str) -> bool:
    """Whether sku can be used: letters, digits and dashes, at most MAX_SKU_LENGTH characters."""
    return sku.replace("-", "").isalnum() and len(sku) <= MAX_SKU_LENGTH


def make_item(sku: str, name: str, quantity: int = 0, reorder_level: int = 0, tags: list[str] = []) -> Item:
    """Make an item. Raises InventoryError if the SKU cannot be used."""
    if not valid_sku(sku):
        raise InventoryError(f"{sku!r} is no SKU: use letters, digits and dashes, {MAX_SKU_LENGTH} at most")
    return Item(sku, name, quantity, reorder_level, tags)


def parse_count(text: str) -> int:
    """The number of pieces that text names. Raises InventoryError if it is no whole number, or below 0."""
    try:
        count = int(text)
    except ValueError as error:
        raise InventoryError(f"{text!r} is no whole number") from error
    if count < 0:
        raise InventoryError(f"{count} pieces cannot be: use 0 or more")
    return count
