"""What each prompt of a session changed in files, as its calls told: for choosing one to go back to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from pool.sessions.rewinds import Prompt, Row, prompts
from pool.sessions.summary import count_of, text_of
from pool_tools.frozen import frozen


@frozen
class PromptWork:
    """A prompt that counts, and what its run did. files are the paths that it changed; lines are summed over calls."""

    prompt: Prompt
    files: tuple[str, ...]
    added: int
    removed: int


def prompt_work(rows: Sequence[Row]) -> list[PromptWork]:
    """The session's prompts without those that were taken back, in order."""
    changes: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row.get("type") == "call.finished" and not row.get("agent"):
            changes.setdefault(text_of(row.get("run")), []).extend(_changes(row.get("changes")))
    return [_of(prompt, changes.get(prompt.run, ())) for prompt in prompts(rows)]


def _of(prompt: Prompt, changes: Iterable[dict[str, Any]]) -> PromptWork:
    files: dict[str, None] = {}
    added = removed = 0
    for change in changes:
        files[text_of(change.get("path"))] = None
        added += count_of(change.get("added"))
        removed += count_of(change.get("removed"))
    return PromptWork(prompt, tuple(files), added, removed)


def _changes(value: Any) -> list[dict[str, Any]]:
    found = cast(list[Any], value) if isinstance(value, list) else []
    return [cast(dict[str, Any], one) for one in found if isinstance(one, dict)]
