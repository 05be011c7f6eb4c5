"""What git would ignore: `.gitignore` files by folder, and rules from outside of the work tree. Tracked files aside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pool_tools.frozen import frozen

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".gitignore"

NEVER_KEPT = frozenset(
    "node_modules bower_components __pycache__ .venv venv .tox .nox .mypy_cache .pytest_cache .ruff_cache .hypothesis"
    " .gradle .terraform .hg .svn .jj".split()
)
"""Folders that programs fill, left out where nothing in them is tracked, whether or not an ignore file says so."""


@frozen
class Rules:
    """The rules that hold in one folder, outermost first. base is the path that a rule's paths begin below."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def more(self, base: str, text: bytes) -> Rules:
        """With the rules of an ignore file at base ("" or a path that ends in `/`)."""
        if not text.strip():
            return self
        from pathspec import GitIgnoreSpec

        lines = text.decode("utf-8", "surrogateescape").splitlines()
        return Rules((*self.specs, (base, GitIgnoreSpec.from_lines(lines))))

    def ignore(self, path: str, *, folder: bool) -> bool:
        """Whether path is ignored: what the deepest rules say that say anything."""
        for base, spec in reversed(self.specs):
            if not path.startswith(base):
                continue
            below = path[len(base) :]
            verdict = spec.check_file(below + "/" if folder else below).include
            if verdict is not None:
                return verdict
        return False
