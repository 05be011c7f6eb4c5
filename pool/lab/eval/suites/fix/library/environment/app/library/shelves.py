"""Where books stand: shelves hold a number of books each, and are counted from 1."""

from __future__ import annotations

from collections.abc import Sequence

from library.books import Book

BOOKS_A_SHELF = 30


def in_order(books: Sequence[Book]) -> list[Book]:
    """Books as they stand: by author, then by title."""
    return sorted(books, key=lambda book: (book.author.casefold(), book.title.casefold()))


def shelf(books: Sequence[Book], number: int, size: int = BOOKS_A_SHELF) -> list[Book]:
    """What stands on a shelf; shelf number 1 is the first one."""
    start = number * size
    return in_order(books)[start : start + size]


def shelves_needed(books: int, size: int = BOOKS_A_SHELF) -> int:
    """How many shelves so many books fill; the last one may be short, but never empty."""
    return (books + size - 1) // size
