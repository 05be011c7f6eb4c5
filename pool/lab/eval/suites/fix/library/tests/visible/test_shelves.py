from library.books import Book
from library.labels import label
from library.paging import page
from library.shelves import shelf, shelves_needed
from library.statistics import most_borrowed
from library.loans import Loan
from datetime import date

BOOKS = [Book(str(number), f"Title {number}", f"Author {number}") for number in range(1, 8)]


def test_first_shelf():
    assert [book.isbn for book in shelf(BOOKS, 1, size=3)] == ["1", "2", "3"]
    assert [book.isbn for book in shelf(BOOKS, 3, size=3)] == ["7"]
    assert shelves_needed(7, 3) == 3
    assert shelves_needed(6, 3) == 2


def test_labels():
    assert label(Book("1", "Lisbon", "Ana Pereira")) == "PERE/L"


def test_pages():
    assert page(BOOKS, 2, size=5) == BOOKS[5:]


def test_most_borrowed():
    day = date(2031, 5, 5)
    loans = [Loan(isbn, 1, day, day) for isbn in ("b", "a", "b", "c", "a")]
    assert most_borrowed(loans, 2) == ["a", "b"]
