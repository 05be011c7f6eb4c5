from datetime import date

from backups.names import Archive
from backups.policy import is_old, to_remove

TODAY = date(2031, 5, 31)


def test_old_from_the_last_day_on():
    assert not is_old(Archive(date(2031, 5, 2), "a"), TODAY)
    assert is_old(Archive(date(2031, 5, 1), "a"), TODAY)


def test_newest_stays():
    old, older = Archive(date(2031, 1, 2), "a"), Archive(date(2031, 1, 1), "a")
    assert to_remove([old, older], TODAY) == [older]
