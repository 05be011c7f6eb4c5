"""The desk: lending books and taking them back."""

from __future__ import annotations

from datetime import date

from library.accounts import Account
from library.catalogue import Catalogue
from library.errors import LibraryError, UnknownError
from library.fines import fine
from library.limits import may_borrow, may_extend
from library.loans import LOAN_DAYS, Loan, days_late, due_day
from library.members import Member
from library.reservations import Queue


class Desk:
    """Everything that happens between books and members."""

    def __init__(self, catalogue: Catalogue) -> None:
        """A desk with books and without members."""
        self.catalogue = catalogue
        self.members: dict[int, Member] = {}
        self.accounts: dict[int, Account] = {}
        self.queues: dict[str, Queue] = {}
        self.loans: list[Loan] = []

    def register(self, member: Member) -> None:
        """Let someone borrow. Raises LibraryError if the number is taken."""
        if member.number in self.members:
            raise LibraryError(f"there is a member {member.number} already")
        self.members[member.number] = member
        self.accounts[member.number] = Account()

    def member(self, number: int) -> Member:
        """The member of that number. Raises UnknownError if there is none."""
        try:
            return self.members[number]
        except KeyError as error:
            raise UnknownError(f"there is no member {number}") from error

    def out(self, isbn: str) -> int:
        """How many copies of a book are lent."""
        return sum(loan.isbn == isbn and loan.back is None for loan in self.loans)

    def lend(self, isbn: str, number: int, today: date) -> Loan:
        """Give a copy to a member. Raises LibraryError if none is left, or the member has too many."""
        book, member = self.catalogue.get(isbn), self.member(number)
        if self.out(isbn) >= book.copies:
            raise LibraryError(f"all copies of {book.title} are out")
        if not may_borrow(member, sum(loan.member == number and loan.back is None for loan in self.loans)):
            raise LibraryError(f"{member.name} has too many books")
        loan = Loan(isbn, number, today, due_day(today))
        self.loans.append(loan)
        return loan

    def extend(self, loan: Loan, today: date) -> None:
        """Give a loan more time from today. Raises LibraryError if it was extended too often, or someone waits."""
        if not may_extend(loan) or self.queue(loan.isbn).members:
            raise LibraryError("this loan cannot be extended")
        loan.due, loan.extended = due_day(today, LOAN_DAYS), loan.extended + 1

    def take_back(self, loan: Loan, today: date) -> int:
        """Take a copy back, charge what it costs, and return that in cents."""
        loan.back = today
        cents = fine(days_late(loan, today), self.member(loan.member))
        self.accounts[loan.member].charge(cents)
        return cents

    def queue(self, isbn: str) -> Queue:
        """Who waits for a book."""
        if isbn not in self.queues:
            self.queues[isbn] = Queue()
        return self.queues[isbn]
