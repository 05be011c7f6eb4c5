"""Finding a file beneath a folder by directory handles, so that no link, race or `..` leads out of it.

Each step opens one name without following links, relative to a handle; a link's target is walked in the same way. So
nothing is ever looked up by a whole path, and a link that is swapped in between two steps is refused, not followed.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from types import TracebackType

from pool_tools.api import ToolError
from pool_tools.frozen import frozen
from pool_tools.text import visible

MAX_LINKS = 40
"""Links that one path may go through, as Linux counts them."""

FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a folder is opened to walk through it: no right to list it is needed where the system has `O_PATH`."""


@frozen
class Root:
    """A folder that tools may work in: its real path, the path as given, and an open descriptor."""

    path: PurePosixPath
    given: PurePosixPath
    handle: int

    def within(self, path: PurePosixPath) -> tuple[str, ...] | None:
        """The parts of an absolute path below this root, None if it does not begin with it."""
        for prefix in (self.path, self.given):
            if path.parts[: len(prefix.parts)] == prefix.parts:
                return path.parts[len(prefix.parts) :]
        return None


class Place:
    """Where a path leads, after its links: a handle of the folder, the name in it, and what is there now.

    parts are the real names below the root; stat is None if nothing is there; missing are the folders that do not exist
    yet. Close it, or use it in a `with` block.
    """

    def __init__(
        self, root: Root, folder: int, parts: tuple[str, ...], found: os.stat_result | None, missing: int
    ) -> None:
        self.root = root
        self.folder = folder
        self.parts = parts
        self.stat = found
        self._missing = missing

    @property
    def name(self) -> str:
        """The last name, "." for the root itself."""
        return self.parts[-1] if self.parts else "."

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the folders that would have to be made before the last name."""
        return self.parts[len(self.parts) - 1 - self._missing : -1] if self._missing else ()

    @property
    def real(self) -> str:
        """The real path, for keys and for messages to people."""
        return str(self.root.path.joinpath(*self.parts))

    @property
    def relative(self) -> str:
        """The path below the root with odd characters escaped, "." for the root itself."""
        return visible("/".join(self.parts)) or "."

    @property
    def is_folder(self) -> bool:
        return self.stat is not None and stat.S_ISDIR(self.stat.st_mode)

    def __enter__(self) -> Place:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self.folder)


@frozen
class _Step:
    handle: int
    name: str


@frozen
class _Part:
    """A name still to be walked; link is the link that it comes from, "" if from the path itself."""

    name: str
    link: str = ""


def _parts(names: Iterable[str], link: str = "") -> list[_Part]:
    return [_Part(name, link) for name in names if name not in ("", ".")]


class Walk:
    """One walk from a root along parts. `roots_of` finds the root and the parts of an absolute link target."""

    def __init__(self, shown: str, roots_of: Callable[[str], tuple[Root, tuple[str, ...]] | None]) -> None:
        self._shown = shown
        self._roots_of = roots_of
        self._stack: list[_Step] = []
        self._links = 0

    def run(self, root: Root, parts: tuple[str, ...]) -> Place:
        """The place that parts lead to. Raises `ToolError` if it is outside, a circle of links or not a folder."""
        try:
            return self._run(root, parts)
        except PermissionError as error:
            raise ToolError(f"{self._shown}: no permission ({error.strerror}).") from None
        except NotADirectoryError:
            raise ToolError(f"{self._shown}: a name before the last is no folder.") from None
        except OSError as error:
            raise ToolError(f"{self._shown}: {error.strerror}.") from None
        finally:
            self._clear()

    def _run(self, root: Root, parts: tuple[str, ...]) -> Place:
        self._enter(root)
        pending = deque(_parts(parts))
        while pending:
            part = pending.popleft()
            if part.name == "..":
                self._up()
                continue
            here = self._stack[-1].handle
            try:
                found = os.stat(part.name, dir_fd=here, follow_symlinks=False)
            except FileNotFoundError:
                return self._absent(root, part, tuple(pending))
            if stat.S_ISLNK(found.st_mode):
                root, target = self._link(root, part.name, here)
                pending.extendleft(reversed(_parts(target, visible(part.name))))
            elif pending:
                self._stack.append(_Step(os.open(part.name, FOLDER_FLAGS, dir_fd=here), part.name))
            else:
                return self._place(root, (part.name,), found, 0)
        return self._folder_itself(root)

    def _folder_itself(self, root: Root) -> Place:
        """The path ended in `..`, `.` or a link to a folder on the way: step back to name it by its parent."""
        if len(self._stack) == 1:
            return Place(root, os.dup(root.handle), (), os.fstat(root.handle), 0)
        last = self._stack.pop()
        found = os.fstat(last.handle)
        os.close(last.handle)
        return self._place(root, (last.name,), found, 0)

    def _place(self, root: Root, rest: tuple[str, ...], found: os.stat_result | None, missing: int) -> Place:
        folder = os.dup(self._stack[-1].handle)
        return Place(root, folder, (*(s.name for s in self._stack[1:]), *rest), found, missing)

    def _absent(self, root: Root, part: _Part, pending: tuple[_Part, ...]) -> Place:
        if part.link:
            raise ToolError(
                f"{self._shown}: the link {part.link} points to something that does not exist. Use the real path, or "
                "mend the link in the shell."
            )
        rest = tuple(p.name for p in pending)
        if ".." in rest:
            raise ToolError(f"{self._shown}: the folder {visible(part.name)} before `..` does not exist.")
        return self._place(root, (part.name, *rest), None, len(rest))

    def _link(self, root: Root, name: str, here: int) -> tuple[Root, tuple[str, ...]]:
        self._links += 1
        if self._links > MAX_LINKS:
            raise ToolError(f"{self._shown}: links lead in a circle (at {visible(name)}).")
        target = os.readlink(name, dir_fd=here)
        if not target.startswith("/"):
            return root, tuple(target.split("/"))
        found = self._roots_of(target)
        if found is None:
            raise self._outside(f"the link {visible(name)} points to {visible(target)}")
        self._clear()
        self._enter(found[0])
        return found

    def _up(self) -> None:
        if len(self._stack) == 1:
            raise self._outside("it leads above the workspace")
        os.close(self._stack.pop().handle)

    def _outside(self, why: str) -> ToolError:
        return ToolError(
            f"{self._shown} is outside the workspace: {why}. File tools work inside it only; to look at other files, "
            "use the shell."
        )

    def _enter(self, root: Root) -> None:
        self._stack.append(_Step(os.dup(root.handle), ""))

    def _clear(self) -> None:
        for step in self._stack:
            with contextlib.suppress(OSError):
                os.close(step.handle)
        self._stack.clear()
