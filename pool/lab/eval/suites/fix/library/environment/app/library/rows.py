"""Books from lines of text: `isbn;title;author;copies`."""

from __future__ import annotations

from collections.abc import Iterable

from library.books import Book, make_book
from library.errors import LibraryError

FIELDS = 4


def parse_copies(text: str) -> int:
    """A number of copies. Raises LibraryError if text is no whole number."""
    try:
        return int(text)
    except ValueError:
        return 1


def parse_row(line: str) -> Book:
    """A book from a line. Raises LibraryError for a line with another number of fields than FIELDS."""
    fields = [part.strip() for part in line.split(";")]
    if len(fields) != FIELDS:
        raise LibraryError(f"{line!r} has {len(fields)} fields, not {FIELDS}")
    isbn, title, author, copies = fields
    return make_book(isbn, title, author, parse_copies(copies))


def parse_rows(lines: Iterable[str]) -> list[Book]:
    """Books from lines; empty ones and those that begin with # are left out."""
    kept = (line.strip() for line in lines)
    return [parse_row(line) for line in kept if line and not line.startswith("#")]
