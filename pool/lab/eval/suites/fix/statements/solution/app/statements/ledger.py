"""A ledger: what each party owes."""

from __future__ import annotations

from statements.invoices import Line, total
from statements.money import format_amount
from statements.parties import Party


class Ledger:
    """Amounts by party, in the smallest units of its currency."""

    def __init__(self) -> None:
        """An empty ledger."""
        self.owed: dict[Party, int] = {}

    def charge(self, party: Party, lines: list[Line]) -> None:
        """Owe the total of some lines more."""
        self.owed[party] = self.owed.get(party, 0) + total(lines)

    def pay(self, party: Party, minor: int) -> int:
        """Owe less, and return what is left; below nothing is money to give back."""
        self.owed[party] = self.owed.get(party, 0) - minor
        return self.owed[party]

    def page(self) -> str:
        """All parties that owe something, in the order of their names."""
        rows = [
            f"{party.name}: {format_amount(minor, party.currency)}"
            for party, minor in sorted(self.owed.items(), key=lambda pair: pair[0].name)
            if minor
        ]
        return "\n".join(rows)
