from __future__ import annotations

import itertools
import json
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.wire.endpoint import REDACTED, parse_endpoint
from pool.wire.trace import TraceWriter, read_trace

KEY = "sk-unique-4711-abcdef"
ENDPOINT = parse_endpoint("http://me:s3cret-pw@h:8000/v1?token=tok-998877", KEY, [("X-Api-Key", "hdr-665544")])
SECRETS = (KEY, "s3cret-pw", "tok-998877", "hdr-665544")


def test_a_reply_is_read_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    writer = TraceWriter(path, ENDPOINT)
    chunks = ["data: 日本\n\n".encode(), "日".encode()[:2], b"\xff\x00", b": ping\n\n"]
    trace = writer.request("http://h:8000/v1/chat/completions", b'{"model":"m"}')
    trace.status(200, {"content-type": "text/event-stream"})
    for chunk in chunks:
        trace.chunk(chunk)
    trace.end({"content": "日本", "calls": [], "usage": {"prompt": 3}})
    writer.close()
    (reply,) = read_trace(path)
    assert json.loads(reply.request) == {"model": "m"}
    assert (reply.status, reply.headers["content-type"], reply.ended) == (200, "text/event-stream", True)
    assert [data for _, data in reply.chunks] == chunks
    assert reply.body == b"".join(chunks)
    times = [reply.status_time, *(moment for moment, _ in reply.chunks)]
    assert times == sorted(times)
    assert reply.reading == {"content": "日本", "calls": [], "usage": {"prompt": 3}}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_secret_reaches_the_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    writer = TraceWriter(path, ENDPOINT)
    trace = writer.request(ENDPOINT.url("chat/completions"), json.dumps({"messages": list(SECRETS)}).encode())
    trace.status(401, {"set-cookie": "session=abc", "x-echo": f"Bearer {KEY}"})
    trace.chunk(f"bad key {KEY}, {SECRETS[1]}".encode())
    trace.end({"fault": {"message": list(SECRETS)}})
    writer.close()
    text = path.read_text()
    for secret in (*SECRETS, "session=abc", dict(ENDPOINT.headers)["Authorization"].removeprefix("Basic ")):
        assert secret not in text
    assert REDACTED in text
    (reply,) = read_trace(path)
    assert reply.status == 401


@given(st.lists(st.integers(0, 60), max_size=6), st.binary(max_size=30), st.binary(max_size=30))
def test_a_secret_cut_into_chunks_is_found_and_nothing_else_is_changed(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], before: bytes, after: bytes
) -> None:
    path = tmp_path_factory.mktemp("trace") / "t.jsonl"
    endpoint = parse_endpoint("h", KEY)
    data = before + KEY.encode() + after
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    writer = TraceWriter(path, endpoint)
    trace = writer.request("http://h", b"{}")
    for a, b in itertools.pairwise(edges):
        trace.chunk(data[a:b])
    trace.end({})
    writer.close()
    (reply,) = read_trace(path)
    assert reply.body == data.replace(KEY.encode(), REDACTED.encode())


def test_replies_may_interleave_and_need_not_end(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    writer = TraceWriter(path, ENDPOINT)
    first, second = writer.request("http://h/1", b"{}"), writer.request("http://h/2", b"{}")
    first.chunk(b"one")
    second.chunk(b"two")
    second.end({})
    first.chunk(b"more")
    writer.close()
    again = TraceWriter(path, ENDPOINT)
    again.request("http://h/3", b"{}").end({"n": 3})
    again.close()
    replies = list(read_trace(path))
    assert [(reply.url[-1], reply.ended) for reply in replies] == [("2", True), ("3", True), ("1", False)]
    assert [reply.body for reply in replies] == [b"two", b"", b"onemore"]


def test_a_torn_line_and_unknown_lines_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    writer = TraceWriter(path, ENDPOINT)
    trace = writer.request("http://h", b"{}")
    trace.chunk(b"kept")
    trace.end({})
    writer.close()
    with path.open("a") as file:
        file.write('{"type":"later-invention","id":"x"}\n[]\nnot json\n{"type":"chunk","id":"zz","te')
    assert [reply.body for reply in read_trace(path)] == [b"kept"]


def test_a_trace_that_cannot_be_written_does_not_stop_anything(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    writer = TraceWriter(blocked / "trace.jsonl", ENDPOINT)
    assert "no trace is written" in writer.failure
    trace = writer.request("http://h", b"{}")
    trace.chunk(b"x")
    trace.end({})
    writer.close()


def test_a_folder_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "typo" / "trace.jsonl", ENDPOINT)
    assert f"the folder {tmp_path / 'typo'} does not exist" in writer.failure
    assert not (tmp_path / "typo").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_ends_the_trace_and_says_so() -> None:
    writer = TraceWriter(Path("/dev/full"), ENDPOINT)
    trace = writer.request("http://h", b"{}")
    assert "No space left" in writer.failure
    trace.end({})
