from datetime import date

import pytest

from library.days import is_open, next_open, open_days, parse_day
from library.errors import LibraryError


def test_day_is_read():
    assert parse_day("2031-05-09") == date(2031, 5, 9)
    with pytest.raises(LibraryError):
        parse_day("9 May")


def test_closed_on_sunday():
    assert not is_open(date(2031, 5, 11))
    assert next_open(date(2031, 5, 11)) == date(2031, 5, 12)
    assert next_open(date(2031, 5, 10)) == date(2031, 5, 10)


def test_open_days_of_a_week():
    assert open_days(date(2031, 5, 5), date(2031, 5, 10)) == 6
