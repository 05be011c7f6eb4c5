"""What looks at files around an edit, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What checks found: text for the model, "" for nothing; data for programs, added to the call's."""

    text: str = ""
    data: dict[str, Any] = field(default_factory=dict[str, Any])


class EditChecks(Protocol):
    """Looks at the file that a writing call names, before it and after it."""

    async def before(self, args: Mapping[str, Any]) -> None:
        """The call is about to run."""
        ...

    async def after(self, args: Mapping[str, Any]) -> CheckReport:
        """The call has run, and went well."""
        ...
