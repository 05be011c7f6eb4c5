"""A file's bytes as text and back, such that what is not edited keeps its bytes."""

from __future__ import annotations

import codecs
import re

from pool_tools import legacy_encodings
from pool_tools.api import ToolError
from pool_tools.frozen import frozen

BINARY_SAMPLE_BYTES = 8_192

BINARY_CONTROL_SHARE = 0.1
"""Share of control bytes in the sample from which on a file without NUL bytes counts as binary."""

_CONTROL_BYTES = re.compile(rb"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]")

# Longest first: UTF-32's little-endian mark begins like UTF-16's.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# First bytes of formats that people have in their folders; the offset is 0 unless given.
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF87a", "GIF image"),
    (b"GIF89a", "GIF image"),
    (b"BM", "BMP image"),
    (b"\x00\x00\x01\x00", "icon"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive (also office documents, wheels, jars)"),
    (b"PK\x05\x06", "ZIP archive (empty)"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (b"\x7fELF", "ELF program or library"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program or library"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (b"MZ", "Windows program or library"),
    (b"\x00asm", "WebAssembly module"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"GGUF", "GGUF model"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"fLaC", "FLAC audio"),
    (b"wOFF", "web font"),
    (b"wOF2", "web font"),
    (b"\x80\x04\x95", "Python pickle"),
)
_ALWAYS_BINARY = frozenset({"PNG image", "JPEG image", "PDF document", "gzip data", "xz data", "Zstandard data"})


def binary_kind(head: bytes) -> str:
    """What kind of binary file begins with head (at least the first 8,192 bytes of it), "" for text."""
    named = next((name for magic, name in _MAGIC if head.startswith(magic)), "")
    if not named and head[:4] == b"RIFF":
        named = {b"WEBP": "WebP image", b"WAVE": "WAV audio", b"AVI ": "AVI video"}.get(head[8:12], "RIFF data")
    if not named and head[4:8] == b"ftyp":
        named = "MP4 or HEIF media"
    if not named and head[257:262] == b"ustar":
        named = "tar archive"
    if named in _ALWAYS_BINARY:
        return named
    return (named or "binary file") if _is_binary(head[:BINARY_SAMPLE_BYTES]) else ""


def _is_binary(sample: bytes) -> bool:
    if any(sample.startswith(mark) for mark, _ in _MARKS):
        return False
    if b"\x00" in sample:
        return True
    return len(_CONTROL_BYTES.findall(sample)) > BINARY_CONTROL_SHARE * len(sample)


@frozen
class TextFile:
    """A decoded file.

    text has the file's own line ends and no byte order mark; bytes that are not UTF-8 in a file that else is UTF-8
    stand in it as lone surrogates U+DC80 to U+DCFF. codec is Python's name; guessed says that nothing marks it.
    """

    text: str
    codec: str
    mark: bytes = b""
    guessed: bool = False
    stray: bool = False

    def encode(self, text: str) -> bytes:
        """text as bytes of this file. Raises `ToolError` for a character that the encoding lacks."""
        try:
            return self.mark + text.encode(self.codec, self._errors)
        except UnicodeEncodeError as error:
            char = text[error.start]
            guessed = " (guessed from its bytes)" if self.guessed else ""
            raise ToolError(
                f"The file is in {self.codec}{guessed}, which has no {char!r} (U+{ord(char):04X}). Nothing was "
                "changed. Use characters that it has, or convert the whole file first (iconv in the shell)."
            ) from None

    @property
    def _errors(self) -> str:
        if self.codec == "utf-8":
            return "surrogateescape" if self.stray else "strict"
        return "surrogatepass" if self.codec.startswith("utf-") else "strict"

    @property
    def describe(self) -> str:
        """The encoding where it is worth a word: "" for plain UTF-8."""
        if self.stray:
            return "UTF-8 with stray bytes, shown as \\xNN"
        if self.codec == "utf-8":
            return "UTF-8 with byte order mark" if self.mark else ""
        return f"{self.codec}{', guessed' if self.guessed else ''}"


def decode(data: bytes) -> TextFile:
    """The text of data, which is not binary. Always succeeds, and `encode(text)` gives data back."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return _decode_marked(data, mark, codec)
    try:
        return TextFile(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        pass
    if legacy_encodings.is_mostly_utf8(data):
        return TextFile(data.decode("utf-8", "surrogateescape"), "utf-8", stray=True)
    codec = legacy_encodings.guess(data)
    return TextFile(data.decode(codec), codec, guessed=True)


def _decode_marked(data: bytes, mark: bytes, codec: str) -> TextFile:
    body = data[len(mark) :]
    if codec == "utf-8":
        try:
            return TextFile(body.decode("utf-8"), codec, mark)
        except UnicodeDecodeError:
            return TextFile(body.decode("utf-8", "surrogateescape"), codec, mark, stray=True)
    try:
        text = body.decode(codec, "surrogatepass")
        if text.encode(codec, "surrogatepass") == body:
            return TextFile(text, codec, mark)
    except UnicodeError:
        pass
    return TextFile(data.decode("latin-1"), "latin-1", guessed=True)


def line_end(text: str) -> str:
    """The most frequent line end of text: `\\n`, `\\r\\n`, or `\\r` where there is no other; `\\n` if none."""
    crlf = text.count("\r\n")
    bare = text.count("\n") - crlf
    if crlf or bare:
        return "\r\n" if crlf > bare else "\n"
    return "\r" if "\r" in text else "\n"


def to_lf(text: str) -> str:
    """text with `\\n` for `\\r\\n`."""
    return text.replace("\r\n", "\n")


def lines_of(text: str) -> list[str]:
    """The lines of text with their line ends. A lone `\\r` is one only where there is no other."""
    end = "\r" if "\n" not in text and "\r" in text else "\n"
    out = text.split(end)
    last = out.pop()
    return [line + end for line in out] + ([last] if last else [])
