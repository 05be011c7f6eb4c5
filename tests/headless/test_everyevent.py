"""Every kind of event there is, with any content, fits the schema wherever it is written: stream, socket, log."""

from __future__ import annotations

import enum
import io
import json
import types
import typing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pool.agent.hub import EventHub
from pool.config.settings import Mode
from pool.events import Body, to_dict
from pool.facekit.live.lines import line_of, row_of
from pool.headless.output import LOG_ONLY, StreamJsonOutput
from pool.headless.schema import kinds
from pool.sessions.log import encoded_row
from tests.cases.driver import answer, call
from tests.headless.test_contract import played
from tests.headless.valid import faults

EXAMPLES = 8
_SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=8),
    int: st.integers(-1, 1_000_000),
    float: st.floats(0, 1e6),
    bool: st.booleans(),
    Any: st.sampled_from([None, "x", 3, {"a": [1, None]}]),
    types.NoneType: st.none(),
}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type."""
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(values, inner))
    if origin is tuple:
        return st.lists(values(inner[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(st.text(max_size=3), values(inner[1]), max_size=2)
    kind: Any = hint
    return st.sampled_from(list(kind)) if issubclass(kind, enum.Enum) else made(kind)


def made(kind: Any) -> st.SearchStrategy[Any]:
    """Any instance of a dataclass."""
    hints = typing.get_type_hints(kind)
    return st.builds(kind, **{each.name: values(hints[each.name]) for each in fields(kind)})


@pytest.mark.parametrize("kind", kinds().values(), ids=list(kinds()))
@settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_kind_fits_wherever_it_is_written(kind: type[Body], data: st.DataObject) -> None:
    event = EventHub("s", agent="1/2").emit(data.draw(made(kind)), "c")
    assert faults(json.loads(encoded_row(to_dict(event)))) == []
    row = row_of(line_of(to_dict(event)).rstrip(b"\n"))
    assert (faults(row), row["type"]) == ([], kind.type)
    out = io.StringIO()
    StreamJsonOutput(out).show(event)
    assert [json.loads(line) for line in out.getvalue().splitlines()] == ([] if issubclass(kind, LOG_ONLY) else [row])


@pytest.mark.parametrize("mode", Mode)
async def test_runs_in_every_mode(tmp_path: Path, mode: Mode) -> None:
    steps = call("read", path="a"), call("write", path="b", content="x\n"), call("shell", command="echo hi")
    (tmp_path / "a").write_text("a\n")
    run, result = await played(tmp_path, *steps, answer("Done."), mode=mode)
    assert (len(result.calls), result.mode) == (3, mode.value)
    assert run.reason.value == result.reason
