"""Names of guests, cleaned."""

from __future__ import annotations

from collections.abc import Iterable


def clean(name: str) -> str:
    """A name with single blanks, and none around it."""
    return " ".join(name.split())


def guests(names: Iterable[str]) -> list[str]:
    """Names, cleaned, each once."""
    return list(dict.fromkeys(clean(name) for name in names))
