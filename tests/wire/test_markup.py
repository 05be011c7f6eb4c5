"""Calls found as markup in text: every dialect, the faults of models and servers, and what must not be run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pool.wire.markup import OPENERS, MarkupFinding, find_calls, looks_like_call_start
from pool.wire.reading import RawCall


def tool(*required: str, **properties: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(required),
    }


TOOLS: dict[str, dict[str, Any]] = {
    "read": tool("path", path="string", limit="integer"),
    "write": tool("path", "content", path="string", content="string"),
    "edit": tool("path", "edits", path="string", edits="array", dry_run="boolean"),
    "shell": tool("command", command="string", timeout="integer", env="object"),
    "list": tool(),
}


def laguna(name: str, *pairs: tuple[str, str], v5: bool = False) -> str:
    nl = "\n" if v5 else ""
    body = "".join(f"<arg_key>{k}</arg_key>{nl}<arg_value>{v}</arg_value>{nl}" for k, v in pairs)
    return f"<tool_call>{name}{nl}{body}</tool_call>"


def qwen(name: str, *pairs: tuple[str, str]) -> str:
    body = "".join(f"<parameter={k}>\n{v}\n</parameter>\n" for k, v in pairs)
    return f"<function={name}>\n{body}</function>"


PWD = laguna("shell", ("command", "pwd"))


def find(text: str, *, natural: bool = True) -> MarkupFinding:
    finding = find_calls(text, TOOLS, at_natural_end=natural)
    assert not (finding.calls and finding.rejected)
    assert bool(finding.spans) == bool(finding.calls or finding.rejected)
    if finding.spans:
        assert finding.before + text[finding.spans[0][0] : finding.spans[-1][1]] + finding.after == text
    else:
        assert (finding.before, finding.after) == (text, "")
    return finding


def arguments(text: str, *, natural: bool = True) -> list[tuple[str, dict[str, Any]]]:
    """Names and arguments of the calls of a text that is runnable."""
    finding = find(text, natural=natural)
    assert finding.rejected == ""
    assert all(call.recovered and call.id == "" for call in finding.calls)
    return [(call.name, json.loads(call.arguments)) for call in finding.calls]


# -- dialects


@pytest.mark.parametrize("v5", [False, True])
def test_call_15_laguna(v5: bool) -> None:
    text = "Let me look.\n" + laguna("shell", ("command", "pwd"), v5=v5) + "\n\n"
    finding = find(text, natural=False)
    assert finding.calls == (RawCall("", "shell", '{"command": "pwd"}', recovered=True),)
    assert finding.before == "Let me look.\n"


def test_call_15_newline_after_the_name() -> None:
    assert arguments(PWD.replace("shell", "shell\n", 1)) == [("shell", {"command": "pwd"})]


def test_call_15_two_calls() -> None:
    text = PWD + "\n" + laguna("list") + laguna("read", ("path", "a"))
    assert arguments(text) == [("shell", {"command": "pwd"}), ("list", {}), ("read", {"path": "a"})]
    assert len(find(text).spans) == 3


@pytest.mark.parametrize(
    "wrap", ["<tool_call>\n{}\n</tool_call>", "{}", "{}\n</tool_call>", "<tool_call>{}</tool_call>"]
)
def test_call_16_qwen(wrap: str) -> None:
    content = "  two blanks\n\nend"
    text = wrap.format(qwen("write", ("path", "n.md"), ("content", content)))
    assert arguments(text) == [("write", {"path": "n.md", "content": content})]


@pytest.mark.parametrize("name", ["read", "read_file"])
def test_hermes_json(name: str) -> None:
    text = json.dumps({"name": name, "arguments": {"path": "</tool_call>"}}, indent=1)
    assert arguments(f"<tool_call>\n{text}\n</tool_call>") == [("read", {"path": "</tool_call>"})]


def test_lm_studio() -> None:
    text = '[TOOL_REQUEST]{"name": "read", "arguments": {"path": "a"}}[END_TOOL_REQUEST]'
    assert arguments(text + "\n" + text) == [("read", {"path": "a"})] * 2


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>" + PWD,
        "<tool_call>\n<tool_call>" + PWD + "</tool_call>",
        "<user>" + PWD + "</user>",
        "<user>shell\n<arg_key>command</arg_key>\n<arg_value>pwd</arg_value>\n</user>",
        '<user>\n{"name":"shell","arguments":{"command":"pwd"}}\n</user>',
        '<tool_call>shell{"command":"pwd"}</tool_call>',
        '<tool_call>shell\n{"command":"pwd"}\n</tool_call>',
        '<tool_call>shell\n{"command":"pwd"}\n<tool_call>shell\n{"command":"pwd"}</tool_call>',
        PWD.replace("shell", "\nrun_command\n", 1),
        PWD + "</tool_call>",
    ],
)
def test_variants_that_ollama_has_met(text: str) -> None:
    assert arguments("Now.\n" + text, natural=False) == [("shell", {"command": "pwd"})]


# -- values


@pytest.mark.parametrize("v5", [False, True])
@pytest.mark.parametrize(
    "content", ["", "\n", " a ", "\n\na\n\n", "x</tool_call>y", "<b>&amp;</b>", "a\r\n", '"q"', "{}"]
)
def test_call_18_strings_are_kept_byte_for_byte(content: str, v5: bool) -> None:
    text = laguna("write", ("path", "001"), ("content", content), v5=v5)
    assert arguments(text) == [("write", {"path": "001", "content": content})]


def test_v5_with_every_value_on_lines_of_its_own() -> None:
    text = laguna("write", ("path", "\na\n"), ("content", "\n\n b\n"), v5=True)
    assert arguments(text) == [("write", {"path": "a", "content": "\n b"})]
    assert arguments(laguna("shell", ("command", "\npwd\n"))) == [("shell", {"command": "\npwd\n"})]


@pytest.mark.parametrize(
    ("key", "value", "decoded"),
    [
        ("limit", " 007 ", 7),
        ("limit", "40", 40),
        ("edits", "[{'a':1}]", [{"a": 1}]),
        ("edits", '[{"old": "x", "new": null}]', [{"old": "x", "new": None}]),
        ("dry_run", "True", True),
        ("env", "{'A': 'b'}", {"A": "b"}),
    ],
)
def test_t12_values_of_other_types_are_decoded(key: str, value: str, decoded: Any) -> None:
    name = next(name for name, schema in TOOLS.items() if key in schema["properties"])
    others = [(k, "[]" if k == "edits" else "x") for k in TOOLS[name]["required"] if k != key]
    assert dict(arguments(laguna(name, (key, value), *others)))[name][key] == decoded


def test_t13_a_missing_type_is_decoded_and_a_union_with_string_is_not() -> None:
    schema = {"properties": {"any": {}, "both": {"type": ["string", "null"]}, "one": {"enum": ["1", "2"]}}}
    text = laguna("x", ("any", "123"), ("both", " null"), ("one", "1"))
    call = find_calls(text, {"x": schema}, at_natural_end=True).calls[0]
    assert json.loads(call.arguments) == {"any": 123, "both": " null", "one": "1"}


def test_call_23_aliases_hold_in_markup_too() -> None:
    assert arguments(laguna("read_file", ("filename", "a"))) == [("read", {"path": "a"})]


# -- markup that is not to be run


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (laguna("write", ("path", "a")) + "", '"content" (string) is missing'),
        (laguna("find_text", ("q", "x")), 'no tool named "find_text". The tools are: read, write, edit, shell, list.'),
        (laguna("shell", ("command", "ls"), ("timeout", "three")), 'must be an integer, but "three" was given'),
        (laguna("read", ("path", "a"), ("path", "b")), '"path" is given twice'),
        (laguna("", ("path", "a")), "no tool name"),
        ("<tool_call></tool_call>", "no tool name"),
        ("<tool_call>read<arg_key>path</arg_key></tool_call>", '"path" has no value'),
        ("<tool_call>read<arg_key>path</arg_key><arg_value>a", "</arg_value> is missing"),
        ("<tool_call>read<arg_key>pa", "</arg_key> is missing"),
        ("<tool_call>read<arg_", "not complete"),
        ("<tool_call>list", "stops after the tool's name"),
        ("<tool_call>", "stops after the tool's name"),
        (laguna("write", ("path", "a"), ("content", "x</arg_value>y")), "not complete"),
        (laguna("write", ("path", "a"), ("content", f"x{PWD[:-12]}")), "where it ends is not certain"),
        ('<tool_call>{"name": "read", "arguments": {"path": "a"</tool_call>', "not valid"),
        ('<tool_call>{"arguments": {}}</tool_call>', 'without a "name"'),
        ('<tool_call>read{"path": "a", "path": "b"}</tool_call>', "given twice"),
        (qwen("read", ("path", "a\n<parameter=limit>\n3")), "where it ends is not certain"),
        (PWD + " and then more", "middle of the text"),
        ("First " + PWD + "\nNow the second:\n" + laguna("list"), "middle of the text"),
        ('<tool_call>list\n{}<tool_call>shell\n{"command":"x"}</tool_call>', "is not closed"),
        (PWD + laguna("nothing"), 'no tool named "nothing"'),
    ],
)
def test_rejected_with_the_reason(text: str, why: str) -> None:
    finding = find("Hm. " + text)
    assert why in finding.rejected
    assert finding.before == ("Hm. First " if text.startswith("First") else "Hm. ")


@pytest.mark.parametrize(
    "text",
    [
        PWD[: -len("</tool_call>")],
        PWD[: -len("</tool_call>")] + "\n",
        "<tool_call>\n" + qwen("shell", ("command", "pwd")),
        qwen("shell", ("command", "pwd"))[: -len("</function>")],
        '<tool_call>{"name":"shell","arguments":{"command":"pwd"}}',
        '<tool_call>shell{"command":"pwd"}',
    ],
)
def test_a_missing_last_tag_is_accepted_only_where_the_model_stopped_itself(text: str) -> None:
    assert arguments(text) == [("shell", {"command": "pwd"})]
    assert "not complete" in find(text, natural=False).rejected


@given(st.integers(0, 200))
def test_t3_no_cut_of_a_call_is_run_when_the_limit_ended_the_text(length: int) -> None:
    text = laguna("write", ("path", "a"), ("content", "rm -r build && " * 4))
    assume(length < len(text))
    assert find(text[:length], natural=False).calls == ()


@pytest.mark.parametrize(
    "text",
    [
        "Like this:\n\n```\n" + PWD + "\n```\n\nThat is all; `shell{` starts the older form.",
        "Like this:\n\n```xml\n" + PWD + "\n```",
        "Like this:\n\n```xml\n" + PWD,
        "~~~~\n```\n" + PWD + "\n~~~~\n",
        "Write `" + PWD + "`",
        "Write `` " + PWD + " ``",
        "<tool_call> in prose is a tag",
        "The <tool_call></tool_call> tags",
        'It begins with "<tool_call>".',
        "これは<tool_call>タグです。",
        "<user>hello</user>",
        "<user>",
        'Send <user>{"id": 3}</user>.',
        'Send <user>{"name": "Bo"}</user>',
        "Send <user>name<arg_key>",
        "std::<function=x> is no call",
        "[TOOL_REQUEST] is LM Studio's tag",
        "`shell{` in mid-sentence",
    ],
)
def test_call_17_text_about_calls_stays_text(text: str) -> None:
    assert find(text) == MarkupFinding(before=text)


def test_a_mention_before_a_call_does_not_hide_it() -> None:
    before = "The `<tool_call>` tag, or <tool_call> in prose:\n```\n" + laguna("list") + "\n```\n"
    finding = find(before + PWD)
    assert finding.before == before
    assert [call.name for call in finding.calls] == ["shell"]


def test_a_stray_backtick_before_a_call_does_not_hide_it() -> None:
    text = "It's a ` there. " + laguna("shell", ("command", "echo `date`"))
    assert arguments(text) == [("shell", {"command": "echo `date`"})]


def test_t10_and_call_19_a_call_in_the_middle_of_a_thought() -> None:
    assert find("I could run " + PWD + " but need not.").calls == ()


# -- streaming


STARTS: list[tuple[str, bool | None]] = [
    ("<tool_call>", None),
    ("<tool_call>\n", None),
    ("<tool_call><tool_c", None),
    ("<tool_call>read", None),
    ("<tool_call>read\n", None),
    ("<tool_call>read\n<arg", None),
    ("<tool_call>read<arg_key>", True),
    ("<tool_call>list</tool_call>", True),
    ("<tool_call><arg_key>", True),
    ("<tool_call>{", None),
    ('<tool_call>{"', True),
    ("<tool_call>{x", False),
    ("<tool_call>shell{", None),
    ('<tool_call>shell\n{ "', True),
    ("<tool_call>list{}", True),
    ("<tool_call>shell{}", True),
    ("<tool_call>shell{x", False),
    ("<tool_call>in p", False),
    ("<tool_call>, which", False),
    ("<tool_call>" + "x" * 200, False),
    ("<tool_call>" + " " * 2000, False),
    ("<tool_call>\n<function=", None),
    ("<function=read", None),
    ("<function=read>", None),
    ("<function=read>\n<parameter=", True),
    ("<function=list></function>", True),
    ("<function=read> is", False),
    ("<function= ", False),
    ("[TOOL_REQUEST]", None),
    ('[TOOL_REQUEST]\n{"', True),
    ("[TOOL_REQUEST] is", False),
    ("<user>", None),
    ("<user>read\n<arg_key>", True),
    ("<user>hello</", False),
    ('<user>{"na', None),
    ('<user>{"name"', True),
    ('<user>{"id"', False),
    ('<user>{"na\\', False),
    ("<user><tool_call>read<arg_key>", True),
]


@pytest.mark.parametrize(("text", "verdict"), STARTS)
def test_looks_like_call_start(text: str, verdict: bool | None) -> None:
    assert looks_like_call_start(text) is verdict


markup_text = st.lists(
    st.sampled_from(
        [*OPENERS, "read", "list", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "</tool_call>", " ", "\n",
         "{", "}", '"name"', ":", '"list"', "<parameter=", "path", ">", "</parameter>", "</function>", "`", "```\n"]
    ),
    max_size=14,
).map("".join)  # fmt: skip


@given(st.sampled_from(OPENERS), markup_text)
def test_verdicts_are_final_and_agree_with_the_finding(opener: str, rest: str) -> None:
    text = opener + rest
    verdicts = [looks_like_call_start(text[:end]) for end in range(len(opener), len(text) + 1)]
    decided = [verdict for verdict in verdicts if verdict is not None]
    assert decided == verdicts[len(verdicts) - len(decided) :]
    assert len(set(decided)) <= 1
    finding = find(text)
    if decided and decided[0] is False and finding.spans:
        assert finding.spans[0][0] > 0
    if finding.calls and finding.spans[0][0] == 0:
        assert decided[0] is True


@given(markup_text, st.booleans())
def test_any_text_is_judged_without_raising(text: str, natural: bool) -> None:
    for call in find(text, natural=natural).calls:
        assert call.name in TOOLS


# -- round trip


MARKS = ("<arg_", "</arg_", "<param", "</param")

contents = st.text(st.characters(codec="utf-8"), max_size=40)
changes = st.lists(st.dictionaries(st.text(max_size=3), contents, max_size=2), max_size=3)
values: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"path": contents, "edits": changes}, optional={"dry_run": st.booleans()}
).filter(lambda value: not any(mark in json.dumps(value) for mark in MARKS))


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def render(dialect: str, name: str, value: dict[str, Any]) -> str:
    pairs = [(key, as_text(one)) for key, one in value.items()]
    call = json.dumps({"name": name, "arguments": value}, ensure_ascii=False)
    match dialect:
        case "laguna-v8":
            return laguna(name, *pairs)
        case "laguna-v5":
            return laguna(name, *pairs, v5=True)
        case "qwen":
            return f"<tool_call>\n{qwen(name, *pairs)}\n</tool_call>"
        case "qwen-bare":
            return qwen(name, *pairs)
        case "hermes":
            return f"<tool_call>\n{call}\n</tool_call>"
        case "lm-studio":
            return f"[TOOL_REQUEST]{call}[END_TOOL_REQUEST]"
        case _:
            return f"<tool_call>{name}{json.dumps(value)}</tool_call>"


dialects = st.sampled_from(["laguna-v8", "laguna-v5", "qwen", "qwen-bare", "hermes", "lm-studio", "name-json"])


@given(st.lists(st.tuples(dialects, values), min_size=1, max_size=3))
def test_round_trip_in_every_dialect(calls: list[tuple[str, dict[str, Any]]]) -> None:
    text = "Text before.\n" + "\n".join(render(dialect, "edit", value) for dialect, value in calls)
    assert arguments(text, natural=False) == [("edit", value) for _, value in calls]
