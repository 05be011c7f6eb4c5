"""Single-turn problems of the Berkeley Function Calling Leaderboard, version 4 (and 3, which has the same form).

`BFCL_v4_CATEGORY.json` has an object a line: `id`, `question` (turns of messages), `function` (name, description,
parameters). `possible_answer/` beside it has, by id, `ground_truth`: calls, each with the values that are right for
each argument, "" where it may be left out. The leaderboard checks calls against these, and runs no function; neither
does this: each function answers that it was called. Multi-turn categories need the leaderboard's own programs.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from pool.lab.eval.importing.layout import Blob, Imported, ImportedTask, ImportProblem, blob_of, text

COPIED = Path(__file__).parents[1] / "copied"
ANSWERS = "possible_answer"
NO_CALL = "irrelevance"
_FILE = re.compile(r"BFCL_v\d+_(\w+)\.json")
_OTHERS = ("multi_turn", "memory", "web_search", "format_sensitivity", "relevance", "rest", "exec", "chatable")
_TYPES = {"string": "str", "integer": "int", "float": "float", "number": "float", "boolean": "bool"}
_IMAGE = ("FROM python:3.12-slim", "COPY functions.py functionserver.py /opt/functions/", "WORKDIR /app")

Row = dict[str, Any]


class _Unfit(Exception):
    """A problem that cannot be put as functions with plain arguments. The message says why."""


def read(source: Path) -> Imported:
    """The problems of a file, or of all files of a folder."""
    files = [source] if source.is_file() else sorted(source.glob("BFCL_v*_*.json"))
    wanted = [(file, found[1]) for file in files if (found := _FILE.fullmatch(file.name))]
    if not wanted:
        raise ImportProblem(
            f"{source} has no file of BFCL, such as BFCL_v4_simple_python.json with {ANSWERS}/ beside it"
        )
    tasks: list[ImportedTask] = []
    left: list[tuple[str, str]] = []
    for file, category in wanted:
        if category != NO_CALL and category.removeprefix("live_").startswith(_OTHERS):
            left.append((file.name, "only single-turn problems with known answers can be judged by their calls"))
            continue
        answers = {} if NO_CALL in category else _answers(file)
        for row in _rows(file):
            try:
                tasks.append(_task(row, answers, category))
            except (_Unfit, KeyError, TypeError, AttributeError) as problem:
                left.append((str(row.get("id", file.name)), str(problem)))
    return Imported(tasks, left)


def _rows(file: Path) -> Iterator[Row]:
    for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ImportProblem(f"{file}, line {number}: {error}") from None
        if isinstance(row, dict):
            yield cast(Row, row)


def _answers(file: Path) -> dict[str, list[Row]]:
    answers = file.parent / ANSWERS / file.name
    if not answers.is_file():
        raise ImportProblem(f"{answers} is not there: it has the calls that are right")
    return {str(row["id"]): row["ground_truth"] for row in _rows(answers)}


def _task(row: Row, answers: Mapping[str, list[Row]], category: str) -> ImportedTask:
    name = str(row["id"])
    if answers and name not in answers:
        raise _Unfit("no answer is known")
    functions = [_function(one) for one in row["function"]]
    expected = {
        "calls": [_expected(call) for call in answers.get(name, [])],
        "together": "parallel" in category,
        "answer": list[Any](),
    }
    server = {"name": "functions", "transport": "stdio", "command": "python3", "args": ["/opt/functions/functions.py"]}
    return ImportedTask(
        f"bfcl-{name}",
        _question(row["question"]),
        _IMAGE,
        {
            "test.sh": text("#!/bin/sh", 'exec python3 -I "${TESTS_DIR:-/tests}/calls.py"', executable=True),
            "calls.py": blob_of(COPIED / "calls.py"),
            "expected.json": Blob(json.dumps(expected, ensure_ascii=False, indent=1).encode()),
        },
        environment={"functions.py": _module(functions), "functionserver.py": blob_of(COPIED / "functionserver.py")},
        about={"kind": "functions", "functions": "functions.py", "thinking": "both", "max_turns": 10},
        tags=("function calling", category),
        category="function calling",
        source=name,
        agent_seconds=300.0,
        verifier_seconds=60.0,
        servers=(server,),
    )


def _question(turns: list[list[Row]]) -> str:
    if len(turns) != 1:
        raise _Unfit("it has several turns")
    return "\n\n".join(str(message["content"]).strip() for message in turns[0])


def _function(one: Row) -> str:
    """A function as Python: its docstring and annotations are what the model is shown of it."""
    parameters: Row = one["parameters"]
    properties: dict[str, Row] = parameters.get("properties") or {}
    required = [str(name) for name in cast("list[Any]", parameters.get("required") or [])]
    order = sorted(properties, key=lambda name: name not in required)
    arguments = ", ".join(_argument(name, properties[name], optional=name not in required) for name in order)
    about = [
        _line(one.get("description")),
        "",
        *(f"{name}: {_line(properties[name].get('description'))}" for name in order),
    ]
    body = "\n".join(f"    {line}".rstrip() for line in about)
    doc = body.strip().replace("\\", "\\\\").replace('"', "'")
    return f'def {_identifier(one["name"])}({arguments}) -> dict:\n    """{doc}\n    """\n    return {{"ok": True}}\n'


def _argument(name: str, schema: Row, *, optional: bool) -> str:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise _Unfit(f"the argument {name!r} is no name in Python")
    return f"{name}: {_type(name, schema)}" + (f" = {_default(schema)}" if optional else "")


def _type(name: str, schema: Row) -> str:
    kind = str(schema.get("type"))
    values: list[Any] = schema.get("enum") or []
    if values and all(isinstance(value, str) for value in values):
        return f"Literal[{', '.join(repr(value) for value in values)}]"
    if kind in ("array", "tuple"):
        items: Row = schema.get("items") or {}
        inner = _TYPES.get(str(items.get("type")))
        if inner is not None:
            return f"list[{inner}]"
    if kind not in _TYPES:
        raise _Unfit(f"the argument {name!r} is of the type {kind}")
    return _TYPES[kind]


def _default(schema: Row) -> str:
    value = schema.get("default")
    return repr(value) if isinstance(value, (str, int, float, bool, type(None))) else "None"


def _expected(call: Row) -> Row:
    """A right call for `calls.py`: BFCL's "" for what may be left out is its null; no value at all means the same."""
    ((name, arguments),) = call.items()
    values = {key: [None if one == "" else one for one in right or [""]] for key, right in arguments.items()}
    return {"name": _identifier(name), "arguments": values}


def _identifier(name: object) -> str:
    """A function's name with `_` for dots, as the leaderboard itself does for servers that allow no dots."""
    plain = re.sub(r"\W", "_", str(name))
    if not plain.isidentifier() or keyword.iskeyword(plain) or plain.startswith("_"):
        raise _Unfit(f"the function {name!r} can have no such name")
    return plain


def _line(value: object) -> str:
    return " ".join(str(value or "no description").split())


def _module(functions: list[str]) -> Blob:
    return text(
        '"""Functions of a problem of BFCL. None does anything: the calls are what is judged."""',
        "",
        "from typing import Literal",
        "",
        *(f"\n{function}" for function in functions),
        "",
        'if __name__ == "__main__":',
        "    from functionserver import serve",
        "",
        "    serve(globals())",
    )
