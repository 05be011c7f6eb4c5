"""What members owe."""

from __future__ import annotations

from library.errors import LibraryError


class Account:
    """A member's debts, in cents."""

    def __init__(self) -> None:
        """Nothing is owed."""
        self.cents = 0

    def charge(self, cents: int) -> None:
        """Owe more. Raises LibraryError for less than nothing."""
        if cents < 0:
            raise LibraryError(f"{cents} cents cannot be charged")
        self.cents += cents

    def pay(self, cents: int) -> int:
        """Pay a part or all of it and return what is left. Raises LibraryError for more than is owed."""
        if cents < 0 or cents > self.cents:
            raise LibraryError(f"{self.cents} cents are owed, not {cents}")
        self.cents -= cents
        return self.cents
