"""A refactoring that the rules can do: one function out of several modules into one of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pool.sim.history import Edit
from pool.sim.source import parse

_ASKED = re.compile(
    r"\bmove `(?P<name>\w+)` from `(?P<source>[\w/.-]+\.py)`[^`]*\bto (?:a|the)? ?(?:new )?(?:module|file),? "
    r"`(?P<target>[\w/.-]+\.py)`",
    re.IGNORECASE,
)
_PATH = re.compile(r"`([\w/.-]+\.py)`")
_MUCH_SPACE = re.compile(r"\n{4,}")


@dataclass(frozen=True, slots=True)
class Move:
    """Function name of source goes to target; copies are other files that may define it too."""

    name: str
    source: str
    target: str
    copies: tuple[str, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """All files that must be known before anything is moved."""
        return (self.source, *self.copies)

    def next_change(self, texts: Mapping[str, str], made: Sequence[Edit]) -> Edit | None:
        """The next change of a whole file, None once there is nothing left to move."""
        if not any(edit.path == self.target for edit in made):
            moved = self._new_module(texts.get(self.source, ""))
            return Edit(self.target, "", moved) if moved else None
        for path in self.files:
            text = texts.get(path, "")
            tree = parse(text)
            if tree is not None and _definition(tree, self.name) is not None:
                return Edit(path, text, self._without(text, tree))
        return None

    def _new_module(self, text: str) -> str:
        tree = parse(text)
        function = _definition(tree, self.name) if tree is not None else None
        if tree is None or function is None:
            return ""
        lines = text.splitlines()
        used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        constants = [_lines(lines, node) for node in tree.body if _assigned(node) & used]
        imports = [_lines(lines, node) for node in tree.body if _imported(node) & used or _is_future(node)]
        about = f'"""`{self.name}`, for all modules that need it."""'
        blocks = ["\n".join(block) for block in (imports, constants) if block]
        return "\n\n".join((about, *blocks)) + f"\n\n\n{_lines(lines, function)}\n"

    def _without(self, text: str, tree: ast.Module) -> str:
        """A module without the function and what only it used, and with an import of it."""
        lines = text.splitlines()
        function = _definition(tree, self.name)
        assert function is not None
        inside = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        others = [node for node in tree.body if node is not function]
        elsewhere = {inner.id for node in others for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        gone = [node for node in others if _assigned(node) & inside and not _read(node, others)]
        wanted = [self.name] if self.name in elsewhere else []
        dropped = {row for node in (function, *gone) for row in _rows(node)}
        kept = [line for row, line in enumerate(lines, 1) if row not in dropped]
        if wanted:
            module = self.target.removesuffix(".py").replace("/", ".")
            place = _place(tree, module)
            place -= sum(row < place + 1 for row in dropped)
            kept.insert(place, f"from {module} import {', '.join(wanted)}")
        return _MUCH_SPACE.sub("\n\n\n", "\n".join(kept)).rstrip("\n") + "\n"


def asked_move(prompt: str) -> Move | None:
    """The move that a prompt asks for, None if it asks for none."""
    asked = _ASKED.search(prompt)
    if asked is None:
        return None
    paragraph = prompt[asked.start() :].partition("\n\n")[0]
    named = dict.fromkeys(_PATH.findall(paragraph))
    copies = tuple(path for path in named if path not in (asked["source"], asked["target"]))
    return Move(asked["name"], asked["source"], asked["target"], copies)


def _definition(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    return next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name), None)


def _rows(node: ast.stmt) -> range:
    first = node.decorator_list[0] if isinstance(node, ast.FunctionDef) and node.decorator_list else node
    return range(first.lineno, (node.end_lineno or node.lineno) + 1)


def _lines(lines: Sequence[str], node: ast.stmt) -> str:
    rows = _rows(node)
    return "\n".join(lines[rows.start - 1 : rows.stop - 1])


def _assigned(node: ast.stmt) -> set[str]:
    match node:
        case ast.Assign():
            return {target.id for target in node.targets if isinstance(target, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case _:
            return set()


def _read(node: ast.stmt, others: Sequence[ast.stmt]) -> bool:
    """Whether what a node assigns is used by any of the others."""
    names = _assigned(node)
    used = (inner for other in others if other is not node for inner in ast.walk(other))
    return any(isinstance(inner, ast.Name) and inner.id in names for inner in used)


def _imported(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return set()


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _place(tree: ast.Module, module: str) -> int:
    """After how many lines an import of module belongs: in order among those of its package, else after the last."""
    package = module.partition(".")[0]
    place = 0
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == package:
            if (node.module or "") > module:
                return node.lineno - 1
        elif not isinstance(node, ast.Import | ast.ImportFrom) and node is not tree.body[0]:
            break
        place = node.end_lineno or node.lineno
    return place
