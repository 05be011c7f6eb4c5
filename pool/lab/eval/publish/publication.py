"""What is published of an evaluation, as its engine knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from pool_tools.frozen import frozen

Figure = str | int | float | bool | None


@frozen
class PublishedRun:
    """One run of a task. passed and held_out are None where nothing was judged; error says why it could not be.

    trajectory is a file in ATIF, None where there is none. figures are in the order in which they are shown. audit is
    what `Audit.to_dict` gives. pictures are PNG files.
    """

    task: str
    arm: str
    number: int
    passed: bool | None = None
    held_out: bool | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict[str, Figure])
    trajectory: Path | None = None
    answer: str = ""
    diff: str = ""
    audit: Mapping[str, Any] | None = None
    error: str = ""
    pictures: Sequence[Path] = ()


@frozen
class Publication:
    """An evaluation. arms maps each arm's name to what is known of it: server, build, model, settings, as texts.

    started is a time in ISO 8601. report is a page with plots, results the file with all figures; each is copied.
    """

    title: str
    suite: str
    started: str
    pool: str
    arms: Mapping[str, Mapping[str, str]]
    runs: Sequence[PublishedRun]
    report: Path | None = None
    results: Path | None = None
