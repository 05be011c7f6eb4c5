"""The catalogue: all books by number, and finding them."""

from __future__ import annotations

from library.books import Book
from library.errors import LibraryError, UnknownError


class Catalogue:
    """Books by ISBN."""

    def __init__(self) -> None:
        """An empty catalogue."""
        self.books: dict[str, Book] = {}

    def add(self, book: Book) -> None:
        """Take a book in. Raises LibraryError if its number is there already."""
        if book.isbn in self.books:
            raise LibraryError(f"{book.isbn} is in the catalogue already")
        self.books[book.isbn] = book

    def get(self, isbn: str) -> Book:
        """The book of that number. Raises UnknownError if there is none."""
        if isbn not in self.books:
            raise UnknownError(f"there is no book {isbn}")
        return self.books[isbn]

    def find(self, words: str) -> list[Book]:
        """Books with all words in title or author, in the order of their titles. Case does not matter."""
        wanted = words.casefold().split()
        found = [book for book in self.books.values() if all(word in _text(book) for word in wanted)]
        return sorted(found, key=lambda book: book.title.casefold())


def _text(book: Book) -> str:
    return f"{book.title} {book.author}".casefold()
