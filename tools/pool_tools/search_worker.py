"""Searching without ripgrep, in a process of its own: a bad pattern can take for ever and holds Python's lock.

Run as a program: takes a JSON object on standard input, prints ripgrep's JSON lines. `sys_path` in it is the caller's
`sys.path`, since the interpreter starts isolated.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

BINARY_BYTES = 64 * 1024
LINE_BYTES = 16 * 1024 * 1024
"""A longer line is searched in pieces."""

BAD_PATTERN = 2
"""Exit status for a pattern that is no regular expression, as ripgrep's."""


def main() -> int:
    """Search as the request says. 0 whether or not something was found."""
    request: dict[str, Any] = json.load(sys.stdin)
    sys.path[:] = request["sys_path"]
    try:
        pattern = re.compile(request["pattern"])
    except re.error as error:
        print(f"{error.msg} at position {error.pos}", file=sys.stderr)
        return BAD_PATTERN
    for path, handle in _files(request):
        with os.fdopen(handle, "rb") as file:
            if b"\0" not in file.read(BINARY_BYTES):
                file.seek(0)
                for hit in _search(path, file, pattern):
                    print(json.dumps(hit), flush=True)
    return 0


def _files(request: dict[str, Any]) -> Iterator[tuple[str, int]]:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    start = os.fsdecode(base64.b64decode(request["start"]))
    if request["file"]:
        yield start, os.open(start, flags)
        return
    from pool_tools.walk import Walker, read_rules

    top = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    folder = os.open(start or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    walker = Walker(start, skip_dependencies=request["skip_dependencies"])
    for entry in walker.walk(folder, read_rules(top) if request["top_rules"] else b""):
        if entry.is_file:
            try:
                yield entry.path, os.open(entry.path, flags)
            except OSError:
                continue


def _search(path: str, file: Any, pattern: re.Pattern[str]) -> Iterator[dict[str, Any]]:
    shown = {"bytes": base64.b64encode(os.fsencode(path)).decode()}
    number = 1
    while raw := file.readline(LINE_BYTES):
        line = raw.decode("utf-8", "surrogateescape")
        if found := pattern.search(line.rstrip("\r\n")):
            start = len(line[: found.start()].encode("utf-8", "surrogateescape"))
            data = {
                "path": shown,
                "lines": {"bytes": base64.b64encode(raw).decode()},
                "line_number": number,
                "submatches": [{"start": start}],
            }
            yield {"type": "match", "data": data}
        number += raw.endswith(b"\n")


if __name__ == "__main__":
    sys.exit(main())
