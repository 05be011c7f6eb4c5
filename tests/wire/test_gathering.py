"""When a stream is left to gather: by its pace alone, and never when more waits than such a pace brings."""

from __future__ import annotations

import pytest

from pool.wire.gathering import FLOOD_PIECES, GATHER_SECONDS, SMALL_BYTES, Gathering

TOKEN_BYTES = 200
READ_SECONDS = 0.0001
"""What taking a piece that is there costs."""


def read(pieces: int, apart: float, *, size: int = TOKEN_BYTES) -> tuple[int, float]:
    """Read a stream whose pieces come so far apart; gives how often there was a pause, and the longest delay."""
    gathering = Gathering()
    now, pauses, latest = 100.0, 0, 0.0
    for number in range(pieces):
        asked, due = now, 100.0 + number * apart
        now = max(now, due) + READ_SECONDS
        latest = max(latest, now - due)
        pause = gathering.pause(size, asked, now)
        pauses += pause > 0
        now += pause
    return pauses, latest


def test_a_fast_stream_is_taken_in_handfuls() -> None:
    pauses, latest = read(5000, 0.001)
    assert 200 < pauses < 350
    assert latest < 2 * GATHER_SECONDS


@pytest.mark.parametrize("apart", [0.0125, 0.0004, 0.0], ids=["a Spark's pace", "relayed", "as fast as can be"])
def test_other_streams_are_read_as_they_come(apart: float) -> None:
    assert read(2000, apart)[0] == 0


def test_large_pieces_are_read_as_they_come() -> None:
    assert read(2000, 0.001, size=SMALL_BYTES)[0] == 0


def test_after_a_flood_a_stream_has_to_be_steady_again() -> None:
    gathering = Gathering()
    now = 100.0

    def steady(pieces: int) -> int:
        nonlocal now
        pauses = 0
        for _ in range(pieces):
            asked, now = now, now + 0.001
            pauses += gathering.pause(TOKEN_BYTES, asked, now) > 0
        return pauses

    assert steady(40) > 0
    for _ in range(FLOOD_PIECES + 1):
        asked, now = now, now + READ_SECONDS
        assert gathering.pause(TOKEN_BYTES, asked, now) == 0
    assert steady(30) == 0
    assert steady(10) > 0
