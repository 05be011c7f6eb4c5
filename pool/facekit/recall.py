"""What was typed before, per workspace: the prompts sent, and the draft that was not.

Kept as JSON lines in the state folder, readable by the user alone. A file that cannot be read or written costs the
history, never the prompt.
"""

from __future__ import annotations

import contextlib
import os
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from pool_tools.home import base_folder

MOST_PROMPTS = 1000
"""Prompts that are kept; the file is cut to half of that when it has grown past it."""

MOST_CHARS = 100_000
"""A longer prompt is sent, but not remembered."""


DRAFT_SUFFIX = ".draft"


def recall_folder() -> Path:
    """The folder of prompt histories, below the user's state folder (XDG)."""
    return base_folder("XDG_STATE_HOME") / "pool" / "prompts"


class Recall:
    """The prompts of one workspace, oldest first, and a place in them while the user looks back."""

    def __init__(self, workspace: Path, folder: Path | None = None) -> None:
        self._folder = folder or recall_folder()
        self.move(workspace)

    def move(self, workspace: Path) -> None:
        """Be the history of another workspace from now on."""
        self._workspace = workspace
        self.__dict__.pop("_path", None)
        self._prompts: list[str] | None = None
        self._at = 0
        self._below = ""

    @cached_property
    def _path(self) -> Path:
        # Not at the top: loading OpenSSL costs a start 3 ms, and most starts have no draft to look for.
        import hashlib

        name = hashlib.sha256(os.fsencode(self._workspace)).hexdigest()[:24]
        return self._folder / f"{name}.jsonl"

    @property
    def _draft(self) -> Path:
        return self._path.with_suffix(DRAFT_SUFFIX)

    @property
    def prompts(self) -> list[str]:
        """All prompts, oldest first; read from disk when first needed."""
        if self._prompts is None:
            self._prompts = _read(self._path)
            self._at = len(self._prompts)
        return self._prompts

    def add(self, prompt: str) -> None:
        """Remember a prompt that was sent, once if it is the same as the last, and leave the past."""
        prompts = self.prompts
        if prompt.strip() and len(prompt) <= MOST_CHARS and prompts[-1:] != [prompt]:
            prompts.append(prompt)
            self._write([prompt], append=True)
        if len(prompts) > MOST_PROMPTS:
            del prompts[: -MOST_PROMPTS // 2]
            self._write(prompts, append=False)
        self._at = len(prompts)

    def back(self, current: str) -> str | None:
        """The prompt before the one shown; None at the oldest. current is kept to come back to."""
        prompts = self.prompts
        if self._at == len(prompts):
            self._below = current
        if self._at == 0:
            return None
        self._at -= 1
        return prompts[self._at]

    def forward(self) -> str | None:
        """The prompt after the one shown, at the end what was typed before; None when not looking back."""
        prompts = self.prompts
        if self._at >= len(prompts):
            return None
        self._at += 1
        return self._below if self._at == len(prompts) else prompts[self._at]

    def search(self, part: str, skip: int = 0) -> str | None:
        """The newest prompt that contains part (case ignored), leaving out the newest skip of them."""
        found = (p for p in reversed(self.prompts) if part.lower() in p.lower())
        for number, prompt in enumerate(dict.fromkeys(found)):
            if number == skip:
                return prompt
        return None

    def save_draft(self, text: str) -> None:
        """Keep what stands in the box for the next start; "" forgets it."""
        with contextlib.suppress(OSError):
            if not text:
                self._draft.unlink(missing_ok=True)
                return
            self._make_folder()
            _write_private(self._draft, text.encode("utf-8", "surrogatepass"), append=False)

    def draft(self) -> str:
        """The draft of the last start, "" if there is none."""
        try:
            if not any(name.endswith(DRAFT_SUFFIX) for name in os.listdir(self._folder)):
                return ""
            return self._draft.read_bytes().decode("utf-8", "replace")[:MOST_CHARS]
        except OSError:
            return ""

    def _write(self, prompts: list[str], *, append: bool) -> None:
        import json

        rows = "".join(json.dumps({"prompt": p}) + "\n" for p in prompts)
        with contextlib.suppress(OSError):
            self._make_folder()
            _write_private(self._path, rows.encode(), append=append)

    def _make_folder(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def _write_private(path: Path, data: bytes, *, append: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else os.O_TRUNC)
    handle = os.open(path, flags, 0o600)
    try:
        os.write(handle, data)
    finally:
        os.close(handle)


def _read(path: Path) -> list[str]:
    import json

    prompts: list[str] = []
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return []
    for line in lines:
        try:
            row: Any = json.loads(line)
        except ValueError:
            continue
        prompt = cast(dict[str, Any], row).get("prompt") if isinstance(row, dict) else None
        if isinstance(prompt, str):
            prompts.append(prompt)
    return prompts[-MOST_PROMPTS:]
