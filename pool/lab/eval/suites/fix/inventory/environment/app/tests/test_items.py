import pytest

from inventory.items import InventoryError, make_item, parse_count, valid_sku


def test_longest_sku_can_be_used():
    assert valid_sku("ABCDEF-12345")
    assert not valid_sku("ABCDEF-123456")


def test_items_do_not_share_tags():
    bolt = make_item("BOLT-1", "Bolt")
    nut = make_item("NUT-1", "Nut")
    bolt.tags.append("steel")
    assert nut.tags == []


def test_count_must_be_a_number():
    assert parse_count("12") == 12
    with pytest.raises(InventoryError):
        parse_count("a dozen")
