"""Guessing the encoding of bytes that are neither UTF-8 nor marked.

A guess decides only how such bytes are shown and how new letters are written: bytes that an edit does not touch stay
as they are whatever was guessed, because only encodings that give the same bytes back are taken.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from functools import partial

SAMPLE_BYTES = 64 * 1024

GOOD_SCORE = 0.75
"""Share of the non-ASCII characters that must be common ones of the language for its encoding to be taken."""

WORD_LETTERS = 3
"""Shortest run of Cyrillic letters that counts as a word: two may be the accents of a Western one."""

_UTF8_CHAR = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH = re.compile(rb"[\x80-\xff]")
_FOREIGN_RUN = re.compile(r"[^\x00-\x7f]+")
_KANA_OR_MARK = re.compile(r"[\u3000-\u30ff\uff01-\uff5e]")
_CYRILLIC = re.compile(r"[А-Яа-яЁёІіЇїЄєЎўҐґ]")
_CASE_BREAK = re.compile(r"[а-яё][А-ЯЁ]")


def is_mostly_utf8(data: bytes) -> bool:
    """Whether data that is not valid UTF-8 is UTF-8 with some stray bytes nevertheless."""
    sample = data[:SAMPLE_BYTES]
    whole = sum(len(m[0]) for m in _UTF8_CHAR.finditer(sample))
    return whole * 2 > len(_HIGH.findall(sample))


def guess(data: bytes) -> str:
    """The Python codec that fits data best; `latin-1`, which takes any bytes, if none does."""
    sample = data[:SAMPLE_BYTES]
    scored = sorted(((score(sample), -rank, name) for rank, (name, score) in enumerate(_SCORES)), reverse=True)
    for value, _, name in scored:
        if value >= GOOD_SCORE and reads_back(data, name):
            return name
    return "cp1252" if reads_back(data, "cp1252") else "latin-1"


def reads_back(data: bytes, codec: str) -> bool:
    """Whether data survives decoding and encoding unchanged."""
    try:
        return data.decode(codec).encode(codec) == data
    except UnicodeError:
        return False


def _decoded(sample: bytes, codec: str) -> str | None:
    try:
        return codecs.getincrementaldecoder(codec)().decode(sample)
    except UnicodeError:
        return None


def _lead(char: str, codec: str) -> int:
    """First byte of char in a two-byte codec, 0 where it has none."""
    try:
        raw = char.encode(codec)
    except UnicodeError:
        return 0
    return raw[0] if len(raw) == 2 else 0


def _east_asian(codec: str, table: str, first: int, last: int, kana: bool, sample: bytes) -> float:
    """Share of characters that are in the table's most frequent rows (lead bytes first to last).

    Lone characters between ASCII count as bad: an accent in a Western word looks just like that.
    """
    text = _decoded(sample, codec)
    if text is None:
        return 0.0
    good = total = 0
    for run in _FOREIGN_RUN.findall(text):
        total += len(run)
        if len(run) > 1:
            common = set(run)
            common = {c for c in common if _common(c, table, first, last, kana)}
            good += sum(c in common for c in run)
    return good / total if total else 0.0


def _common(char: str, table: str, first: int, last: int, kana: bool) -> bool:
    if _KANA_OR_MARK.match(char):
        return kana or not "\u3041" <= char <= "\u30ff"
    return first <= _lead(char, table) <= last


def _cyrillic(codec: str, sample: bytes) -> float:
    """Share of characters that are Cyrillic letters of a word; a capital inside a word speaks against it."""
    text = _decoded(sample, codec)
    if text is None:
        return 0.0
    runs = _FOREIGN_RUN.findall(text)
    total = sum(map(len, runs))
    letters = sum(len(_CYRILLIC.findall(run)) for run in runs if len(run) >= WORD_LETTERS)
    return (letters - 2 * len(_CASE_BREAK.findall(text))) / total if total else 0.0


# Rows of the most frequent characters: JIS X 0208 level 1, KS X 1001 hangul, GB 2312 level 1, Big5 level 1. Of equal
# scores the first wins: Korean also looks like the common rows of Japanese and Chinese, but not the other way round.
_SCORES: tuple[tuple[str, Callable[[bytes], float]], ...] = (
    ("cp932", partial(_east_asian, "cp932", "euc_jp", 0xB0, 0xCF, True)),
    ("cp949", partial(_east_asian, "cp949", "euc_kr", 0xB0, 0xC8, False)),
    ("euc_jp", partial(_east_asian, "euc_jp", "euc_jp", 0xB0, 0xCF, True)),
    ("gb18030", partial(_east_asian, "gb18030", "gb2312", 0xB0, 0xD7, False)),
    ("big5", partial(_east_asian, "big5", "big5", 0xA4, 0xC6, False)),
    ("cp1251", partial(_cyrillic, "cp1251")),
    ("koi8_r", partial(_cyrillic, "koi8_r")),
)
