"""Tool calls assembled from delta items: the shapes that servers send, by the case they come from."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.wire.calls import NAMELESS, CallAssembler
from pool.wire.reading import BrokenCall, CallText, RawCall

ABSENT = object()


def item(index: Any = 0, id: Any = ABSENT, name: Any = ABSENT, arguments: Any = ABSENT) -> dict[str, Any]:
    """One item of a delta's `tool_calls`; what is ABSENT has no key."""
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not ABSENT}
    outer = {"index": index, "id": id, "function": function}
    return {k: v for k, v in outer.items() if v is not ABSENT}


def assemble(*items: Any) -> tuple[tuple[RawCall, ...], tuple[BrokenCall, ...], tuple[str, ...]]:
    """Feed each item as a delta of its own."""
    assembler = CallAssembler()
    for one in items:
        assembler.feed([one])
    return assembler.finish()


def only(*items: Any) -> RawCall:
    calls, broken, _ = assemble(*items)
    assert broken == ()
    assert len(calls) == 1
    return calls[0]


def only_broken(*items: Any) -> BrokenCall:
    calls, broken, _ = assemble(*items)
    assert calls == ()
    assert len(broken) == 1
    return broken[0]


def test_call_01_only_the_first_piece_has_an_id() -> None:
    call = only(item(id="c1", name="shell", arguments=""), item(arguments='{"comm'), item(arguments='and":"ls"}'))
    assert call == RawCall("c1", "shell", '{"command": "ls"}')


@pytest.mark.parametrize("empty", ["", None])
def test_call_02_empty_later_ids_and_names_do_not_overwrite(empty: str | None) -> None:
    call = only(
        item(id="c1", name="shell", arguments='{"command":'),
        item(id=empty, name=empty, arguments='"ls"}'),
    )
    assert (call.id, call.name) == ("c1", "shell")


def test_call_03_parallel_calls_that_all_have_index_0() -> None:
    calls, broken, _ = assemble(
        *(item(0, f"x{n}", "write", json.dumps({"path": f"{n}.txt", "content": ""})) for n in (1, 2, 3))
    )
    assert broken == ()
    assert [(c.id, json.loads(c.arguments)["path"]) for c in calls] == [
        ("x1", "1.txt"),
        ("x2", "2.txt"),
        ("x3", "3.txt"),
    ]


def test_call_03_with_pieces_after_each_start() -> None:
    calls, _, _ = assemble(
        item(0, "x1", "read", ""), item(0, arguments='{"path":"a"}'),
        item(0, "x2", "read", ""), item(0, arguments='{"path":"b"}'),
    )  # fmt: skip
    assert [(c.id, c.arguments) for c in calls] == [("x1", '{"path": "a"}'), ("x2", '{"path": "b"}')]


def test_call_04_no_id_at_all() -> None:
    assert only(item(name="read", arguments='{"path":"a.txt"}')) == RawCall("", "read", '{"path": "a.txt"}')


@pytest.mark.parametrize("nothing", [None, "", "  ", "null", "{}", ABSENT])
def test_call_05_no_arguments_are_the_empty_object(nothing: Any) -> None:
    assert only(item(id="c1", name="read", arguments=nothing)).arguments == "{}"


def test_call_06_cut_arguments_are_broken_and_not_closed() -> None:
    cut = '{"path":"a.txt","content":"done'
    call = only_broken(item(id="c1", name="write", arguments=cut))
    assert (call.id, call.name, call.arguments) == ("c1", "write", cut)
    assert "stops before it is complete" in call.why


def test_call_07_nothing_came() -> None:
    assembler = CallAssembler()
    shapes: list[Any] = [None, [], {}, [{}], [None], "x", 3, [{"index": 0}], [{"index": 0, "function": None}]]
    for nothing in shapes:
        assert assembler.feed(nothing) == []
    assert not assembler.open
    assert assembler.finish() == ((), (), ())


def test_call_10_malformed_arguments_say_what_is_wrong() -> None:
    why = only_broken(item(id="c1", name="shell", arguments='{"command":"echo "hi""}')).why
    assert "character 19" in why
    assert '"echo "hi' in why
    assert 'must be written as \\"' in why


def test_call_13_blanks_around_the_name() -> None:
    assert only(item(name="read\n", arguments="{}")).name == "read"


