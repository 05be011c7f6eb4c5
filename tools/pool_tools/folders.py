"""A folder of the workspace, opened to be listed or searched."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from pool_tools.api import ToolError
from pool_tools.frozen import frozen
from pool_tools.paths import Place
from pool_tools.text import visible
from pool_tools.walk import Entry, Walker, ignores, read_rules
from pool_tools.workspace import Workspace


@frozen
class Folder:
    """An open folder: its name for messages, its place, a handle that can be listed, and a walker set up for it.

    rules are the ignore rules of the workspace's top, as far as they apply.
    """

    name: str
    place: Place
    handle: int
    walker: Walker
    rules: bytes
    shown_root: str

    def entries(self) -> Iterator[Entry]:
        """Everything below that is not ignored."""
        return self.walker.walk(self.handle, self.rules if self.walker.prefix else b"")

    def shown(self, entry: Entry) -> str:
        """An entry's path for messages and further calls."""
        return self.shown_root + visible(entry.path)

    def below(self, entry: Entry) -> str:
        """An entry's path relative to this folder."""
        return entry.path[len(self.walker.prefix) + 1 :] if self.walker.prefix else entry.path

    def notes(self) -> list[str]:
        """What the walk left out."""
        skipped = ", ".join(sorted(self.walker.skipped))
        return [f"skipped, as there is no .gitignore: {skipped}; name such a folder to look into it"] if skipped else []


@contextmanager
def open_folder(workspace: Workspace, path: str) -> Generator[Folder]:
    """The folder that path leads to. Raises `ToolError` if it is none."""
    with workspace.locate(path) as place:
        name = workspace.shown(place)
        if not place.is_folder:
            what = "does not exist" if place.stat is None else "is a file, not a folder"
            raise ToolError(f"{name} {what}.")
        try:
            handle = os.open(
                place.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.folder
            )
        except OSError as error:
            raise ToolError(f"{name} cannot be listed: {error.strerror}.") from None
        try:
            path_below = "/".join(place.parts)
            rules = read_rules(place.root.handle)
            ruled = bool(rules.strip() or read_rules(handle).strip())
            if path_below and ignores(rules, path_below):
                rules = b""  # Who names an ignored folder wants to see what is in it.
            walker = Walker(path_below, skip_dependencies=not ruled)
            shown_root = "" if workspace.is_main(place.root) else f"{visible(str(place.root.path))}/"
            yield Folder(name, place, handle, walker, rules, shown_root)
        finally:
            os.close(handle)
