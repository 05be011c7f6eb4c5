"""Members, and the groups that they belong to."""

from __future__ import annotations

from dataclasses import dataclass

from library.errors import LibraryError

ADULT_AGE = 18


@dataclass
class Member:
    """Someone who borrows. groups are names such as `school` or `staff`."""

    number: int
    name: str
    age: int
    groups: list[str]


def make_member(number: int, name: str, age: int, groups: list[str] = []) -> Member:
    """A member. Raises LibraryError without a name, or for an age that cannot be."""
    if not name.strip():
        raise LibraryError("a member needs a name")
    if not 0 <= age <= 130:
        raise LibraryError(f"nobody is {age} years old")
    return Member(number, name.strip(), age, groups)


def is_adult(member: Member) -> bool:
    """Whether a member is ADULT_AGE or older."""
    return member.age >= ADULT_AGE


def join(member: Member, group: str) -> None:
    """Put a member into a group; a second time changes nothing."""
    if group not in member.groups:
        member.groups.append(group)
