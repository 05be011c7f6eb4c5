from library.fines import fine
from library.limits import may_borrow
from library.members import make_member


def test_grace():
    adult = make_member(1, "Ines", 40, [])
    assert fine(2, adult) == 0
    assert fine(3, adult) == 0
    assert fine(4, adult) == 80


def test_fines_have_an_end():
    assert fine(300, make_member(1, "Ines", 40, [])) == 1_000
    assert fine(300, make_member(2, "Rui", 12, [])) == 0


def test_limits():
    assert may_borrow(make_member(1, "Ines", 40, []), 4)
    assert not may_borrow(make_member(1, "Ines", 40, []), 5)
