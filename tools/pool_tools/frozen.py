"""Frozen dataclasses with slots that cost a start a fraction of what the standard library's do.

`dataclass(frozen=True, slots=True)` writes and compiles six functions for each class when it is made: a third of a
millisecond on a small machine, for each of the some hundred classes of a start. Here those that are alike for all
classes are written once, and `__init__` is compiled when a class has shown that it makes many objects. What
`dataclasses` offers works: `replace`, `fields`, `asdict`, `field(default_factory=…, repr=False)`, `__post_init__`,
matching by place, pickling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")

TO_BE_MADE: Any = object()
"""Stands for a value that was not given and that the field's factory makes."""

OFTEN = 40
"""A class that makes more objects gets an `__init__` of its own: compiling one (50 µs) takes as long as 60 objects
gain by it (0.8 µs each). Most classes of a start make one or two."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """A class whose annotated names are its fields, and whose objects never change.

    Two are equal when they are of one class and their fields are equal; one can be hashed when its fields can.
    """
    own = {name for name, value in vars(cls).items() if value is not None}
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    made.__values__ = staticmethod(_values([one.name for one in fields(made)]))
    for name, function in SHARED.items():
        if name not in own:
            setattr(made, name, function)
    if "__init__" not in own:
        made.__init__ = _init_when_needed(made)
    return made


def _values(names: Sequence[str]) -> Callable[[object], Any]:
    """What gives the values of an object's fields: a tuple, or the value where there is one field."""
    return attrgetter(*names) if names else lambda _: ()


Filling = tuple[str, Callable[[object, object], None], bool, Any, Callable[[], object] | None]
"""Of a field: its name, what sets it, whether it can be given, its default (or `MISSING`), and what makes that."""


def _init_when_needed(made: Any) -> Callable[..., None]:
    plan: Sequence[Filling] = ()
    count = 0

    def __init__(self: object, *values: object, **named: object) -> None:
        nonlocal plan, count
        plan = plan or [_filling(made, one) for one in fields(made)]
        count += 1
        if count <= OFTEN and _filled(self, plan, values, named):
            if hasattr(made, "__post_init__"):
                made.__post_init__(self)
            return
        # It also says what is wrong with arguments that do not fit.
        made.__init__ = _compiled_init(made)
        made.__init__(self, *values, **named)

    return __init__


def _filling(made: Any, one: Field[Any]) -> Filling:
    factory = one.default_factory if one.default_factory is not MISSING else None
    return one.name, getattr(made, one.name).__set__, one.init, one.default, factory


def _filled(self: object, plan: Sequence[Filling], values: Sequence[object], named: dict[str, object]) -> bool:
    """Set all fields; False if the arguments do not fit."""
    by_place = by_name = 0
    for name, put, can_be_given, default, factory in plan:
        if can_be_given and by_place < len(values):
            put(self, values[by_place])
            by_place += 1
        elif can_be_given and name in named:
            put(self, named[name])
            by_name += 1
        elif factory is not None:
            put(self, factory())
        elif default is not MISSING:
            put(self, default)
        elif can_be_given:
            return False
    return by_place == len(values) and by_name == len(named)


def _compiled_init(made: Any) -> Callable[..., None]:
    """`__init__` with a parameter for each field, as `dataclass` makes it."""
    known: dict[str, Any] = {"TO_BE_MADE": TO_BE_MADE}
    parameters: list[str] = []
    lines: list[str] = []
    for one in fields(made):
        name, value = one.name, one.name
        known[f"set_{name}"] = getattr(made, name).__set__
        default = _default(one)
        if default is not MISSING:
            known[f"default_{name}"] = default
        if one.default_factory is not MISSING:
            known[f"make_{name}"] = one.default_factory
            value = f"make_{name}() if {name} is TO_BE_MADE else {name}"
        if one.init:
            parameters.append(name if default is MISSING else f"{name}=default_{name}")
        elif default is MISSING:
            continue
        else:
            value = f"make_{name}()" if one.default_factory is not MISSING else f"default_{name}"
        lines.append(f" set_{name}(self, {value})")
    if hasattr(made, "__post_init__"):
        lines.append(" self.__post_init__()")
    head = f"def __init__({', '.join(['self', *parameters])}):"
    exec("\n".join([head, *(lines or [" pass"])]), known)
    init = known["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    return init


def _default(one: Field[Any]) -> Any:
    return TO_BE_MADE if one.default_factory is not MISSING else one.default


def _repr(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _eq(self: Any, other: Any) -> bool:
    if type(self) is not type(other):
        return NotImplemented
    return self is other or self.__values__(self) == other.__values__(other)


def _hash(self: Any) -> int:
    return hash(self.__values__(self))


def _setattr(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[object]:
    return [getattr(self, one.name) for one in fields(self)]


def _setstate(self: Any, state: Sequence[object]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


SHARED: dict[str, Callable[..., object]] = {
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}
