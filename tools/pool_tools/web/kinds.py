"""Which answers are text, and in which encoding."""

from __future__ import annotations

import codecs
import re

from pool_tools.frozen import frozen
from pool_tools.legacy_encodings import guess

HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = frozenset(
    "application/json application/xml application/javascript application/ecmascript application/x-javascript "
    "application/yaml application/x-yaml application/toml application/x-sh application/sql application/x-ndjson "
    "application/graphql application/rtf application/x-httpd-php".split()
)
_TEXT_ENDS = ("+json", "+xml", "+yaml")
_UNSAID = frozenset({"", "application/octet-stream", "binary/octet-stream"})

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_META_BYTES = 4_096
_SNIFF_BYTES = 64 * 1024
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_LOOKS_HTML = re.compile(
    rb"\s*(?:<!--.{0,2000}?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)

# What these names mean on the web (WHATWG's encoding standard) is not what they mean to Python.
_WEB_NAMES = {"iso-8859-1": "cp1252", "latin1": "cp1252", "latin-1": "cp1252", "us-ascii": "cp1252", "ascii": "cp1252"}


@frozen
class Kind:
    """name is the media type, lower case, "" if none was said. charset is "" where none was said."""

    name: str
    charset: str = ""

    @property
    def may_be_text(self) -> bool:
        """Whether the body is worth reading: it is text, or nothing is said."""
        known = self.name.startswith("text/") or self.name in HTML or self.name in _TEXT or self.name in _UNSAID
        return known or self.name.endswith(_TEXT_ENDS)


def kind_of(content_type: str) -> Kind:
    """The kind by a Content-Type field."""
    name = content_type.partition(";")[0].strip().lower()
    charset = _CHARSET.search(content_type)
    return Kind(name, charset[1].lower() if charset else "")


def is_html(kind: Kind, body: bytes) -> bool:
    """Whether a body is HTML: by its kind, by its looks where nothing is said."""
    return kind.name in HTML or (kind.name in _UNSAID and _LOOKS_HTML.match(body) is not None)


def is_text(body: bytes) -> bool:
    """Whether bytes of an unsaid or textual kind are text indeed."""
    return body.startswith(tuple(mark for mark, _ in _MARKS)) or b"\0" not in body[:_SNIFF_BYTES]


def decoded(kind: Kind, body: bytes) -> str:
    """The text: by its byte order mark, what the server says, what the page says, UTF-8, or the best guess."""
    meta = _META.search(body[:_META_BYTES])
    told = (kind.charset, meta[1].decode("ascii").lower() if meta else "")
    marked = next((codec for mark, codec in _MARKS if body.startswith(mark)), "")
    for name in filter(None, (marked, *told)):
        codec = _WEB_NAMES.get(name, name)
        try:
            return body.decode(codec, "replace")
        except (LookupError, ValueError):
            # No such encoding, or one that is none of text.
            continue
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode(guess(body), "replace")
