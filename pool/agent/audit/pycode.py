"""Python source as an audit reads it: tests with their assertions, functions with their bodies."""

from __future__ import annotations

import ast
import textwrap
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

MOST_SOURCE_CHARS = 400_000
"""Longer sources are not parsed."""

_WEAK = 1
_STRONG = 3
_METHODS = {
    "assertEqual": 3, "assertEquals": 3, "assertIs": 3, "assertDictEqual": 3, "assertListEqual": 3,
    "assertSequenceEqual": 3, "assertTupleEqual": 3, "assertSetEqual": 3, "assertCountEqual": 3,
    "assertMultiLineEqual": 3, "assertRaises": 3, "assertRaisesRegex": 3, "assertAlmostEqual": 3,
    "assertTrue": 2, "assertFalse": 2, "assertIn": 2, "assertNotIn": 2, "assertRegex": 2, "assertIsInstance": 1,
    "assertGreater": 1, "assertGreaterEqual": 1, "assertLess": 1, "assertLessEqual": 1, "assertNotEqual": 1,
    "assertIsNotNone": 1, "assertIsNot": 1,
}  # fmt: skip
"""How much an assertion of unittest says: 3 names the value, 2 a part of it, 1 only its kind."""


@dataclass(slots=True)
class Assertion:
    """One check. strength as in `_METHODS`, 0 for one that cannot fail; shape is its code without literals.

    literals are those that it holds; tolerance is what it lets a number be off by, 0 if it says none.
    """

    line: str
    strength: int
    shape: str
    literals: tuple[object, ...]
    tolerance: float = 0.0


@dataclass(slots=True)
class TestCode:
    """One test function. helpers are functions of the file that it calls and that assert; skips are its decorators."""

    name: str
    source: str
    assertions: list[Assertion] = field(default_factory=list[Assertion])
    helpers: set[str] = field(default_factory=set[str])
    skips: list[str] = field(default_factory=list[str])


def parsed(source: str | None) -> ast.Module | None:
    """The tree of a file, or of a part of one that stands indented; None if it is no Python."""
    if source is None or len(source) > MOST_SOURCE_CHARS:
        return None
    with warnings.catch_warnings():
        # A regular expression in somebody's code may have an invalid escape.
        warnings.simplefilter("ignore")
        for text in (source, textwrap.dedent(source), f"{textwrap.dedent(source)}\n    pass\n"):
            try:
                return ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
    return None


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions, methods and functions in functions among them."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def new_nodes(tree: ast.AST | None, old: ast.AST | None, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
    """The wanted nodes of a tree that are not just so in the old one."""
    found = [node for node in ast.walk(tree) if wanted(node)] if tree is not None else []
    known = {ast.dump(node) for node in ast.walk(old) if wanted(node)} if found and old is not None else set[str]()
    return (node for node in found if ast.dump(node) not in known)


def named_functions(tree: ast.AST) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions by their name with the classes around it."""
    out: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                out[f"{prefix}{child.name}"] = child
                visit(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.ClassDef):
                visit(child, f"{prefix}{child.name}.")
            else:
                visit(child, prefix)

    visit(tree, "")
    return out


def tests_in(source: str | None) -> dict[str, TestCode] | None:
    """The test functions of a file by name; None if it is no Python."""
    tree = parsed(source)
    if tree is None:
        return None
    own = named_functions(tree)
    helpers = {n.rpartition(".")[2]: sum(1 for _ in _assertions(node)) for n, node in own.items()}
    out: dict[str, TestCode] = {}
    for name, node in own.items():
        if not node.name.startswith("test"):
            continue
        test = TestCode(name, ast.unparse(node), list(_assertions(node)))
        test.helpers = {called for called in _called(node) if helpers.get(called)}
        test.skips = [ast.unparse(one) for one in node.decorator_list]
        out[name] = test
    return out


def _called(node: ast.AST) -> Iterator[str]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            yield name_of(call.func).rpartition(".")[2]


def name_of(node: ast.AST) -> str:
    """A dotted name as text, "" for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            before = name_of(value)
            return f"{before}.{attr}" if before else attr
        case _:
            return ""


def _assertions(node: ast.AST) -> Iterator[Assertion]:
    for child in ast.walk(node):
        match child:
            case ast.Assert(test=test):
                yield _assertion(child, _strength(test), test)
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in _METHODS:
                yield _assertion(child, 0 if _cannot_fail(child, attr) else _METHODS[attr], child)
            case ast.Call(func=func) if name_of(func) in ("pytest.raises", "pytest.warns", "pytest.fail"):
                yield _assertion(child, _STRONG, child)
            case _:
                pass


def _assertion(node: ast.AST, strength: int, about: ast.AST) -> Assertion:
    literals = tuple(child.value for child in ast.walk(about) if isinstance(child, ast.Constant))
    return Assertion(ast.unparse(node), strength, _shape(about), literals, _tolerance(about))


def _strength(test: ast.expr) -> int:
    match test:
        case ast.Constant(value=value):
            return 0 if value else _STRONG
        case ast.BoolOp(op=ast.Or(), values=values):
            return min(_strength(value) for value in values)
        case ast.BoolOp(values=values):
            return max(_strength(value) for value in values)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(left, op, right)
        case ast.Compare():
            return _STRONG
        case _:
            return 2


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr) -> int:
    same = ast.dump(left) == ast.dump(right)
    literal = isinstance(left, ast.Constant) and isinstance(right, ast.Constant)
    match op:
        case ast.Eq() | ast.Is():
            return 0 if same or literal else _STRONG
        case ast.In() | ast.NotIn():
            return 2
        case _:
            return _WEAK


def _cannot_fail(call: ast.Call, attr: str) -> bool:
    match call.args:
        case [ast.Constant(value=value), *_] if attr in ("assertTrue", "assertFalse"):
            return bool(value) is (attr == "assertTrue")
        case [first, second, *_] if _METHODS[attr] == _STRONG:
            return ast.dump(first) == ast.dump(second)
        case _:
            return False


class _Masked(ast.NodeTransformer):
    """Takes the literals out, so that what is left is the same for the same check of another value."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.copy_location(ast.Constant(0), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        return self.visit(node.operand) if isinstance(node.op, ast.USub) else self.generic_visit(node)

    def visit_List(self, node: ast.List) -> ast.AST:
        return self._display(node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        return self._display(node)

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        return self._display(node)

    def _display(self, node: ast.List | ast.Tuple | ast.Dict) -> ast.AST:
        """A display of literals is one value: its length may change."""
        try:
            ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return self.generic_visit(node)
        return ast.copy_location(ast.Constant(0), node)


def _shape(node: ast.AST) -> str:
    copy = ast.parse(ast.unparse(node))
    return ast.dump(_Masked().visit(copy))


def _tolerance(node: ast.AST) -> float:
    """What a check lets a number be off by: an absolute or relative bound, or one of decimal places."""
    found = 0.0
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        name = name_of(call.func).rpartition(".")[2]
        if name not in ("approx", "isclose", "assertAlmostEqual", "assert_allclose", "allclose"):
            continue
        for keyword in call.keywords:
            value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
            if isinstance(value, (int, float)):
                found = max(found, 10.0 ** -float(value) if keyword.arg == "places" else abs(float(value)))
    return found


def literal(node: ast.AST | None) -> object:
    """The value of a literal; `...` for anything else."""
    if node is None:
        return ...
    try:
        return ast.literal_eval(ast.unparse(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ...
