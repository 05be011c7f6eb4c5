"""Pictures that people paste or drag into a prompt: terminals hand over their path, and the model reads only text."""

from __future__ import annotations

import shlex
from urllib.parse import unquote, urlsplit

from pool_tools.home import expanded

SUFFIXES = frozenset(".png .jpg .jpeg .gif .webp .bmp .tif .tiff .heic .heif .avif .ico".split())

MOST_CHARS = 4096
"""Longer text is no path."""

REASON = "the model reads text only: it gets the path, not the picture"
EMPTY = "no text on the clipboard; pictures cannot be sent, the model reads text only"


def pasted_picture(text: str) -> bool:
    """Whether a pasted text is the path of a picture: plain, in quotation marks, with `\\ ` for blanks, or `file://`."""
    text = text.strip()
    if not text or len(text) > MOST_CHARS or "\n" in text or "\r" in text:
        return False
    if text.startswith("file://"):
        text = unquote(urlsplit(text).path)
    elif text[0] in "'\"" or "\\ " in text:
        try:
            words = shlex.split(text)
        except ValueError:
            return False
        text = words[0] if len(words) == 1 else ""
    try:
        path = expanded(text)
        return path.suffix.lower() in SUFFIXES and path.is_file()
    except (OSError, RuntimeError, ValueError):
        return False
