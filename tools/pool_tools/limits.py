"""Limits that several tools share. Sizes of text are in characters, of files in bytes, times in seconds."""

from __future__ import annotations

READ_LINES = 1_000
"""Lines that one `read` shows when the call names no limit."""

READ_CHARS = 32_000
"""Characters of file text that one `read` shows, about 9,000 tokens."""

LINE_CHARS = 2_000
"""Characters of one line that `read` shows."""

EDITABLE_BYTES = 16 * 1024 * 1024
"""Largest file that is taken into memory whole: to edit it, to overwrite it, to learn its encoding."""

REFUSAL_LINES = 400
REFUSAL_CHARS = 12_000
"""A refusal shows a whole file up to this size, else a part of it."""

OUTPUT_HEAD_CHARS = 6_000
OUTPUT_TAIL_CHARS = 10_000
"""Characters of a command's output that the model sees from its start and from its end."""

SHELL_SECONDS = 120.0
SHELL_SECONDS_MOST = 600.0
"""Time limit of a command: by default, and the most that a call can ask for."""

SEARCH_SECONDS = 5.0
SEARCH_HITS = 100
SEARCH_LINE_CHARS = 240

LIST_SECONDS = 5.0
LIST_ENTRIES = 400
WALK_DEPTH = 100
"""Folders below each other that listing and searching go down."""
