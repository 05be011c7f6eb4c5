from guests.lists import guests

DOOR = ["Zoe", " Adam", "Mia ", "Adam"]


def test_guests_stand_in_the_order_of_arrival():
    assert guests(DOOR) == ["Zoe", "Adam", "Mia"]


def test_nobody_came():
    assert guests([]) == []
