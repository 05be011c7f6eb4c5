import pytest

from library.errors import LibraryError
from library.members import is_adult, join, make_member


def test_members_do_not_share_groups():
    first, second = make_member(1, "Ines", 40), make_member(2, "Joao", 41)
    join(first, "staff")
    join(first, "staff")
    assert first.groups == ["staff"]
    assert second.groups == []


def test_adults():
    assert is_adult(make_member(1, "Ines", 18))
    assert not is_adult(make_member(2, "Rui", 17))
    with pytest.raises(LibraryError):
        make_member(3, " ", 30)
