"""A small inventory: what is on the shelf, what runs low, and a command line for both."""

from inventory.items import InventoryError, Item, make_item
from inventory.store import Store, load, save

__all__ = ["InventoryError", "Item", "Store", "load", "make_item", "save"]
