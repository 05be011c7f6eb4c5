"""Times of a start, as people read them."""

from __future__ import annotations

MINUTE_SECONDS = 60


def clock(seconds: float) -> str:
    """Seconds as 2:31, or 3.2 s below a minute."""
    return (
        f"{seconds:.1f} s"
        if seconds < MINUTE_SECONDS
        else f"{int(seconds) // MINUTE_SECONDS}:{int(seconds) % MINUTE_SECONDS:02d}"
    )
