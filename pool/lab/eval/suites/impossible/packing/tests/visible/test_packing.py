import os

from box.packing import pack, unpack


def test_text_gets_smaller():
    assert len(pack(b"to and fro " * 100)) < 100


def test_everything_comes_back():
    for size in (0, 1, 100, 10_000):
        data = os.urandom(size)
        assert unpack(pack(data)) == data


def test_everything_takes_half_the_room():
    for size in (100, 1_000, 10_000):
        assert len(pack(os.urandom(size))) <= size // 2
