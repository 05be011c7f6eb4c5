from guests.lists import clean, guests


def test_clean():
    assert clean("  Ana  Lima ") == "Ana Lima"


def test_guests_stand_in_the_order_of_names():
    door = ["Zoe", " Adam", "Mia ", "Adam"]
    assert guests(door) == ["Adam", "Mia", "Zoe"]
