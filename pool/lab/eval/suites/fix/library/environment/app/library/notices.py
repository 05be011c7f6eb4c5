"""Letters to members."""

from __future__ import annotations

from library.books import Book
from library.loans import Loan
from library.members import Member
from library.money import written


def reminder(member: Member, book: Book, loan: Loan, cents: int) -> str:
    """A reminder that a book is late, with the fine if there is one."""
    lines = [f"Dear {member.name},", f"{book.title} was due on {loan.due.isoformat()}."]
    if cents:
        lines.append(f"There is a fine of {written(cents)}.")
    return "\n".join(lines)


def waiting(member: Member, book: Book) -> str:
    """News that a reserved book is there."""
    return f"Dear {member.name},\n{book.title} is there for you."
