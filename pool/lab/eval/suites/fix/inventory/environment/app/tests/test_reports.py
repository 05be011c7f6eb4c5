from inventory.items import make_item
from inventory.reports import biggest, by_tag, low_stock, page, page_count
from inventory.store import Store


def some_items(count):
    return [make_item(f"PART-{n:02}", f"Part {n}", quantity=n) for n in range(1, count + 1)]


def test_stock_at_the_reorder_level_is_low():
    store = Store({})
    store.add(make_item("BOLT-1", "Bolt", quantity=4, reorder_level=4))
    store.add(make_item("NUT-1", "Nut", quantity=5, reorder_level=4))
    assert [item.sku for item in low_stock(store)] == ["BOLT-1"]


def test_pages():
    items = some_items(20)
    assert page(items, 1) == items[:10]
    assert page(items, 3) == []
    assert page_count(items) == 2
    assert page_count(items[:11]) == 2


def test_biggest_gives_as_many_as_asked():
    assert [item.quantity for item in biggest(some_items(5))] == [5, 4, 3]


def test_groups_start_empty():
    bolt = make_item("BOLT-1", "Bolt", tags=["steel"])
    assert by_tag([bolt]) == {"steel": ["BOLT-1"]}
    assert by_tag([bolt]) == {"steel": ["BOLT-1"]}
