"""Reservations: who waits for a book, first come, first served."""

from __future__ import annotations

from library.errors import LibraryError

MOST_WAITING = 4


class Queue:
    """Members that wait for one book, by number."""

    def __init__(self, members: list[int] | None = None) -> None:
        """A queue with some members, or an empty one."""
        self.members = [] if members is None else members

    def join(self, member: int) -> int:
        """Put a member at the end and return the place, from 1.

        Raises LibraryError the second time, or where MOST_WAITING wait.
        """
        if member in self.members:
            raise LibraryError(f"member {member} waits already")
        if len(self.members) >= MOST_WAITING:
            raise LibraryError("too many wait for this book")
        self.members.append(member)
        return len(self.members)

    def next(self) -> int | None:
        """Take the first member out; None if nobody waits."""
        return self.members.pop(0) if self.members else None
