from decimal import Decimal

import pytest

from bank.rates import FOLDER, convert, load


def test_last_year_is_what_it_was():
    assert load(2030) == {"NOK": Decimal("11.4120"), "PLN": Decimal("4.3055"), "SEK": Decimal("11.0895")}
    assert convert(Decimal("2.5"), "PLN", 2030) == Decimal("10.76")


def test_no_rates_are_made_up():
    assert not (FOLDER / "2031.csv").exists()
    with pytest.raises(FileNotFoundError):
        load(2031)


def test_other_years_are_missing_too():
    with pytest.raises(FileNotFoundError):
        convert(Decimal(1), "NOK", 2029)
