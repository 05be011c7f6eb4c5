from statements.invoices import Line, invoice
from statements.ledger import Ledger
from statements.parties import Party
from statements.receipts import receipt
from statements.reminders import reminder

ANNA, KENJI = Party("Anna"), Party("Kenji", "JPY")


def test_invoice():
    text = invoice(ANNA, [Line("Chairs", 123_450), Line("Discount", -5)])
    assert text.splitlines()[1:] == ["Chairs: 1 234.50 EUR", "Discount: -0.05 EUR", "Total: 1 234.45 EUR"]


def test_invoice_in_yen():
    assert invoice(KENJI, [Line("Tea", 980)]).endswith("Total: 980 JPY")


def test_reminder():
    assert reminder(ANNA, 2_550, 3).endswith("25.50 EUR are open since 3 days.")


def test_reminder_in_yen():
    assert reminder(KENJI, 12_000, 14).endswith("With the fee: 12 500 JPY")


def test_receipt_with_thousands():
    assert receipt(ANNA, 123_450, 123_450) == "Received from Anna: 1 234.50 EUR"


def test_receipt_with_rest():
    assert receipt(ANNA, 300, 250).endswith("Open: -0.50 EUR")


def test_ledger():
    ledger = Ledger()
    ledger.charge(KENJI, [Line("Tea", 1_980)])
    ledger.charge(ANNA, [Line("Chairs", 250)])
    assert ledger.pay(ANNA, 300) == -50
    assert ledger.page() == "Anna: -0.50 EUR\nKenji: 1 980 JPY"