def test_call_18_border_blanks_are_kept() -> None:
    content = "    indented\n\tTab\nlast\n"
    call = only(item(name="write", arguments=json.dumps({"content": content})))
    assert json.loads(call.arguments) == {"content": content}


def test_t1_empty_name_is_told_to_the_model() -> None:
    call = only_broken(item(id="c1", name="", arguments='{"path": "a"}'))
    assert call == BrokenCall("c1", "", '{"path": "a"}', NAMELESS)


def test_t3_arguments_that_the_server_closed_are_whole_here() -> None:
    """Only the token counts tell (vLLM 0.25.1); the reader looks at those, not the assembler."""
    assert only(item(name="write", arguments='{"path": "a", "content": "def f'), item(arguments='"}')).name == "write"


def test_t16_name_first_then_the_empty_object() -> None:
    assert only(item(id="c", name="list_dir", arguments=""), item(arguments="{}")).arguments == "{}"


def test_id_and_name_on_every_piece_are_not_concatenated() -> None:
    call = only(*(item(id="c1", name="shell", arguments=piece) for piece in ('{"comm', 'and":"l', 's"}')))
    assert call == RawCall("c1", "shell", '{"command": "ls"}')


def test_new_id_and_same_name_on_every_piece() -> None:
    pieces = ('{"comm', 'and":"l', 's"}')
    call = only(*(item(id=f"c{n}", name="shell", arguments=piece) for n, piece in enumerate(pieces)))
    assert call == RawCall("c0", "shell", '{"command": "ls"}')


def test_new_id_without_a_name_goes_on_with_the_call() -> None:
    assert only(item(id="c1", name="ls", arguments="{"), item(id="c2", arguments="}")) == RawCall("c1", "ls", "{}")


def test_two_indices_interleaved() -> None:
    calls, _, _ = assemble(
        item(0, "c1", "write", '{"path":"a'), item(1, "c2", "write", '{"path":"b'),
        item(0, arguments='.txt"}'), item(1, arguments='.txt"}'),
    )  # fmt: skip
    assert [c.arguments for c in calls] == ['{"path": "a.txt"}', '{"path": "b.txt"}']


def test_several_items_in_one_delta_with_the_higher_index_first() -> None:
    assembler = CallAssembler()
    events = assembler.feed([item(1, "c2", "read", '{"path":"b"}'), item(0, "c1", "list", "{}")])
    calls, _, _ = assembler.finish()
    assert [c.id for c in calls] == ["c2", "c1"]
    assert [e.index for e in events] == [0, 1]


def test_one_item_that_is_not_in_a_list() -> None:
    assembler = CallAssembler()
    assembler.feed(item(id="c1", name="list", arguments={}))
    assert assembler.open
    assert [c.name for c in assembler.finish()[0]] == ["list"]


@pytest.mark.parametrize("index", [ABSENT, None, True, "x", 0.5, []])
def test_missing_index_goes_to_the_last_call(index: Any) -> None:
    call = only(item(index, "c1", "read", '{"path":'), item(index, arguments='"a"}'))
    assert call == RawCall("c1", "read", '{"path": "a"}')


def test_missing_index_and_a_new_id_is_a_new_call() -> None:
    calls, _, _ = assemble(item(ABSENT, "c1", "read", "{}"), item(ABSENT, "c2", "list", "{}"))
    assert [(c.id, c.name) for c in calls] == [("c1", "read"), ("c2", "list")]


def test_missing_index_and_a_name_after_a_whole_object_is_a_new_call() -> None:
    calls, _, _ = assemble(
        item(ABSENT, name="read", arguments='{"path":'), item(ABSENT, name="read", arguments='"a"}'),
        item(ABSENT, name="read", arguments='{"path":"b"}'),
    )  # fmt: skip
    assert [json.loads(c.arguments)["path"] for c in calls] == ["a", "b"]


def test_missing_index_with_interleaved_ids() -> None:
    calls, _, _ = assemble(
        item(ABSENT, "c1", "read", '{"path":'), item(ABSENT, "c2", "read", '{"path":'),
        item(ABSENT, "c1", arguments='"a"}'), item(ABSENT, "c2", arguments='"b"}'),
    )  # fmt: skip
    assert [c.arguments for c in calls] == ['{"path": "a"}', '{"path": "b"}']


