"""Books, and the check on their numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from library.errors import LibraryError

ISBN_DIGITS = 13


@dataclass
class Book:
    """A title of which the library has some copies."""

    isbn: str
    title: str
    author: str
    copies: int = 1
    subjects: list[str] = field(default_factory=list)


def valid_isbn(isbn: str) -> bool:
    """Whether isbn has ISBN_DIGITS digits, of which the last is the check digit of the others."""
    if len(isbn) != ISBN_DIGITS or not isbn.isdigit():
        return False
    total = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(isbn))
    return total % 10 == 0


def make_book(isbn: str, title: str, author: str, copies: int = 1) -> Book:
    """A book. Raises LibraryError for a wrong number or without a copy."""
    if not valid_isbn(isbn):
        raise LibraryError(f"{isbn!r} is no ISBN")
    if copies < 1:
        raise LibraryError(f"{title!r} needs a copy at least")
    return Book(isbn, title.strip(), author.strip(), copies)
