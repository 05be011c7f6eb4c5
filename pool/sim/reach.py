"""From failing tests to source: which modules they import, and which functions they come by."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from pool.sim.shellbugs import SHELL_ENDS, is_shell, shell_name
from pool.sim.source import functions, parse

MOST_CALLS_DEEP = 5
_SCRIPT = re.compile(r"(?!/)[\w./-]+\.(sh|bash)")
_NOT_OURS = frozenset({*sys.stdlib_module_names, "pytest", "hypothesis", "numpy", "pandas", "requests", "httpx"})


def roots_of(test_files: Iterable[str]) -> tuple[str, ...]:
    """Folders from which tests may import: the one around `tests`, its `src`, and the same for the workspace."""
    roots: dict[str, None] = {}
    for name in test_files:
        parts = PurePosixPath(name).parts
        above = parts[: parts.index("tests")] if "tests" in parts else parts[:-1]
        root = "".join(f"{part}/" for part in above)
        roots |= dict.fromkeys((root, f"{root}src/"))
    return tuple(dict.fromkeys((*roots, "", "src/")))


def imported(path: str, text: str, roots: Sequence[str]) -> list[tuple[str, ...]]:
    """For each module that a file imports, and script that it names: where its file may be, likeliest first."""
    tree = parse(text)
    if tree is None:
        return []
    wanted: dict[tuple[str, ...], None] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                modules = [(alias.name, 0) for alias in node.names]
            case ast.ImportFrom():
                modules = [(node.module or "", node.level)]
            case ast.Constant(value=str(script)) if _SCRIPT.fullmatch(script):
                wanted[tuple(f"{root}{script}" for root in roots)] = None
                continue
            case _:
                continue
        for module, level in modules:
            places = _places(path, module, level, roots)
            if places:
                wanted[places] = None
    return list(wanted)


def _places(path: str, module: str, level: int, roots: Sequence[str]) -> tuple[str, ...]:
    inner = module.replace(".", "/")
    if level:
        folder = PurePosixPath(path).parents[level - 1]
        base = str(folder / inner) if inner else str(folder)
        return (f"{base}.py", f"{base}/__init__.py") if inner else (f"{base}/__init__.py",)
    if not module or module.partition(".")[0] in _NOT_OURS:
        return ()
    return tuple(f"{root}{inner}{end}" for root in roots for end in (".py", "/__init__.py"))


def reached(tests: Mapping[str, str], names: Sequence[str], sources: Mapping[str, str]) -> dict[str, int]:
    """Names of functions that the named tests come by, with how many calls away they are.

    tests and sources map paths to texts. Calls are followed by name only: two functions of one name are one.
    """
    bodies = _called_by(sources)
    inside = _called_by(tests)
    depth: dict[str, int] = {}
    level = {name for test in names for name in inside.get(test, set())}
    # Fixtures and helpers stand in the test files themselves.
    level |= {name for helper in level & set(inside) for name in inside[helper]}
    for far in range(MOST_CALLS_DEEP):
        fresh = {name for name in level if name in bodies and name not in depth}
        depth |= dict.fromkeys(fresh, far)
        level = {name for function in fresh for name in bodies[function]}
    return depth


def _called_by(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """For each function, and each class by its own name, the names that it mentions."""
    found: dict[str, set[str]] = {}
    for path, text in texts.items():
        if is_shell(path):
            found.setdefault(shell_name(path), set())
            continue
        tree = parse(text)
        if tree is None:
            continue
        for function in functions(tree):
            found.setdefault(function.name, set()).update(_mentions(function.node))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).add("__init__")
    return found


def _mentions(node: ast.AST) -> set[str]:
    names: set[str] = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                names.add(name)
            case ast.Constant(value=str(script)) if script.endswith(SHELL_ENDS):
                names.add(shell_name(script))
            case _:
                pass
    return names
