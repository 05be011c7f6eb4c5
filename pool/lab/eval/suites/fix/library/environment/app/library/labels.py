"""Labels for the backs of books."""

from __future__ import annotations

from library.books import Book

LABEL_LETTERS = 4


def label(book: Book) -> str:
    """The first letters of the author's last name, and the first of the title: `PERE/L`."""
    last = book.author.split()[-1] if book.author.split() else "?"
    letters = "".join(letter for letter in last if letter.isalpha())[:LABEL_LETTERS]
    return f"{letters.upper() or '?'}/{book.title[:1].upper() or '?'}"
