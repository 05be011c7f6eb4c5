from __future__ import annotations

import random
import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pool_tools.binary import BLOCK_BYTES
from pool_tools.capture import LIVE_CHARS, HeadTail, OutputCapture
from pool_tools.terminal import EscapeStripper, LineFolder

ESC = b"\x1b"


def shown(*chunks: bytes) -> str:
    folder = LineFolder()
    stripper = EscapeStripper(folder)
    for chunk in chunks:
        stripper.feed(chunk)
    stripper.close()
    return folder.take() + folder.line


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x1b[31mred\x1b[0m\n", "red\n"),
        (b"\x1b[38;2;1;2;3mrgb\x1b[m", "rgb"),
        (b"a\x1b]0;title\x07b", "ab"),
        (b"a\x1b]52;c;c2VjcmV0\x1b\\b", "ab"),
        (b"a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
        (b"a\x1bPq#0;2;0~-\x1b\\b", "ab"),
        (b"a\x1b_apc\x1b\\b\x1b^pm\x1b\\c", "abc"),
        (b"a\xc2\x9b31mb\xc2\x9d0;t\x07c\xc2\x90x\xc2\x9cd", "abcd"),
        (b"a\x1b(Bb\x1b#8c\x1b=d\x1bce", "abcde"),
        (b"a\x1b[2Jb\x1b[10;10Hc\x1b[?25ld", "abcd"),
        (b"\x1b]0;open title\nnext\n", "\nnext\n"),
        (b"a\x1b[31\x1b[32mb", "ab"),
        (b"a\x1b[3\nb", "a\nb"),
        (b"a\x1b]0;t\x1b[31mb", "ab"),
        (b"a\xffb\xfe", "a\\xffb\\xfe"),
        (b"\xe2\x82", "\\xe2\\x82"),
        (b"\xed\xa0\xbd", "\\xed\\xa0\\xbd"),
        (b"a\0b\x07c\x7fd", "a\\0bcd"),
        ("a\u202eb\u2066c".encode(), "a\\u202eb\\u2066c"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"1%\r2%\r3%\nok\n", "3%\nok\n"),
        (b"1%\r2%\r", "2%"),
        (b"wait |\b/\b-\bdone\n", "wait done\n"),
        (b"long line\r\x1b[Kshort\n", "short\n"),
        (b"bar 50%\x1b[2K\x1b[Gbar 100%\n", "bar 100%\n"),
        (b"bar\r\x1b[K\n", "\n"),
        (b"a\x0cb", "a\nb"),
        ("日本語 👩‍💻 é\n".encode(), "日本語 👩‍💻 é\n"),
    ],
)
def test_what_a_terminal_would_show(raw: bytes, text: str) -> None:
    assert shown(raw) == text
    assert shown(*(raw[i : i + 1] for i in range(len(raw)))) == text


ALONE = (
    b"text|a|\n|\r\n|\r|\r\r|\b|\b\b|x\b|\x1b|[|]|31m|0;|K|2K|G|\x07|\x1b\\|P|(|B|_|\x18|\xff|\0|\xc2\x9b|\xc2\x90"
).split(b"|")
WHOLE = (
    b"\x1b[31m|\x1b[0m|\x1b[1;2H|\x1b[K|\x1b[1K|\x1b[2K|\x1b[G|\x1b[9G|\x1bM|\x1b]0;t\x07|\x1b]8;;u\x1b\\|\xc3\xa9|"
    b"\xe2\x80\xae|\x0c|\xc2\x85"
).split(b"|")
PIECES = st.sampled_from(ALONE) | st.sampled_from(WHOLE)


@given(st.lists(PIECES, max_size=30).map(b"".join), st.lists(st.integers(0, 100), max_size=6))
@example(b"\x1b(\x1b[0mB", [])
@example(b"\x1b\x1b[0mP", [])
@example(b"\x1b]0;\x1b[0mx", [])
@example(b"\x1b[\x1b[0m2Ka\x1b[0m", [])
@example(b"ab\rc\b", [])
@example(b"ab\r\bx\b", [])
def test_pieces_do_not_matter(raw: bytes, cuts: list[int]) -> None:
    edges = sorted({0, len(raw), *(min(c, len(raw)) for c in cuts)})
    chunks = [raw[a:b] for a, b in pairwise(edges)]
    assert shown(*chunks) == shown(*(raw[i : i + 1] for i in range(len(raw))))


@given(st.binary(max_size=200))
def test_no_control_ever_comes_through(raw: bytes) -> None:
    text = shown(raw)
    text.encode()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


@given(st.lists(st.text(alphabet="ab\n", max_size=30)), st.integers(1, 20), st.integers(1, 20))
def test_head_and_tail_are_the_texts_own(parts: list[str], head: int, tail: int) -> None:
    kept = HeadTail(head, tail)
    for part in parts:
        kept.add(part)
    whole = "".join(parts)
    first, last, chars, lines = kept.parts()
    assert whole.startswith(first)
    assert whole.endswith(last)
    assert len(first) + chars + len(last) == len(whole)
    assert lines == whole[len(first) : len(whole) - len(last)].count("\n")
    assert (chars == 0) == (len(whole) <= head + tail)


def test_live_text_says_when_a_line_begins_anew() -> None:
    capture = OutputCapture()
    said: list[str] = []
    for data in (b"\r1%", b"\r2%", b" of all", b"\r3%\ndone\npart", b"ial\n"):
        capture.feed(data)
        said.append(capture.live())
    assert said == ["1%", "\r2%", " of all", "\r3%\ndone\npart", "ial\n"]


def test_live_text_is_bounded() -> None:
    capture = OutputCapture()
    capture.feed(b"x\n" * 100_000)
    assert len(capture.live()) <= LIVE_CHARS + 1
    assert capture.live() == ""


def captured(*chunks: bytes) -> OutputCapture:
    capture = OutputCapture()
    for chunk in chunks:
        capture.feed(chunk)
    capture.close()
    return capture


def test_binary_output_is_named() -> None:
    text = captured(b"\x7fELF\x02" + bytes(range(256)) * 100).text()
    assert text.startswith("[binary output, 25.6 kB, beginning with \\x7fELF\\x02\\x00")
    assert text.endswith(", not shown]")


@pytest.mark.parametrize("chunk", [300, 65_536, 4_000_000])
@pytest.mark.parametrize("raw", [bytes(4_000_000), random.Random(7).randbytes(4_000_000)], ids=["zero", "random"])
def test_of_much_binary_output_only_the_head_is_kept(raw: bytes, chunk: int) -> None:
    pieces = [raw[i : i + chunk] for i in range(0, len(raw), chunk)]
    assert captured(*pieces).text().startswith("[binary output, 4.0 MB, beginning with ")
    assert len(shown(*pieces)) < 1_000


def test_binary_data_between_texts_is_left_out_alone() -> None:
    raw = random.Random(7).randbytes(4 * BLOCK_BYTES)
    text = captured(b"before\n" * 50_000, raw, b"\nafter\n" * 50_000).text()
    assert text.startswith("before\nbefore\n")
    assert text.endswith("after\n")
    assert "beginning with" not in text
    text = shown(b"before\n", raw, b"\n" + b"after\n" * 40)
    head, tail = text.split("[binary data, beginning with ")
    assert (head, tail[tail.index("]\n") :]) == ("before\n", "]\n" + "after\n" * 40)
    assert ", 65.5 kB, not shown]" in tail


def test_an_escape_that_binary_data_broke_off_does_not_swallow_what_follows() -> None:
    text = shown(b"a\x1b]0;title", bytes(BLOCK_BYTES), b"text\n" * 100)
    assert text.endswith("not shown]" + "text\n" * 100)


def test_names_separated_by_nul_are_text() -> None:
    capture = OutputCapture()
    capture.feed(b"some/long/file/name.py\0" * 100)
    capture.close()
    assert capture.text().startswith("some/long/file/name.py\\0some")
