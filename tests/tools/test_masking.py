"""Secret values are found in text, in output that comes in pieces, and in their usual spellings."""

from __future__ import annotations

import base64
import json
import re
from itertools import pairwise
from urllib.parse import quote

from hypothesis import example, given
from hypothesis import strategies as st

from pool_tools.masking import LEAST_CHARS, Mask

VALUE = "s3cr3t/+Wert & 'ä'\"x\""
PEM = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END KEY-----\n"


def test_the_usual_spellings_are_replaced() -> None:
    mask = Mask({"API": VALUE})
    assert mask.text(f"a {VALUE} b") == "a [secret API] b"
    lower = re.sub("%..", lambda found: found[0].lower(), quote(VALUE, safe=""))
    for shown in (quote(VALUE), quote(VALUE, safe=""), lower, json.dumps(VALUE)[1:-1], VALUE.encode().hex().upper()):
        assert mask.text(f"<{shown}>") == "<[secret API]>"


@given(st.binary(max_size=7), st.binary(max_size=7))
@example(b"", b"\n")
def test_base64_at_any_place_is_replaced(before: bytes, after: bytes) -> None:
    mask = Mask({"API": VALUE})
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        shown = mask.text(encode(before + VALUE.encode() + after).decode())
        assert "[secret API]" in shown
        assert base64.b64encode(VALUE.encode()[3:-6]).decode() not in shown


def test_a_value_of_several_lines_is_found_line_by_line_and_encoded_in_lines() -> None:
    mask = Mask({"KEY": PEM})
    assert mask.text(f"<{PEM}>") == "<[secret KEY]>"
    assert mask.text("  2|BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj") == "  2|[secret KEY]"
    assert mask.text("-----BEGIN KEY-----") == "-----BEGIN KEY-----"
    assert "MIIE" not in mask.text(PEM.replace("\n", "\r\n"))
    shown = mask.text(base64.encodebytes(PEM.encode()).decode())
    assert set(shown.split("\n")) == {"[secret KEY]", ""}


@given(st.text(min_size=LEAST_CHARS, max_size=30), st.lists(st.integers(0, 200), max_size=12), st.text(max_size=20))
@example("aaaaaaab", [3, 9], "aaaa")
@example("abcabc", [3, 5, 7], "abc")
def test_pieces_give_what_the_whole_gives(value: str, cuts: list[int], beside: str) -> None:
    mask = Mask({"N": value})
    data = f"{beside}{value}{beside}{value[:-1]}|{value}".encode("utf-8", "replace")
    places = sorted({0, *(min(cut, len(data)) for cut in cuts), len(data)})
    stream = mask.stream()
    given_on = b"".join(stream.feed(data[a:b]) for a, b in pairwise(places)) + stream.end()
    assert not mask.holds(given_on.replace(b"[secret N]", b"\0"))
    assert given_on.count(b"[secret N]") >= (1 if "[" not in value + beside else 0)


def test_what_is_no_value_passes_at_once() -> None:
    stream = Mask({"N": "needle-in-hay"}).stream()
    assert stream.feed(b"prompt> ") == b"prompt> "
    assert stream.feed(b"need") == b""
    assert stream.feed(b"less") == b"needless"
    assert stream.feed(b"needle-in") + stream.feed(b"-hay!") == b"[secret N]!"
    assert (stream.feed(b"nee"), stream.end()) == (b"", b"nee")


def test_nothing_to_hide_changes_nothing() -> None:
    mask = Mask({})
    assert not mask
    assert mask.text("abc") == "abc"
    assert mask.stream().feed(b"abc") == b"abc"
