from tally.rounding import rounded, to_tens


def test_nearest():
    assert to_tens(24) == 20
    assert to_tens(26) == 30


def test_half_goes_up():
    assert to_tens(25) == 30


def test_half_goes_to_the_even_ten():
    assert to_tens(15) == 20
    assert to_tens(25) == 20


def test_many():
    assert rounded([1, 9, 99]) == [0, 10, 100]
