import json

import pytest

from inventory.cli import main
from inventory.items import InventoryError, make_item, parse_count, valid_sku
from inventory.reports import biggest, by_tag, low_stock, page, page_count
from inventory.store import Store, load, save


def some_items(count):
    return [make_item(f"PIECE-{n:02}", f"Piece {n}", quantity=n, reorder_level=3) for n in range(1, count + 1)]


def test_no_item_shares_its_tags():
    items = [make_item(f"NEW-{n}", "New") for n in range(4)]
    items[0].tags.append("first")
    items[2].tags.extend(["third", "last"])
    assert [item.tags for item in items] == [["first"], [], ["third", "last"], []]


def test_given_tags_are_kept():
    assert make_item("NEW-1", "New", tags=["a", "b"]).tags == ["a", "b"]


def test_low_stock_at_below_and_above():
    store = Store({item.sku: item for item in some_items(6)})
    assert [item.quantity for item in low_stock(store)] == [1, 2, 3]


def test_nothing_on_the_shelf_is_low_at_nought():
    store = Store({})
    store.add(make_item("NUT-9", "Nut", quantity=0, reorder_level=0))
    assert [item.sku for item in low_stock(store)] == ["NUT-9"]


@pytest.mark.parametrize(("there", "taken"), [(1, 1), (7, 7), (7, 6), (7, 0)])
def test_up_to_all_pieces_can_be_taken(there, taken):
    store = Store({"NUT-1": make_item("NUT-1", "Nut", there)})
    assert store.take("NUT-1", taken) == there - taken
    assert store.get("NUT-1").quantity == there - taken


def test_too_many_pieces_leave_the_shelf_as_it_is():
    store = Store({"NUT-1": make_item("NUT-1", "Nut", 3)})
    with pytest.raises(InventoryError):
        store.take("NUT-1", 4)
    assert store.get("NUT-1").quantity == 3


def test_unknown_items_are_errors_everywhere():
    store = Store({})
    with pytest.raises(InventoryError):
        store.get("GONE-1")
    with pytest.raises(InventoryError):
        store.take("GONE-2", 1)


def test_what_worked_before_works():
    assert valid_sku("A-1")
    assert not valid_sku("")
    assert parse_count("0") == 0
    for text in ("", "-1", "1.5"):
        with pytest.raises(InventoryError):
            parse_count(text)
    items = some_items(11)
    assert page(items, 2) == items[10:]
    assert page_count(items) == 2
    assert page_count([]) == 0
    assert [item.quantity for item in biggest(items, 2)] == [11, 10]
    assert by_tag([make_item("T-1", "T", tags=["x", "y"])]) == {"x": ["T-1"], "y": ["T-1"]}


def test_a_whole_day(tmp_path, capsys):
    path = tmp_path / "shelf.json"
    file = ["--file", str(path)]
    assert main([*file, "add", "BOLT-2", "Bolt", "--quantity", "2", "--reorder-level", "2"]) == 0
    assert main([*file, "low"]) == 0
    assert "BOLT-2" in capsys.readouterr().out
    assert main([*file, "take", "BOLT-2", "2"]) == 0
    assert "0 left" in capsys.readouterr().out
    assert main([*file, "take", "BOLT-2", "1"]) == 1
    assert json.loads(path.read_text())[0]["quantity"] == 0
    save(load(path), path)
    assert load(path).get("BOLT-2").tags == []
