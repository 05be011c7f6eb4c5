import pytest

from library.books import make_book, valid_isbn
from library.catalogue import Catalogue
from library.errors import LibraryError, UnknownError
from library.rows import parse_rows
from library.storage import load, save

ROWS = ["# isbn;title;author;copies", "9780306406157; Heat ; Ana Prado; 2", "", "9783161484100;Rain;Li Wei;1"]


def test_numbers():
    assert valid_isbn("9780306406157")
    assert not valid_isbn("9780306406158")


def test_books_from_lines():
    books = parse_rows(ROWS)
    assert [(book.title, book.copies) for book in books] == [("Heat", 2), ("Rain", 1)]


def test_copies_must_be_a_number():
    with pytest.raises(LibraryError):
        parse_rows(["9780306406157;Heat;Ana Prado;many"])


def test_finding_and_keeping(tmp_path):
    catalogue = Catalogue()
    for book in parse_rows(ROWS):
        catalogue.add(book)
    save(catalogue, tmp_path / "books.json")
    again = load(tmp_path / "books.json")
    assert [book.title for book in again.find("LI wei")] == ["Rain"]
    with pytest.raises(UnknownError):
        again.get("1")


def test_damaged_file_is_an_error(tmp_path):
    path = tmp_path / "books.json"
    path.write_text('[{"isbn": ', encoding="utf-8")
    with pytest.raises(LibraryError):
        load(path)
    assert load(tmp_path / "none.json").books == {}
    assert make_book("9783161484100", "Rain", "Li Wei").copies == 1
