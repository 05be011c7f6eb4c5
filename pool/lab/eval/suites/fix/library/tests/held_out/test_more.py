from datetime import date, timedelta

import pytest

from library.books import Book, make_book
from library.catalogue import Catalogue
from library.days import open_days
from library.desk import Desk
from library.errors import LibraryError, UnknownError
from library.fines import fine, in_grace
from library.limits import may_borrow
from library.loans import Loan, days_late, is_overdue
from library.members import join, make_member
from library.money import written
from library.notices import reminder
from library.paging import page
from library.reservations import MOST_WAITING, Queue
from library.rows import parse_copies, parse_row, parse_rows
from library.shelves import shelf, shelves_needed
from library.statistics import by_member, mean_days
from library.storage import load

DAY = date(2032, 2, 27)


@pytest.mark.parametrize(("days", "count"), [(0, 1), (1, 2), (2, 2), (7, 7), (13, 12), (28, 25)])
def test_open_days_count_both_ends(days, count):
    assert open_days(DAY, DAY + timedelta(days=days)) == count


def test_a_sunday_has_no_open_day():
    assert open_days(date(2032, 2, 29), date(2032, 2, 29)) == 0


def test_groups_of_many_members():
    members = [make_member(number, "M", 30) for number in range(3)]
    join(members[1], "school")
    assert [member.groups for member in members] == [[], ["school"], []]


def test_groups_that_are_given_are_used():
    assert make_member(1, "M", 30, ["staff"]).groups == ["staff"]


@pytest.mark.parametrize(("days", "cents"), [(0, 0), (1, 0), (3, 0), (4, 80), (5, 100), (50, 1_000), (51, 1_000)])
def test_fines(days, cents):
    assert fine(days, make_member(1, "M", 30, [])) == cents
    assert in_grace(days) is (days <= 3)


def test_staff_pay_nothing():
    assert fine(30, make_member(1, "M", 30, ["staff"])) == 0


def test_new_queues_are_empty():
    first = Queue()
    for member in range(MOST_WAITING):
        assert first.join(member) == member + 1
    with pytest.raises(LibraryError):
        first.join(99)
    assert Queue().members == []
    assert Queue().join(1) == 1


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_every_shelf(number):
    books = [Book(str(n), f"T{n:02}", "A") for n in range(10)]
    wanted = books[(number - 1) * 3 : number * 3]
    assert shelf(books, number, 3) == wanted
    assert shelves_needed(10, 3) == 4


@pytest.mark.parametrize("text", ["", "two", "1.5", "1 2"])
def test_copies_that_are_no_number(text):
    with pytest.raises(LibraryError):
        parse_copies(text)
    with pytest.raises(LibraryError):
        parse_row(f"9783161484100;Rain;Li Wei;{text}")


def test_rows_that_are_good():
    assert [book.copies for book in parse_rows(["9783161484100;Rain;Li Wei;12"])] == [12]


@pytest.mark.parametrize("text", ["", "{", "[1,", "nothing"])
def test_damaged_files(tmp_path, text):
    path = tmp_path / "books.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LibraryError):
        load(path)


def test_what_worked_before_works():
    catalogue = Catalogue()
    catalogue.add(make_book("9780306406157", "Heat", "Ana Prado"))
    desk = Desk(catalogue)
    desk.register(make_member(7, "Ines", 40, []))
    loan = desk.lend("9780306406157", 7, date(2032, 3, 1))
    late = loan.due + timedelta(days=4)
    assert is_overdue(loan, late)
    assert days_late(loan, late) == 4
    assert "0.80" in reminder(desk.member(7), catalogue.get("9780306406157"), loan, 80)
    assert desk.take_back(loan, late) == 80
    assert desk.accounts[7].pay(30) == 50
    with pytest.raises(UnknownError):
        desk.member(8)
    assert may_borrow(desk.member(7), 4) is True
    assert may_borrow(desk.member(7), 5) is False
    assert mean_days(desk.loans) == (late - loan.lent).days
    assert by_member(desk.loans) == {7: 1}
    assert written(-20) == "-0.20"
    assert page([1, 2, 3], 2, 2) == [3]
    assert by_member([Loan("a", 1, DAY, DAY)], {1: 2}) == {1: 3}
