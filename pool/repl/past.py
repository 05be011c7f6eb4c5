"""The prompts sent before, as prompt-toolkit wants its history."""

from __future__ import annotations

from collections.abc import Iterable

from prompt_toolkit.history import History

from pool.facekit.recall import Recall


class Past(History):
    """A view of what `Recall` keeps, which is also who adds to it."""

    def __init__(self, recall: Recall) -> None:
        super().__init__()
        self._recall = recall

    def load_history_strings(self) -> Iterable[str]:
        return list(reversed(self._recall.prompts))

    def store_string(self, string: str) -> None:
        self._recall.add(string)
