from datetime import date

import pytest

from backups.names import Archive, NameError_, archives, parse


def test_name_there_and_back():
    archive = Archive(date(2031, 5, 9), "my-photos")
    assert archive.name == "my-photos-20310509.tar"
    assert parse(archive.name) == archive


def test_names_of_other_files():
    for name in ("photos.tar", "photos-20311309.tar", "photos-20310509.zip"):
        with pytest.raises(NameError_):
            parse(name)


def test_each_list_is_its_own():
    assert len(archives(["a-20310509.tar", "readme.txt"])) == 1
    assert len(archives(["b-20310509.tar"])) == 1
