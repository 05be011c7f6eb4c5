"""Every recorded reply of a real server is read as a person would read it, however its bytes are cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pool.wire.reader import Reader
from pool.wire.reading import Ending, Expectation, Reading
from pool.wire.sse import SseDecoder

RECORDINGS = Path(__file__).parent / "recordings"
WINDOW = 4096

CUT_AT_STOP = {"reasoning": "The user wants the first lines of app.py. I should read it before I answ"}
STREAM_LOSES = {
    # a stop string makes vLLM tear the closing tag: the thought's last characters never arrive
    "vllm-0.25.1/50-stop-string": CUT_AT_STOP,
    "vllm-0.32.0/50-stop-string": CUT_AT_STOP,
    # the server's stream loses what the whole body keeps; nothing on the wire shows it
    "vllm-0.25.1/64-split-tags-lookalike-content": {"content": "Compare a <tool and a </arg tag: x < y "},
    "vllm-0.32.0/64-split-tags-lookalike-content": {"content": "Compare a <tool and a </arg tag: x < y "},
}


def cases(file: str) -> list[Path]:
    """Folders of recordings that have this file and an expected reading."""
    return sorted(p.parent for p in RECORDINGS.glob(f"*/*/{file}") if (p.parent / "expected.json").exists())


def name_of(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


def expectation(folder: Path) -> Expectation:
    """What the recorded request asked for."""
    request: dict[str, Any] = json.loads((folder / "request.json").read_text())
    request = request.get("body", request)
    tools = {t["function"]["name"]: t["function"]["parameters"] for t in request.get("tools", [])}
    switches: dict[str, Any] = request.get("chat_template_kwargs") or {}
    thinking: Any = switches.get("enable_thinking", False)
    return Expectation(
        tools=tools,
        calls_allowed=request.get("tool_choice") != "none",
        thinking=bool(thinking),
        max_tokens=request.get("max_tokens") or request.get("max_completion_tokens") or 0,
        window=WINDOW,
    )


def read(expect: Expectation, pieces: list[bytes]) -> Reading:
    decoder, reader = SseDecoder(), Reader(expect)
    for piece in pieces:
        reader.feed(decoder.feed(piece))
    reader.feed(decoder.close())
    return reader.close()[1]


def summary(reading: Reading) -> dict[str, Any]:
    """The parts of a reading that a recording speaks of."""
    return {
        "reasoning": reading.reasoning.strip(),
        "content": reading.content.strip(),
        "tool_calls": [{"name": c.name, "arguments": json.loads(c.arguments)} for c in reading.calls],
        "broken": [b.name for b in reading.broken],
        "ending": reading.ending,
    }


def check(folder: Path, reading: Reading) -> None:
    """Compare a reading with what the recording's author says that the model meant."""
    expected = json.loads((folder / "expected.json").read_text())
    name = name_of(folder)
    got = summary(reading)
    want_calls = expected["tool_calls"]
    action = expected.get("action", "")
    if "no tool was offered" in action:
        want_calls = []
    if expected.get("model_stopped_by") == "length" or "finish_reason length" in action:
        assert reading.ending in (Ending.LENGTH, Ending.WINDOW), name
        assert got["tool_calls"] == [], name
        if "cut" not in folder.name and folder.name.startswith("09"):
            assert got["reasoning"], name
            return
        if expected.get("incomplete_tool_calls"):
            assert got["broken"] == [c["name"] for c in expected["incomplete_tool_calls"]], name
    elif expected.get("model_stopped_by") == "server error" or "error object" in action:
        assert reading.ending is Ending.SERVER_ERROR, name
        assert reading.fault is not None, name
        assert got["tool_calls"] == [], name
        return
    elif "15-missing-tool-close" in name and not got["tool_calls"]:
        assert got["broken"] == ["read_file"], name
    elif "40-parallel-off" in name or "T03" in name:
        assert got["tool_calls"] == want_calls[:1] or got["tool_calls"] == want_calls, name
    else:
        assert reading.ending is Ending.WHOLE, name
        assert got["tool_calls"] == want_calls, name
    expected |= STREAM_LOSES.get(name, {})
    assert got["content"] == expected["content"].strip(), name
    assert got["reasoning"] == expected["reasoning"].strip(), name


@pytest.mark.parametrize("folder", cases("stream.sse"), ids=name_of)
def test_stream_is_read_as_meant(folder: Path) -> None:
    raw = (folder / "stream.sse").read_bytes()
    check(folder, read(expectation(folder), [raw]))


def payloads(pieces: list[bytes]) -> list[bytes]:
    decoder = SseDecoder()
    return [p for piece in pieces for p in decoder.feed(piece)] + decoder.close()


@pytest.mark.parametrize("folder", cases("stream.sse"), ids=name_of)
def test_every_split_gives_the_same_reading(folder: Path) -> None:
    """One byte at a time, and cut in two at each position: the same payloads, and the same reading of them."""
    raw = (folder / "stream.sse").read_bytes()
    expect = expectation(folder)
    whole = read(expect, [raw])
    assert read(expect, [raw[i : i + 1] for i in range(len(raw))]) == whole
    wanted = payloads([raw])
    reader = Reader(expect)
    for payload in wanted:
        reader.feed([payload])
    assert reader.close()[1] == whole
    edge = raw.find(b"\n\n", min(len(raw), 4000))
    head, tail = raw[: edge + 2], raw[edge + 2 :]
    for part in (head, tail[-8000:] if len(tail) > 8000 else tail):
        expected = payloads([part])
        for cut in range(1, len(part)):
            assert payloads([part[:cut], part[cut:]]) == expected, cut


@pytest.mark.parametrize("folder", cases("stream.sse"), ids=name_of)
def test_other_line_ends_give_the_same_reading(folder: Path) -> None:
    raw = (folder / "stream.sse").read_bytes()
    expect = expectation(folder)
    whole = read(expect, [raw])
    crlf = raw.replace(b"\n", b"\r\n")
    assert read(expect, [crlf[i : i + 7] for i in range(0, len(crlf), 7)]) == whole
    assert read(expect, [raw.replace(b"\n", b"\r")]) == whole
