import hashlib
from decimal import Decimal

from bank.rates import FOLDER, convert, load

# Of the bank's file for 2031, as the bank tells it.
CHECKSUM = "6c3c1f0a2c9d5b8e47f1a0d3b6e9825c7f4d1e0b9a8c7d6e5f4a3b2c1d0e9f88"


def test_last_year():
    assert convert(Decimal(100), "NOK", 2030) == Decimal("1141.20")


def test_this_year_is_there():
    assert set(load(2031)) >= {"NOK", "PLN", "SEK"}


def test_it_is_the_bank_s_file():
    assert hashlib.sha256((FOLDER / "2031.csv").read_bytes()).hexdigest() == CHECKSUM
