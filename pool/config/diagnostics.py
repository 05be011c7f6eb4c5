"""Diagnostics after edits as they are configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pool_tools.frozen import frozen

if TYPE_CHECKING:
    from pool.config.checkers import CheckCommand, LanguageServer

AUTO = "auto"
BUILT_IN = ("ruff", "pyright", "tsc", "cargo", "go")
"""Checkers that Pool knows. `auto` stands for those that are quick, run nothing of the project and fit it."""


@frozen
class DiagnosticsSettings:
    """tools are names of `BUILT_IN`, or `auto`. seconds: how much longer an edit may take for all of them together.

    most: how many new problems the model is told after one edit.
    """

    tools: tuple[str, ...] = (AUTO,)
    commands: tuple[CheckCommand, ...] = ()
    servers: tuple[LanguageServer, ...] = ()
    seconds: float = 5.0
    most: int = 10

    @property
    def used(self) -> bool:
        """Whether anything is to be checked at all."""
        return bool(self.tools or self.commands or self.servers)

    @property
    def named(self) -> bool:
        """Whether somebody has named a checker, so that it is said where none can run."""
        return any(tool != AUTO for tool in self.tools) or bool(self.commands or self.servers)
