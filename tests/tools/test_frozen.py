"""`frozen` makes what `dataclass(frozen=True, slots=True)` makes."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any, ClassVar

import pytest

from pool_tools.frozen import OFTEN, frozen


@frozen
class Point:
    """With what fields can have."""

    kind: ClassVar[str] = "point"
    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list[str])
    secret: str = field(default="", repr=False)
    size: int = field(init=False, default=7)


@frozen
class Named(Point):
    """A subclass."""

    name: str = "n"


@frozen
class Many(Point):
    """A class that nothing else makes."""


@frozen
class Nothing:
    """No field."""


@frozen
class One:
    """One field, checked."""

    x: int

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is negative")


@dataclass(frozen=True, slots=True)
class Standard:
    """The same by the standard library."""

    x: int
    y: int = 2
    secret: str = field(default="", repr=False)


@frozen
class Ours:
    """`Standard`, by `frozen`."""

    x: int
    y: int = 2
    secret: str = field(default="", repr=False)


def test_many_objects_are_made_as_the_first_one() -> None:
    """Also once the class has an `__init__` of its own."""
    for _ in range(OFTEN + 2):
        first, second = Many(1), Many(1, 3, tags=["a"])
        assert (first.x, first.y, first.tags, first.size) == (1, 2, [], 7)
        assert (second.x, second.y, second.tags, second.size) == (1, 3, ["a"], 7)
        with pytest.raises(ValueError, match="negative"):
            One(-1)
    assert "Many.__init__" in repr(Many.__init__)


def test_values_are_taken_by_place_and_name_with_their_defaults() -> None:
    point = Point(1, tags=["a"])
    assert (point.x, point.y, point.tags, point.secret, point.size, point.kind) == (1, 2, ["a"], "", 7, "point")
    assert Point(1).tags is not Point(1).tags
    assert Named(1, 3, name="m").name == "m"
    assert [one.name for one in fields(Named)] == ["x", "y", "tags", "secret", "size", "name"]
    assert not hasattr(point, "__dict__")


@pytest.mark.parametrize("wrong", [{}, {"x": 1, "z": 2}, {"x": 1, "size": 2}], ids=str)
def test_wrong_values_are_refused(wrong: dict[str, Any]) -> None:
    for _ in range(2):
        with pytest.raises(TypeError):
            Point(**wrong)


def test_nothing_changes() -> None:
    point: Any = Point(1)
    with pytest.raises(FrozenInstanceError):
        point.x = 2
    with pytest.raises(FrozenInstanceError):
        point.other = 2
    with pytest.raises(FrozenInstanceError):
        del point.x
    assert replace(point, x=2).x == 2


def test_equal_hashed_and_shown_as_the_standard_librarys() -> None:
    takes: list[tuple[Any, ...]] = [(1,), (1, 3), (1, 2, "s")]
    for given in takes:
        assert repr(Ours(*given)).removeprefix("Ours") == repr(Standard(*given)).removeprefix("Standard")
        assert hash(Ours(*given)) == hash(Standard(*given))
        assert asdict(Ours(*given)) == asdict(Standard(*given))
        assert Ours(*given) == Ours(*given)
        assert Ours(*given) != Standard(*given)
    assert Ours(1) != Ours(2)
    assert Point(1) != Named(1)
    assert (Nothing() == Nothing(), hash(Nothing()), repr(Nothing())) == (True, hash(()), "Nothing()")
    with pytest.raises(TypeError):
        hash(Point(1))


def test_checked_matched_copied_and_pickled() -> None:
    with pytest.raises(ValueError, match="negative"):
        One(-1)
    match Point(1, 5):
        case Point(1, y):
            assert y == 5
        case _:
            pytest.fail("not matched")
    for value in (One(3), Named(1, tags=["t"]), Nothing()):
        assert copy.deepcopy(value) == value
        assert pickle.loads(pickle.dumps(value)) == value
