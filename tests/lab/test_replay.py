"""`pool replay`: reads any file, and shows nothing of it as more than text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.lab.replay import EXIT_DIFFERS, EXIT_USAGE, expectation_of, main, read_again
from pool.wire.endpoint import parse_endpoint
from pool.wire.reading import Ending
from pool.wire.trace import TraceWriter, read_trace

EVIL = "x\x1b]0;gone\x07\x00\npool: all is well\u202e"


def traced(path: Path, *chunks: bytes, body: bytes = b"{}") -> Path:
    writer = TraceWriter(path, parse_endpoint("h"))
    reply = writer.request("http://h", body)
    reply.status(200, {})
    for chunk in chunks:
        reply.chunk(chunk)
    reply.end({"content": EVIL, "problem": EVIL})
    writer.close()
    return path


def event(choice: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


def test_no_text_of_a_server_reaches_the_terminal_raw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = [{"index": i, "function": {"name": EVIL, "arguments": a}} for i, a in enumerate(("{}", "{"))]
    path = traced(
        tmp_path / "t",
        event({"delta": {"reasoning": EVIL, "content": EVIL, "tool_calls": calls}}),
        event({"delta": {}, "finish_reason": EVIL, "stop_reason": EVIL}),
        event({"delta": {}, "finish_reason": "stop"}),
    )
    main([str(path)])
    out = capsys.readouterr().out
    assert out.count("\\x1b]0;gone\\x07\\x00") >= 4
    assert all(ch.isprintable() or ch == "\n" for ch in out)
    assert not any(line.startswith("pool:") for line in out.splitlines())


def test_a_line_that_is_nested_too_deeply_is_skipped(tmp_path: Path) -> None:
    path = traced(tmp_path / "t", event({"delta": {"content": "A"}, "finish_reason": "stop"}))
    with path.open("a") as file:
        file.write("[" * 200_000 + "\n")
    (reply,) = read_trace(path)
    assert read_again(reply).ending is Ending.WHOLE


def test_a_file_that_is_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t").write_bytes(b"\x00\xff\n{}\n")
    assert main([str(tmp_path / "t")]) == EXIT_USAGE
    assert main([str(tmp_path / "none")]) == EXIT_USAGE
    assert main(["a\x00b"]) == EXIT_USAGE
    assert capsys.readouterr().err.count("pool replay:") == 3


def test_what_a_request_expected() -> None:
    tool = {"type": "function", "function": {"name": "shell", "parameters": {"type": "object"}}}
    expect = expectation_of(json.dumps({"tools": [tool], "max_tokens": 64, "tool_choice": "none"}), 4096)
    assert (dict(expect.tools), expect.max_tokens, expect.window) == ({"shell": {"type": "object"}}, 64, 4096)
    assert not expect.calls_allowed
    assert expectation_of('{"options": {"num_predict": 7}}').max_tokens == 7


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["tools", "function", "name", "options", "max_tokens"]), inner, max_size=3)
    ),
    max_leaves=6,
)
LINES = st.fixed_dictionaries(
    {"type": st.sampled_from(["request", "status", "chunk", "end"]), "id": st.sampled_from(["a", "b"])},
    optional=dict.fromkeys(("t", "wall", "url", "status", "headers", "text", "base64", "reading", "body"), JSON),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(LINES, max_size=6), JSON, st.booleans())
def test_any_lines_are_read(
    tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, Any]], body: Any, as_json: bool
) -> None:
    path = tmp_path_factory.mktemp("trace") / "t"
    first = {"type": "request", "id": "a", "body": json.dumps(body)}
    path.write_text("".join(json.dumps(line) + "\n" for line in (first, *lines)), "utf-8")
    assert main([str(path), *(["--json"] if as_json else [])]) in (0, EXIT_DIFFERS)
