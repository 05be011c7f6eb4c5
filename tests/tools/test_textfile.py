from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool_tools import ToolError
from pool_tools.textfile import binary_kind, decode, line_end, lines_of

SENTENCES = {
    "cp932": "設定=1\n名前=2\n# これは日本語の設定ファイルです\n",
    "euc_jp": "設定=1\n# これはテストです。日本語の設定ファイル\n",
    "cp949": "이름=값\n# 한국어 설정 파일입니다\n",
    "gb18030": "设置=1\n# 这是中文的配置文件，请不要修改\n",
    "big5": "設定=1\n# 這是中文的設定檔，請不要修改\n",
    "cp1251": "# Это файл настроек, не изменять\nимя=1\n",
    "koi8_r": "# Это файл настроек, не изменять\nимя=1\n",
    "cp1252": "naïve café “don’t” Größe Straße\n",
}


@given(st.binary())
def test_any_bytes_come_back(data: bytes) -> None:
    file = decode(data)
    assert file.encode(file.text) == data


@given(st.sampled_from(sorted(SENTENCES)), st.data())
def test_bytes_outside_an_edit_stay_in_every_encoding(codec: str, data: st.DataObject) -> None:
    raw = SENTENCES[codec].encode(codec) * 3
    file = decode(raw)
    lines = lines_of(file.text)
    at = data.draw(st.integers(0, len(lines) - 1))
    edited = file.encode("".join([*lines[:at], "ascii = only\n", *lines[at + 1 :]]))
    before = file.encode("".join(lines[:at]))
    after = file.encode("".join(lines[at + 1 :]))
    assert edited == before + b"ascii = only\n" + after
    assert raw.startswith(before)
    assert raw.endswith(after)


@pytest.mark.parametrize("codec", sorted(SENTENCES))
def test_legacy_encodings_are_recognised(codec: str) -> None:
    file = decode(SENTENCES[codec].encode(codec))
    assert file.codec == codec
    assert file.guessed
    assert file.text == SENTENCES[codec]


@pytest.mark.parametrize("word", ["na\xefve", "don\x92t", "\xe9t\xe9", "fa\xe7ade", "Gr\xf6\xdfe"])
def test_accents_of_western_words_are_no_asian_characters(word: str) -> None:
    assert decode(word.encode("latin-1") + b"\n").codec == "cp1252"


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32"])
def test_marks_are_kept_and_not_shown(codec: str) -> None:
    raw = "größe\r\n".encode(codec)
    file = decode(raw)
    assert file.text == "größe\r\n"
    assert file.encode(file.text) == raw
    assert binary_kind(raw) == ""


def test_utf8_with_stray_bytes_stays_utf8() -> None:
    file = decode("größe ä ö\n".encode() + b"\xff\n")
    assert file.stray
    assert file.encode(file.text + "ü") == "größe ä ö\n".encode() + b"\xff\n" + "ü".encode()


def test_a_character_that_the_encoding_lacks_is_refused() -> None:
    with pytest.raises(ToolError, match=r"cp932 .*U\+1F680"):
        decode(SENTENCES["cp932"].encode("cp932")).encode("🚀")


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n...", "PNG image"),
        (b"%PDF-1.7\n", "PDF document"),
        (b"\x7fELF\x02\x01\x01\0", "ELF program or library"),
        (b"RIFF\x00\x00\x00\x00WEBP", "WebP image"),
        (b"a\0b", "binary file"),
        (b"\x01\x02\x03\x04text", "binary file"),
        (b"BMW is a car\n", ""),
        (b"MZ text\n", ""),
        (b"\x1b[31mred\x1b[0m\n", ""),
        (b"", ""),
    ],
)
def test_binary_kinds(head: bytes, kind: str) -> None:
    assert binary_kind(head) == kind


@pytest.mark.parametrize(
    ("text", "end"),
    [("a\nb\r\nc\n", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\rb", "\r"), ("", "\n"), ("a\r\nb\n", "\n")],
)
def test_most_frequent_line_end(text: str, end: str) -> None:
    assert line_end(text) == end


@given(st.text(alphabet="ab\r\n\u2028\x0c", max_size=40))
def test_lines_join_to_the_text(text: str) -> None:
    lines = lines_of(text)
    assert "".join(lines) == text
    assert all(lines)
    assert not any(line[:-1].count("\n") for line in lines)
