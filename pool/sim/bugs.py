"""Two kinds of bug that the source itself shows: mutable default arguments, and swallowed exceptions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from pool.sim.source import Fix, Function, Kind, functions, names_bound, parse, splice

_RAISES = re.compile(r"\b[Rr]aises?:? +`*([A-Z]\w*)")
_MAKERS = ("list", "dict", "set")


def mutable_defaults(path: str, text: str) -> list[Fix]:
    """A default that is made once and shared by all calls: None instead, and the value made inside."""
    tree = parse(text)
    if tree is None:
        return []
    lines = text.splitlines()
    return [fix for function in functions(tree) for fix in _shared_defaults(path, lines, function)]


def swallowed_exceptions(path: str, text: str, not_raised: Sequence[str]) -> list[Fix]:
    """Handlers that hide an error which the docstring promises to raise, or which a test missed (not_raised)."""
    tree = parse(text)
    if tree is None:
        return []
    lines, known = text.splitlines(), names_bound(tree)
    return [
        _told(path, lines, function, handler, known, not_raised)
        for function in functions(tree)
        for node in function.walk()
        if isinstance(node, ast.Try)
        for handler in node.handlers
        if _silent(handler)
    ]


def _shared_defaults(path: str, lines: Sequence[str], function: Function) -> Iterator[Fix]:
    arguments, body = function.node.args, function.node.body
    if body[0].lineno == function.node.lineno:
        return
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = list(zip(reversed(positional), reversed(arguments.defaults), strict=False))
    keyword_only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    pairs += [(argument, default) for argument, default in keyword_only if default is not None]
    for argument, default in pairs:
        if not _mutable(default) or default.lineno != default.end_lineno:
            continue
        row, indent = default.lineno - 1, " " * body[0].col_offset
        made = ast.unparse(default)
        signature = splice(lines[row], default.col_offset, default.end_col_offset or 0, "None")
        annotation = argument.annotation
        if annotation is not None and annotation.end_lineno == default.lineno and "None" not in ast.unparse(annotation):
            end = annotation.end_col_offset or 0
            signature = splice(signature, end, end, " | None")
        doc = body[0] if function.doc else None
        last = (doc.end_lineno or doc.lineno) if doc is not None else body[0].lineno - 1
        first = function.node.lineno
        kept = [*lines[first - 1 : row], signature, *lines[row + 1 : last]]
        new = "\n".join((*kept, f"{indent}if {argument.arg} is None:", f"{indent}    {argument.arg} = {made}"))
        why = f"`{argument.arg}={made}` in `{function.name}` is made once, so all calls share it"
        yield Fix(path, first, last, new, Kind.DEFAULT, function.name, why, sure=True)


def _mutable(node: ast.expr) -> bool:
    match node:
        case ast.List() | ast.Dict() | ast.Set():
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in _MAKERS
        case _:
            return False


def _silent(handler: ast.ExceptHandler) -> bool:
    """Whether a handler goes on as if nothing had happened."""
    quiet = (ast.Pass, ast.Continue, ast.Break, ast.Return, ast.Assign)
    return all(
        isinstance(statement, quiet) or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in handler.body
    )


def _told(
    path: str,
    lines: Sequence[str],
    function: Function,
    handler: ast.ExceptHandler,
    known: set[str],
    not_raised: Sequence[str],
) -> Fix:
    caught = ast.unparse(handler.type) if handler.type is not None else "Exception"
    promised = _RAISES.search(function.doc)
    wanted = promised[1] if promised else next(iter(not_raised), "")
    indent = " " * handler.col_offset
    name = handler.name or "error"
    if wanted in known and wanted != caught:
        new = f"{indent}except {caught} as {name}:\n{indent}    raise {wanted}(str({name})) from {name}"
    else:
        new = f"{indent}except {caught}:\n{indent}    raise"
    why = f"`{function.name}` swallows {caught}" + (f" where it should raise {wanted}" if wanted else "")
    # A missing file is often meant to be nothing.
    sure = bool(promised) and "FileNotFoundError" not in caught
    last = handler.end_lineno or handler.lineno
    return Fix(path, handler.lineno, last, new, Kind.SWALLOWED, function.name, why, sure)
