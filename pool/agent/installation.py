"""Pool's own files may be replaced while a session runs: it is said, and old and new code never mix in one process.

A session imports much only when it is needed. After an upgrade such an import would find the new version, which need
not fit what is loaded. So the sources that may still be needed are kept in memory once a session has lived for a while,
and from the moment the files differ, modules of Pool come from there. Where that is too early, or a part was left out,
the import fails with a message that says what to do. Packages of others, data files and new processes are not covered.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from pool import __version__
from pool.events import Notice

PACKAGES = ("pool", "pool_tools", "pool_themes")

KEEP_AFTER_SECONDS = 20.0
"""Short runs keep nothing: reading the sources takes some 30 ms of a core, and they 3 MB of memory."""

LEFT_OUT = frozenset({"pool.cli", "pool.lab", "pool.sim"})
"""Parts that a session does not come to need: they are commands of their own."""

FACES = frozenset({"pool.acp", "pool.headless", "pool.repl", "pool.tui"})
"""Of these only the ones that are loaded are kept."""

RESTART = "this session goes on with the version that it was started with; start pool again for the new one"

_VERSION = re.compile(r'^__version__ = "([^"]+)"', re.MULTILINE)
_Stamp = tuple[int, int, int, int] | None


class InstallationChanged(ImportError):
    """A part of Pool that was not loaded is needed after Pool's files were replaced. The message says what to do."""


class Installation:
    """The files of Pool as this process found them first; also a finder of modules, as `sys.meta_path` has them.

    folders are those of our packages by their names.
    """

    def __init__(self, folders: Mapping[str, Path], main: Path, version: str) -> None:
        """main is a file that every version changes; version is the one that runs."""
        self.version = version
        self._folders = folders
        self._main = main
        self._stamp = _stamp(main)
        self._kept: dict[str, tuple[Path, bytes]] = {}
        self._keeping = False

    @property
    def changed(self) -> bool:
        """Whether the files are not those that this process was started from."""
        return _stamp(self._main) != self._stamp

    def news(self) -> str:
        """What has changed, for people; "" if nothing has."""
        if not self.changed:
            return ""
        now = _version(self._main)
        if not now:
            return f"Pool {self.version} was removed or moved while this session ran"
        what = f"is {now} now" if now != self.version else "was installed again"
        return f"Pool's files were replaced while this session ran: {self.version} {what}"

    def keep(self) -> None:
        """Keep the sources of what may still be needed, once (blocking: for a thread). What cannot be read is not."""
        if self._keeping:
            return
        self._keeping = True
        kept = {name: found for name, found in self._sources() if name not in sys.modules}
        # Files may have been replaced while they were read.
        if not self.changed:
            self._kept = kept

    def _sources(self) -> list[tuple[str, tuple[Path, bytes]]]:
        found: list[tuple[str, tuple[Path, bytes]]] = []
        for package, top in self._folders.items():
            for folder, folders, files in os.walk(top):
                inner = os.path.relpath(folder, top)
                name = package if inner == "." else f"{package}.{inner.replace(os.sep, '.')}"
                folders[:] = [one for one in folders if one.isidentifier() and _wanted(f"{name}.{one}")]
                for file in files:
                    if file.endswith(".py"):
                        path = Path(folder, file)
                        module = name if file == "__init__.py" else f"{name}.{file[:-3]}"
                        try:
                            found.append((module, (path, path.read_bytes())))
                        except OSError:
                            continue
        return found

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        """As long as nothing has changed, nobody's modules are found here."""
        if fullname.partition(".")[0] not in self._folders or not self.changed:
            return None
        kept = self._kept.get(fullname)
        if kept is None:
            what = f"{self.news()}, and {fullname} was not loaded yet"
            raise InstallationChanged(f"{what}: start pool again (pool -c goes on with the session)", name=fullname)
        file, source = kept
        package = file.name == "__init__.py"
        # A loader by its methods: importing importlib.abc would cost each start.
        loader: Any = _Kept(file, source)
        spec = ModuleSpec(fullname, loader, origin=str(file), is_package=package)
        if package:
            spec.submodule_search_locations = [str(file.parent)]
        return spec


class _Kept:
    """Loads a module from its source as it was."""

    def __init__(self, file: Path, source: bytes) -> None:
        self._file = file
        self._source = source

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As usual."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code in it."""
        module.__file__ = str(self._file)
        exec(compile(self._source, str(self._file), "exec", dont_inherit=True), module.__dict__)


def installation() -> Installation:
    """The one of this process; it is asked about imports from the first call on."""
    found = next((finder for finder in sys.meta_path if isinstance(finder, Installation)), None)
    if found is None:
        specs = {name: find_spec(name) for name in PACKAGES}
        folders = {name: Path(spec.origin).parent for name, spec in specs.items() if spec and spec.origin}
        found = Installation(folders, folders["pool"] / "__init__.py", __version__)
        sys.meta_path.insert(0, found)
    return found


def telling(found: Installation, emit: Callable[[Notice], object]) -> Callable[[], None]:
    """A function to call between turns, which says once that the installation has changed."""
    said = False

    def look() -> None:
        nonlocal said
        if not said and (news := found.news()):
            said = True
            emit(Notice("warning", news, RESTART))

    return look


def _wanted(name: str) -> bool:
    return name not in LEFT_OUT and (name not in FACES or name in sys.modules)


def _stamp(file: Path) -> _Stamp:
    """What differs where a file was replaced; None if it is not there."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def _version(file: Path) -> str:
    try:
        found = _VERSION.search(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""
    return found[1] if found else "another version"
