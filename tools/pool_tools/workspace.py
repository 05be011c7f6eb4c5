"""The folders that tools work in: finding, reading and replacing files, and the ledger of what was shown."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from pool_tools.api import ToolError
from pool_tools.atomic import make_folders, replace_file
from pool_tools.blocking import CancelFlag
from pool_tools.editorfiles import EditorFiles, as_edited, as_text
from pool_tools.frozen import frozen
from pool_tools.gitshape import belongs_to_git
from pool_tools.ledger import Ledger
from pool_tools.limits import EDITABLE_BYTES
from pool_tools.masking import NO_MASK
from pool_tools.paths import Place, Root, Walk
from pool_tools.text import size, unescape_name, visible

KERNEL_FOLDERS = ("proc", "sys", "dev")
"""Folders below / whose files are no files."""

_NO_WRITE = 0o222
_CHUNK_BYTES = 1024 * 1024

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@frozen
class Content:
    """A file read whole: its bytes and its state at that time."""

    data: bytes
    stat: os.stat_result


def stamp(found: os.stat_result) -> tuple[int, int, int]:
    """Size, mtime in ns and inode: what changes whenever a file is replaced or written."""
    return found.st_size, found.st_mtime_ns, found.st_ino


class Workspace:
    """One folder, or several, and the ledger of one agent.

    Paths of calls are relative to root or absolute inside one of the roots. Links inside are followed, links out are
    refused. Raises `ToolError` for what the model can mend. Close it to give the handles back.
    """

    def __init__(self, root: Path, extra_roots: Sequence[Path] = ()) -> None:
        self._roots = tuple(_open_root(path) for path in (root, *extra_roots))
        self._owned = True
        self.ledger = Ledger()
        self.mask = NO_MASK
        """What is kept out of all that is shown of files."""
        self.editor: EditorFiles | None = None
        """Has files of the workspace open, perhaps unsaved: they are read there, and changed there."""

    @property
    def root(self) -> Path:
        """Real path of the main folder: where relative paths begin and commands run."""
        return Path(self._roots[0].path)

    @property
    def roots(self) -> tuple[Path, ...]:
        """Real paths of all folders."""
        return tuple(Path(r.path) for r in self._roots)

    def for_agent(self) -> Workspace:
        """The same folders for another agent, with an empty ledger. Only the original closes the handles."""
        other = object.__new__(Workspace)
        other._roots = self._roots
        other._owned = False
        other.ledger = Ledger()
        other.mask = self.mask
        other.editor = self.editor
        return other

    def close(self) -> None:
        if self._owned:
            self._owned = False
            for root in self._roots:
                os.close(root.handle)

    def check(self, root: Root | None = None) -> None:
        """Raise `ToolError` if root, by default the main folder, is gone or another folder has taken its place."""
        root = root or self._roots[0]
        try:
            there = os.path.samestat(os.stat(root.path), os.fstat(root.handle))
        except (FileNotFoundError, NotADirectoryError):
            raise ToolError(
                f"The workspace folder {visible(str(root.path))} no longer exists: it was removed or renamed. Tell the "
                "user; nothing can be done in it."
            ) from None
        except OSError:
            return
        if not there:
            raise ToolError(
                f"The workspace folder {visible(str(root.path))} no longer exists: another folder has taken its place. "
                "Tell the user to start again in the new one."
            )

    # -- finding

    def locate(self, path: str) -> Place:
        """Where path leads; the place may be empty. Close it after use."""
        shown = visible(path)
        if not path.strip():
            raise ToolError("`path` is empty. Name a file relative to the workspace.")
        if shown != path:
            raise ToolError(f"`path` holds control characters: {shown}. Use plain names.")
        place = self._walk(path, shown)
        if place.stat is None and "\\x" in path:
            place = self._unescaped(place, path, shown)
        if str(place.root.path) == "/" and place.parts[:1] and place.parts[0] in KERNEL_FOLDERS:
            with place:
                raise ToolError(f"{shown} belongs to the kernel, not to the workspace. Use the shell to look at it.")
        return place

    def is_main(self, root: Root) -> bool:
        """Whether root is the main folder, to which shown paths are relative."""
        return root is self._roots[0]

    def shown(self, place: Place) -> str:
        """How messages name a place: relative to the main folder, absolute in another one."""
        return place.relative if self.is_main(place.root) else visible(place.real)

    def _walk(self, path: str, shown: str) -> Place:
        if path.startswith("/"):
            found = self._root_of(path)
            if found is None:
                raise ToolError(
                    f"{shown} is outside the workspace {visible(str(self.root))}. File tools work inside it only; to "
                    "look at other files, use the shell."
                )
        elif path == "~" or path.startswith("~/"):
            raise ToolError("`~` is not replaced by a home folder. Use a path relative to the workspace.")
        else:
            found = self._roots[0], tuple(path.split("/"))
        self.check(found[0])
        return Walk(shown, self._root_of).run(*found)

    def _unescaped(self, place: Place, path: str, shown: str) -> Place:
        """Names with odd bytes are shown with escapes; taken literally first, then as what they stand for."""
        real_name = unescape_name(path)
        if "\0" in real_name:
            return place
        other = self._walk(real_name, shown)
        chosen, unused = (place, other) if other.stat is None else (other, place)
        os.close(unused.folder)
        return chosen

    def _root_of(self, path: str) -> tuple[Root, tuple[str, ...]] | None:
        absolute = PurePosixPath("/" + path.lstrip("/"))
        matches = [(root, parts) for root in self._roots if (parts := root.within(absolute)) is not None]
        return min(matches, key=lambda match: len(match[1]), default=None)

    # -- reading

    def open_file(self, place: Place) -> tuple[int, os.stat_result]:
        """A descriptor for reading a regular file, and its state. Refuses folders, pipes and devices at once."""
        name = self.shown(place)
        if place.stat is None:
            raise ToolError(f"{name} does not exist.{self._near(place)}")
        require_regular(name, place.stat)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        try:
            handle = os.open(place.name, flags, dir_fd=place.folder)
        except OSError as error:
            raise ToolError(f"{name} cannot be read: {error.strerror}.") from None
        found = os.fstat(handle)
        try:
            require_regular(name, found)
        except ToolError:
            os.close(handle)
            raise
        return handle, found

    def read(self, place: Place, limit: int = EDITABLE_BYTES) -> Content:
        """All of a regular file of at most limit bytes, as the editor has it where there is one."""
        content = self._on_disk(place, limit)
        if self.editor is None:
            return content
        return Content(as_edited(content.data, self.editor.read(place.real)), content.stat)

    def _on_disk(self, place: Place, limit: int = EDITABLE_BYTES) -> Content:
        handle, found = self.open_file(place)
        try:
            chunks: list[bytes] = []
            total = 0
            while chunk := os.read(handle, _CHUNK_BYTES):
                total += len(chunk)
                if total > limit:
                    raise ToolError(
                        f"{self.shown(place)} is larger than {size(limit)}, too large to be changed by this tool. Use "
                        "the shell (sed, a script) for it."
                    )
                chunks.append(chunk)
            return Content(b"".join(chunks), found)
        finally:
            os.close(handle)

    def _near(self, place: Place) -> str:
        """Names like the missing one, in the folder where it should be."""
        if place.missing:
            return f" Neither does its folder {visible('/'.join(place.parts[:-1]))}."
        from difflib import get_close_matches

        try:
            handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.folder)
        except OSError:
            return ""
        try:
            names = os.listdir(handle)
        finally:
            os.close(handle)
        folder = "/".join(place.parts[:-1])
        near = get_close_matches(place.name, names[:_NEAR_NAMES])
        shown = ", ".join(visible(f"{folder}/{name}" if folder else name) for name in near)
        return f" There is: {shown}." if shown else ""

    # -- writing

    def check_writable(self, place: Place) -> None:
        """Raise `ToolError` if the place may not be written: git's own files, folders, write-protected files."""
        name = self.shown(place)
        if belongs_to_git(place.root.handle, place.parts):
            raise ToolError(f"{name} belongs to git and is not changed by file tools. Use git in the shell.")
        if place.stat is None:
            return
        require_regular(name, place.stat)
        if not place.stat.st_mode & _NO_WRITE:
            mode = stat.S_IMODE(place.stat.st_mode)
            raise ToolError(f"{name} is write-protected (mode {mode:04o}). If it is meant to change, chmod it first.")

    def replace(self, place: Place, data: bytes, before: os.stat_result | None, flag: CancelFlag) -> os.stat_result:
        """Put data where place leads, making missing folders; the one commit point of writing tools.

        before is the state of the file when its old content was read, None for a new file; a file that was changed,
        made or removed since is not replaced.
        """
        name = self.shown(place)
        try:
            folder = make_folders(place.folder, place.missing)
            try:
                self._check_unchanged(folder, place.name, name, before)
                if (now := self._by_editor(place, folder, data, before, flag)) is not None:
                    return now
                return replace_file(folder, place.name, data, before, flag)
            finally:
                os.close(folder)
        except OSError as error:
            remedy = _REMEDIES.get(error.errno or 0, "")
            raise ToolError(f"{name} cannot be written: {error.strerror}. Nothing was changed.{remedy}") from None

    def _by_editor(
        self, place: Place, folder: int, data: bytes, before: os.stat_result | None, flag: CancelFlag
    ) -> os.stat_result | None:
        """Let the editor change and save a file; its state then. None: it is to be written to disk here.

        An editor that only changes what it shows leaves the disk to us, so that commands see the same.
        """
        text = as_text(data)
        if self.editor is None or text is None:
            return None
        flag.check()
        refused = self.editor.write(place.real, text)
        if refused and self._is_unsaved(place):
            raise ToolError(
                f"{self.shown(place)} has unsaved changes in the editor, which does not take this one: {refused}. "
                "Nothing was changed. Tell the user."
            )
        try:
            now = os.stat(place.name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return None if refused is None or refused or (before and stamp(now) == stamp(before)) else now

    def _is_unsaved(self, place: Place) -> bool:
        if self.editor is None or place.stat is None:
            return False
        data = self._on_disk(place).data
        return as_edited(data, self.editor.read(place.real)) != data

    def save_unsaved(self, path: str) -> None:
        """Let the editor save what it has of a file, so that what a person wrote there is on disk before a call."""
        if self.editor is None:
            return
        with self.locate(path) as place:
            if place.stat is None or not stat.S_ISREG(place.stat.st_mode):
                return
            data = self._on_disk(place).data
            shown = as_edited(data, self.editor.read(place.real))
            if shown != data and (text := as_text(shown)) is not None:
                self.editor.write(place.real, text)

    @staticmethod
    def _check_unchanged(folder: int, name: str, shown: str, before: os.stat_result | None) -> None:
        try:
            now = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            now = None
        if (now and stamp(now)) != (before and stamp(before)):
            raise ToolError(f"{shown} was changed by something else at this moment. Read it and try again.")


_NEAR_NAMES = 2_000
_REMEDIES = {
    errno.ENOSPC: " The disk is full: free some space.",
    errno.EACCES: " The folder does not permit it.",
    errno.EPERM: " The folder does not permit it.",
    errno.EROFS: " The file system is read-only.",
    errno.ENAMETOOLONG: " Use a shorter name.",
}


def require_regular(name: str, found: os.stat_result) -> None:
    """Raise `ToolError` unless found is a regular file."""
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no regular file")
        remedy = " Use `list` to see what is in it." if stat.S_ISDIR(found.st_mode) else ""
        raise ToolError(f"{name} is {kind}, not a file.{remedy}")


def _open_root(path: Path) -> Root:
    real = Path(os.path.realpath(path))
    handle = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return Root(PurePosixPath(real), PurePosixPath(os.path.abspath(path)), handle)
