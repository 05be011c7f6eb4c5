"""What every worker of a whole run would do for itself, done once before they start: half a minute of work.

pytest rewrites the assertions of each test file and keeps the result beside it, and hypothesis collects the constants
of each module and keeps them in `.hypothesis`. Workers that start together find nothing kept, and all do all of it.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib.abc import Loader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

SOURCES = ("pool", "tools/pool_tools", "themes/pool_themes")
REWRITER = "AssertionRewritingHook"
"""pytest's finder and loader of test modules, the first of its kind on `sys.meta_path`."""


def prepare(config: pytest.Config) -> None:
    """Do it in as many processes as there are cores. What cannot be prepared is left to the workers."""
    loader = next((finder for finder in sys.meta_path if type(finder).__name__ == REWRITER), None)
    if not isinstance(loader, Loader):
        return
    root = config.rootpath
    tests = _files(root, config.getini("testpaths"), ("test_*.py", "conftest.py"))
    sources = _files(root, SOURCES, ("*.py",))
    count = os.cpu_count() or 1
    # Forked, for the loader as it is configured here; nothing has started a thread yet.
    context = multiprocessing.get_context("fork")
    shares = [context.Process(target=_share, args=(loader, tests[i::count], sources[i::count])) for i in range(count)]
    for process in shares:
        process.start()
    for process in shares:
        process.join()


def _files(root: Path, folders: Iterable[str], patterns: Iterable[str]) -> list[Path]:
    return sorted({path for folder in folders for pattern in patterns for path in (root / folder).rglob(pattern)})


def _share(loader: Loader, tests: Sequence[Path], sources: Sequence[Path]) -> None:
    # The Makefile compiles what is not a test in the same way: a variable that forbids it is for ordinary runs.
    sys.dont_write_bytecode = False
    for path in tests:
        module = _named(path, loader)
        # Without `__import__` its code ends at its first import: it is to be rewritten and kept, not run.
        module.__dict__["__builtins__"] = {}
        try:
            loader.exec_module(module)
        except Exception:
            # Also a file that is no Python: the worker that collects it says so.
            continue
    # Not a public function: were it gone one day, only this preparation would fail, and each worker do it as before.
    from hypothesis.internal.constants_ast import constants_from_module

    with warnings.catch_warnings():
        # hypothesis warns of plugins that do such work in every start; here it is done once for all workers.
        warnings.simplefilter("ignore")
        for path in sources:
            constants_from_module(_named(path, None))


def _named(path: Path, loader: Loader | None) -> ModuleType:
    """A module that knows its file, not executed."""
    module = ModuleType(path.stem)
    module.__spec__ = spec_from_file_location(path.stem, path, loader=loader)
    module.__file__ = str(path)
    return module
