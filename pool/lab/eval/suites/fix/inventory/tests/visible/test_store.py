import pytest

from inventory.items import InventoryError, make_item
from inventory.store import Store, load


def test_all_pieces_can_be_taken():
    store = Store({"BOLT-1": make_item("BOLT-1", "Bolt", 5)})
    assert store.take("BOLT-1", 5) == 0
    with pytest.raises(InventoryError):
        store.take("BOLT-1", 1)


def test_stores_do_not_share_items():
    first = Store()
    first.add(make_item("BOLT-1", "Bolt"))
    assert Store().sorted_items() == []


def test_unknown_item_is_an_error():
    store = Store({"BOLT-1": make_item("BOLT-1", "Bolt", 5)})
    with pytest.raises(InventoryError):
        store.get("NUT-1")


def test_damaged_file_is_an_error(tmp_path):
    path = tmp_path / "items.json"
    path.write_text('[{"sku": "BOLT-1"', encoding="utf-8")
    with pytest.raises(InventoryError):
        load(path)
