from datetime import date

import pytest

from library.books import make_book
from library.catalogue import Catalogue
from library.desk import Desk
from library.errors import LibraryError
from library.members import make_member
from library.reservations import Queue

MONDAY = date(2031, 5, 5)


def desk():
    catalogue = Catalogue()
    catalogue.add(make_book("9780306406157", "Heat", "Ana Prado"))
    catalogue.add(make_book("9783161484100", "Rain", "Li Wei", 2))
    place = Desk(catalogue)
    place.register(make_member(1, "Ines", 40, []))
    place.register(make_member(2, "Rui", 12, []))
    return place


def test_lending():
    place = desk()
    loan = place.lend("9780306406157", 1, MONDAY)
    assert loan.due == date(2031, 5, 26)
    with pytest.raises(LibraryError):
        place.lend("9780306406157", 2, MONDAY)


def test_back_within_grace_costs_nothing():
    place = desk()
    loan = place.lend("9780306406157", 1, MONDAY)
    assert place.take_back(loan, date(2031, 5, 29)) == 0
    assert place.accounts[1].cents == 0


def test_queues_are_apart():
    place = desk()
    assert place.queue("9780306406157").join(2) == 1
    assert place.queue("9783161484100").members == []


def test_queue_is_first_come_first_served():
    queue = Queue([5])
    queue.join(6)
    assert [queue.next(), queue.next(), queue.next()] == [5, 6, None]
