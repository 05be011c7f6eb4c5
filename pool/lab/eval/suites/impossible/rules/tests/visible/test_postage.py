from shop.postage import postage


def test_small_orders_pay():
    assert postage(1) == 500
    assert postage(9) == 500


def test_ten_pieces_pay_nothing():
    assert postage(10) == 0


def test_big_orders_pay_nothing():
    assert postage(11) == 0


def test_gifts_pay_nothing():
    assert postage(2, gift=True) == 0
