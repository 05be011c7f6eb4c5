"""Exporting a session's log: read it without its lock, redact it, write it in one of the formats."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any

from pool.messages import valid_text
from pool.sessions.export.atif import trajectory
from pool.sessions.export.chat import chat_lines
from pool.sessions.export.cleanrows import redacted
from pool.sessions.export.fold import folded
from pool.sessions.export.redact import Found, Redactor
from pool.sessions.export.transcript import Transcript
from pool.sessions.log import read_rows
from pool_tools.frozen import frozen


class Format(StrEnum):
    """What a session can be exported as."""

    ATIF = "atif"
    HTML = "html"
    MARKDOWN = "md"
    JSONL = "jsonl"


@frozen
class Read:
    """A session's rows and the transcript made from them; found says what was redacted, None that nothing was."""

    rows: list[dict[str, Any]]
    transcript: Transcript
    found: Found | None


def read_session(path: Path, redactor: Redactor | None) -> Read:
    """Read a log that may be torn, damaged, or still written to. Raises `OSError` if it cannot be read."""
    data = path.read_bytes()
    rows, _ = read_rows(data)
    read = read_rows_of(rows, data.count(b"\n") - len(rows), redactor)
    # A damaged first line: the file's name has the id too.
    read.transcript.id = read.transcript.id or path.stem
    return read


def read_rows_of(rows: list[dict[str, Any]], damaged: int, redactor: Redactor | None) -> Read:
    """As `read_session`, of rows that are there already; damaged counts those that were lost."""
    found = None
    if redactor is not None:
        rows, lost = redacted(rows, redactor)
        damaged, found = damaged + lost, redactor.found
    return Read(rows, folded(rows, damaged), found)


def exported(read: Read, form: Format, *, raw: bool = False) -> str:
    """The file's text. raw: no long text is cut (html, md), no metadata beside the messages (jsonl)."""
    match form:
        case Format.ATIF:
            text = json.dumps(trajectory(read.transcript, read.found), ensure_ascii=False, indent=1) + "\n"
        case Format.HTML:
            from pool.sessions.export.page import Page

            text = Page(read.transcript, read.found, whole=raw).html()
        case Format.MARKDOWN:
            from pool.sessions.export.markdown import markdown

            text = markdown(read.transcript, read.found, whole=raw)
        case Format.JSONL:
            text = _lines(chat_lines(read.rows, read.transcript, read.found, bare=raw))
    return valid_text(text)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