def test_arguments_as_an_object() -> None:
    calls, _, mends = assemble(item(name="shell", arguments={"command": "é"}))
    assert calls[0].arguments == '{"command": "é"}'
    assert mends == ("arguments-sent-as-object",)


def test_name_and_arguments_without_a_function_object() -> None:
    assert only({"index": 0, "id": "c", "name": "list", "arguments": "{}"}) == RawCall("c", "list", "{}")


@pytest.mark.parametrize("arguments", [[1], 3, True, "[1]", "3", '"text"'])
def test_arguments_that_are_no_object(arguments: Any) -> None:
    assert only_broken(item(name="read", arguments=arguments)).why


def test_one_broken_call_does_not_hide_a_whole_one() -> None:
    calls, broken, _ = assemble(item(0, "c1", "read", "{"), item(1, "c2", "list", "{}"))
    assert ([c.id for c in calls], [c.id for c in broken]) == (["c2"], ["c1"])


def test_objects_nested_beyond_reason_are_broken() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert "deep" in only_broken(item(name="read", arguments=deep)).why


def test_a_character_cut_in_two_between_pieces_is_joined() -> None:
    high, low = "\ud83d", "\ude80"
    call = only(item(name="write", arguments=f'{{"content":"{high}'), item(arguments=f'{low}"}}'))
    assert json.loads(call.arguments) == {"content": "🚀"}


def test_events_show_growth_and_the_path() -> None:
    pieces = ['{"content": "\\"path\\": ", "pa', 'th": "src/a\\u00', "e9.py", '"', ', "path": "b"}']
    assembler = CallAssembler()
    assert assembler.feed([item(id="c1", name="write", arguments="")]) == [CallText(0, "write", 0)]
    assert assembler.feed([item(name="write")]) == []
    shown = [event for piece in pieces for event in assembler.feed([item(arguments=piece)])]
    grown = [len("".join(pieces[:n])) for n in range(1, 6)]
    assert [e.chars for e in shown] == grown
    assert [e.path for e in shown] == ["", "", "", "src/aé.py", "src/aé.py"]


def test_a_path_of_a_nested_object_is_not_shown() -> None:
    assembler = CallAssembler()
    events = assembler.feed([item(name="x", arguments='{"a":{"path":"inner"},"b":["path","c"],"filename":"outer"}')])
    assert events[0].path == "outer"


def test_twenty_thousand_pieces() -> None:
    assembler = CallAssembler()
    assembler.feed([item(id="c1", name="write", arguments='{"path":"a","content":"')])
    for _ in range(20_000):
        assembler.feed([item(id="c1", name="write", arguments="line \\n{")])
    last = assembler.feed([item(arguments='"}')])
    calls, _, _ = assembler.finish()
    assert last[0].chars == 23 + 20_000 * 8 + 2
    assert json.loads(calls[0].arguments)["content"] == "line \n{" * 20_000


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["index", "id", "name", "function", "arguments", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(anything, max_size=5))
def test_any_shape_is_taken_without_raising(values: list[Any]) -> None:
    assembler = CallAssembler()
    for value in values:
        assembler.feed(value)
    calls, broken, _ = assembler.finish()
    assert assembler.open == bool(calls or broken)
    for call in calls:
        assert isinstance(json.loads(call.arguments), dict)
    for text in (*(c.arguments for c in calls), *(b.arguments + b.why for b in broken)):
        text.encode()


texts = st.one_of(
    st.dictionaries(st.text(max_size=5), st.text() | st.integers() | st.lists(st.text(max_size=4), max_size=3)).map(
        json.dumps
    ),
    st.text(alphabet='{}[]":,\\ \nab1\ud83d\ude80', max_size=40),
    st.sampled_from(
        [
            '{"path":"app.py"}}',
            '{"command":"python -m pytest -q"},"timeout":60}}',
            '{"a":1}{"a":1}',
            '"{\\"a\\": \\"b\\"}"',
        ]
    ),
)


@given(texts, st.data())
def test_any_partition_of_the_text_gives_the_same_result(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)))))
    edges = [0, *cuts, len(text)]
    pieces = [text[a:b] for a, b in pairwise(edges)]
    whole = assemble(item(id="c1", name="write", arguments=text))
    parts = assemble(item(id="c1", name="write", arguments=""), *(item(arguments=piece) for piece in pieces))
    assert parts == whole
