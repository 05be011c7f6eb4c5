"""What a break of the prompt's prefix costs, in the server's work and in the user's time."""

from __future__ import annotations

from pool_tools.frozen import frozen

HIGH_SECONDS = 10.0
"""If the server will take longer to read what it has not cached, people are told before."""


@frozen
class Price:
    """Tokens that the server reads again, and the seconds of that at the measured rate, 0 if no rate is known yet."""

    tokens: int
    seconds: float

    @property
    def words(self) -> str:
        """For people."""
        time = f", some {self.seconds:.0f} s" if self.seconds >= 1 else ""
        return f"about {self.tokens:,} tokens have to be read again{time}"

    @property
    def is_high(self) -> bool:
        """Whether people are told before."""
        return self.seconds > HIGH_SECONDS
