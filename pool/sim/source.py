"""Python source under repair: its functions, and changes of whole lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from pool.sim.history import Edit

FILES_KEPT = 128


class Kind(StrEnum):
    """The kinds of bug that the rules know."""

    BOUNDARY = "off-by-one boundary"
    DEFAULT = "mutable default argument"
    SWALLOWED = "swallowed exception"
    UNQUOTED = "unquoted variable"


@dataclass(frozen=True, slots=True)
class Fix:
    """Lines first to last of path become new (without a last line end).

    function is the name of the function around it. sure: the source itself says that it is wrong (its docstring, or
    the pattern alone); without that only a test run can tell.
    """

    path: str
    first: int
    last: int
    new: str
    kind: Kind
    function: str
    why: str
    sure: bool

    def edit(self, text: str) -> Edit:
        """The change as old and new text, with enough lines around it that old stands in text once."""
        lines = text.splitlines()
        before, after = self.first - 1, self.last
        while True:
            old = "\n".join(lines[before:after])
            if text.count(old) == 1 or (before == 0 and after == len(lines)):
                break
            before, after = max(0, before - 1), min(len(lines), after + 1)
        new = "\n".join((*lines[before : self.first - 1], self.new, *lines[self.last : after]))
        return Edit(self.path, old, new)


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method; doc is its docstring with single blanks, "" if none."""

    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    doc: str

    def walk(self) -> Iterator[ast.AST]:
        """Its nodes, without those of functions inside it."""
        waiting: list[ast.AST] = [*self.node.body]
        while waiting:
            node = waiting.pop()
            yield node
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                waiting.extend(ast.iter_child_nodes(node))


# Each request tells the whole story anew, so that the same files are looked at in every one.
@lru_cache(maxsize=FILES_KEPT)
def parse(text: str) -> ast.Module | None:
    """The syntax tree, or None if text does not parse (a part of a file, another language). Trees are never changed."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=FILES_KEPT)
def functions(tree: ast.Module) -> Sequence[Function]:
    """All functions and methods, in order of their lines."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    nodes.sort(key=lambda node: node.lineno)
    return tuple(Function(node.name, node, " ".join((ast.get_docstring(node) or "").split())) for node in nodes)


def splice(line: str, start: int, end: int, new: str) -> str:
    """Replace a part of a line; start and end are offsets in UTF-8 bytes, as in syntax trees."""
    data = line.encode()
    return (data[:start] + new.encode() + data[end:]).decode()


def names_bound(tree: ast.Module) -> set[str]:
    """Names that a module imports or defines at its top."""
    names: set[str] = set()
    for node in tree.body:
        match node:
            case ast.Import() | ast.ImportFrom():
                names.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Assign():
                names.update(target.id for target in node.targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case _:
                pass
    return names
