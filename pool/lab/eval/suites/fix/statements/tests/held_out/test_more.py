import pytest

from statements import invoices, ledger, money, receipts, reminders
from statements.parties import Party

CASES = [
    (0, "EUR", "0.00 EUR"),
    (-5, "EUR", "-0.05 EUR"),
    (-123_456_789, "EUR", "-1 234 567.89 EUR"),
    (99_999_999_999_999_999, "EUR", "999 999 999 999 999.99 EUR"),
    (1_234_567, "KWD", "1 234.567 KWD"),
    (-1_000, "JPY", "-1 000 JPY"),
    (7, "CHF", "0.07 CHF"),
]


@pytest.mark.parametrize(("minor", "currency", "text"), CASES)
def test_amounts(minor, currency, text):
    assert money.format_amount(minor, currency) == text


@pytest.mark.parametrize(("minor", "currency", "text"), CASES)
def test_amounts_look_the_same_everywhere(minor, currency, text):
    party = Party("Noor", currency)
    line = invoices.Line("One", minor)
    assert invoices.invoice(party, [line]) == f"Invoice for Noor\nOne: {text}\nTotal: {text}"
    assert f"{text} are open" in reminders.reminder(party, minor, 1)
    assert receipts.receipt(party, minor, minor) == f"Received from Noor: {text}"
    book = ledger.Ledger()
    book.charge(party, [line])
    assert book.page() == (f"Noor: {text}" if minor else "")


def test_the_fee_is_what_it_was():
    assert reminders.reminder(Party("Noor"), 100, 13).count("\n") == 1
    assert reminders.reminder(Party("Noor"), 100, 14).endswith("With the fee: 6.00 EUR")


def test_nothing_else_was_moved():
    assert invoices.total([invoices.Line("a", 1), invoices.Line("b", -3)]) == -2
    assert ledger.Ledger().pay(Party("Noor"), 5) == -5
