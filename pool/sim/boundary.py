"""Off-by-one boundaries: where docstring and code differ, and near misses that only a test run can judge."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from pool.sim.source import Fix, Function, Kind, functions, parse, splice

_AT_MOST = re.compile(
    r"\b(at or (below|under|before)|or (less|fewer|below|lower|earlier)|at most|no more than|not more than|up to|"
    r"inclusive|including)\b",
    re.IGNORECASE,
)
_AT_LEAST = re.compile(
    r"\b(at or (above|over|after)|or (more|above|higher|later)|at least|no (less|fewer) than|inclusive|including)\b",
    re.IGNORECASE,
)
_INCLUSIVE = re.compile(r"\b(inclusive|including)\b", re.IGNORECASE)
_FROM_ONE = re.compile(r"\b(from 1\b|1-based|starts? (at|with) 1|(number|page|index) 1\b)", re.IGNORECASE)
_FLIPPED: dict[type[ast.cmpop], str] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_SIGNS: dict[type[ast.cmpop], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def boundaries(path: str, text: str) -> list[Fix]:
    """Possible mends in all functions, the sure ones first."""
    tree = parse(text)
    if tree is None:
        return []
    lines = text.splitlines()
    found = [fix for function in functions(tree) for fix in _in_function(path, lines, function)]
    return sorted(found, key=lambda fix: not fix.sure)


def agreeing(text: str) -> list[Function]:
    """Functions with a comparison that their docstring asks for as it is."""
    tree = parse(text)
    if tree is None:
        return []
    found: list[Function] = []
    for function in functions(tree):
        negated = _negated(function)
        compared = [node for node in function.walk() if isinstance(node, ast.Compare)]
        if any(_agrees(type(op), function.doc, node in negated) for node in compared for op in node.ops):
            found.append(function)
    return found


def _agrees(operator: type[ast.cmpop], doc: str, negated: bool) -> bool:
    """Whether a docstring says where a boundary lies, and the operator has it there."""
    if operator not in _SIGNS:
        return False
    inclusive, sure = _promised(_SIGNS[operator], doc, negated)
    return inclusive and not sure


def _promised(sign: str, doc: str, negated: bool) -> tuple[bool, bool]:
    """Whether a docstring says that the boundary itself belongs to it, and whether the sign has it otherwise."""
    # "at most N" allows N: `x < N` forbids it, and so does a raise on `x >= N`; turned around for "at least".
    downward = (sign[0] == "<") is not negated
    inclusive = bool((_AT_MOST if downward else _AT_LEAST).search(doc))
    return inclusive, inclusive and (sign in ("<", ">")) is not negated


def _in_function(path: str, lines: Sequence[str], function: Function) -> Iterator[Fix]:
    negated = _negated(function)
    for node in function.walk():
        changes: Iterator[tuple[ast.expr, int, int, str, str, bool]]
        match node:
            case ast.Compare():
                changes = _comparison(node, lines, function.doc, node in negated)
            case ast.BinOp():
                changes = _arithmetic(node, function.doc)
            case ast.Call(func=ast.Name(id="range")):
                changes = _range(node, function.doc)
            case ast.Slice():
                changes = _slice(node)
            case _:
                continue
        for place, start, end, new, why, sure in changes:
            row = place.lineno
            if place.end_lineno == row:
                line = splice(lines[row - 1], start, end, new)
                yield Fix(path, row, row, line, Kind.BOUNDARY, function.name, f"{why} in `{function.name}`", sure)


def _negated(function: Function) -> set[ast.Compare]:
    """Comparisons that say what is not allowed: in the condition of a raise, or after a `not`, but not both."""
    found: set[ast.Compare] = set()

    def note(node: ast.AST, negative: bool) -> None:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            negative = not negative
        if isinstance(node, ast.Compare) and negative:
            found.add(node)
        for child in ast.iter_child_nodes(node):
            note(child, negative)

    for node in function.walk():
        if isinstance(node, ast.If):
            note(node.test, any(isinstance(statement, ast.Raise) for statement in node.body))
    return found


def _comparison(
    node: ast.Compare, lines: Sequence[str], doc: str, negated: bool
) -> Iterator[tuple[ast.expr, int, int, str, str, bool]]:
    operands = [node.left, *node.comparators]
    for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
        sign = _SIGNS.get(type(operator))
        if sign is None or left.end_lineno != right.lineno:
            continue
        start, end = left.end_col_offset or 0, right.col_offset
        between = lines[right.lineno - 1].encode()[start:end].decode()
        flipped = _FLIPPED[type(operator)]
        inclusive, sure = _promised(sign, doc, negated)
        if inclusive and not sure:
            # The docstring agrees with the code as it is.
            continue
        yield right, start, end, between.replace(sign, flipped), f"`{sign}` should be `{flipped}`", sure


def _arithmetic(node: ast.BinOp, doc: str) -> Iterator[tuple[ast.expr, int, int, str, str, bool]]:
    start, end = node.col_offset, node.end_col_offset or 0
    match node:
        case ast.BinOp(ast.BinOp(whole, ast.FloorDiv(), ast.Name(id=size)), ast.Add(), ast.Constant(value=1)):
            new = f"({ast.unparse(whole)} + {size} - 1) // {size}"
            # `index // size + 1` may well be meant: the part in which something is, counted from 1.
            yield node, start, end, new, "an empty last part is counted", isinstance(whole, ast.Call)
        case ast.BinOp(ast.Name(id=number), ast.Mult(), ast.Name(id=size)):
            if _FROM_ONE.search(doc):
                yield node, start, end, f"({number} - 1) * {size}", f"`{number}` counts from 1", True
        case _:
            pass


def _range(node: ast.Call, doc: str) -> Iterator[tuple[ast.expr, int, int, str, str, bool]]:
    stop = node.args[0] if len(node.args) == 1 else node.args[1]
    start, end = stop.col_offset, stop.end_col_offset or 0
    bare = _without_one(stop)
    if bare is not None:
        yield stop, start, end, bare, "the range stops one off", False
    else:
        sure = bool(_INCLUSIVE.search(doc)) and not isinstance(stop, ast.Call)
        yield stop, start, end, f"{ast.unparse(stop)} + 1", "the range stops one short", sure
    if len(node.args) > 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value == 1:
        first = node.args[0]
        yield first, first.col_offset, first.end_col_offset or 0, "0", "the range starts one late", False


def _slice(node: ast.Slice) -> Iterator[tuple[ast.expr, int, int, str, str, bool]]:
    for bound in (node.upper, node.lower):
        bare = _without_one(bound)
        if bound is not None and bare is not None:
            yield bound, bound.col_offset, bound.end_col_offset or 0, bare, "the slice ends or starts one off", False


def _without_one(node: ast.expr | None) -> str | None:
    """`x` of `x + 1` and `x - 1`."""
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub(), ast.Constant(value=1)):
            return ast.unparse(left)
        case _:
            return None
