"""What cannot be had: two tests that ask for two results of one call, or a test against a docstring."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pool.sim.boundary import agreeing
from pool.sim.reach import reached
from pool.sim.source import functions, parse


@dataclass(frozen=True, slots=True)
class Demand:
    """A test that wants a call to equal a literal."""

    test: str
    path: str
    call: str
    wanted: str

    @property
    def told(self) -> str:
        """In words."""
        return f"`{self.test}` in {self.path} asks for `{self.call} == {self.wanted}`"


def two_results(tests: Mapping[str, str]) -> tuple[Demand, Demand] | None:
    """Two demands that cannot both be met: the same call, with two results. tests maps paths to texts."""
    first: dict[str, Demand] = {}
    for path, text in tests.items():
        for demand in _demands(path, text):
            other = first.setdefault(demand.call, demand)
            if other.wanted != demand.wanted and other.test != demand.test:
                return other, demand
    return None


def held_by_docs(tests: Mapping[str, str], failing: Sequence[str], sources: Mapping[str, str]) -> Iterator[str]:
    """Sentences about boundaries that failing tests come by and that their docstrings ask for as they are."""
    for name in failing:
        near = reached(tests, [name], sources)
        for path, text in sources.items():
            for function in agreeing(text):
                if function.name in near:
                    promised = f"`{function.name}` in {path} does what its docstring says ({function.doc})"
                    yield f"`{name}` fails, but {promised}"


def same_functions(tests: Mapping[str, str], failing: Sequence[str], sources: Mapping[str, str]) -> Iterator[str]:
    """For each failing test, the other tests that come by the same functions."""
    names = [function.name for text in tests.values() for function in _tests(text)]
    near = {name: frozenset(reached(tests, [name], sources)) for name in names}
    for name in failing:
        others = [other for other in names if other not in failing and near[other] & near.get(name, frozenset())]
        if others:
            shared = sorted({function for other in others for function in near[other] & near[name]})
            listed = ", ".join(f"`{other}`" for other in others)
            yield f"`{name}` pulls at {', '.join(f'`{one}`' for one in shared)}, and so do {listed}, which pass"


def _tests(text: str) -> list[ast.FunctionDef]:
    tree = parse(text)
    found = [function.node for function in functions(tree)] if tree is not None else []
    return [node for node in found if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]


def _demands(path: str, text: str) -> Iterator[Demand]:
    tree = parse(text)
    if tree is None:
        return
    known = _constants(tree.body)
    for node in _tests(text):
        values = known | _constants(node.body)
        for inner in node.body:
            match inner:
                case ast.Assert(test=ast.Compare(left=ast.Call() as call, ops=[ast.Eq()], comparators=[wanted])):
                    if _is_literal(wanted):
                        yield Demand(
                            node.name,
                            path,
                            ast.unparse(_Inlined(values).visit(copy.deepcopy(call))),
                            ast.unparse(wanted),
                        )
                case _:
                    pass


def _constants(body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    return {
        node.targets[0].id: node.value
        for node in body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_literal(node.value)
    }


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return False
    return True


class _Inlined(ast.NodeTransformer):
    """Names that stand for literals, replaced by these."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A name in a call."""
        return self._values.get(node.id, node)
