"""An evaluation that was made, as the publication of `pool eval --publish`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pool.lab.eval.publish import Publication, PublishedRun, publish
from pool.lab.eval.publish.publication import Figure
from pool.lab.eval.row import Row

_FIGURES = ("turns", "calls", "prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")


def published(folder: Path, into: Path, facts: Mapping[str, str], rows: Sequence[Row]) -> list[str]:
    """Write the site; what is to be said of it. Raises `PublishProblem`, OSError."""
    arms: dict[str, dict[str, str]] = {}
    for row in rows:
        arms.setdefault(row.arm_name, {"server": row.server, "model": row.model, "build": row.build, "Pool": row.pool})
    return publish(
        Publication(
            f"pool eval {facts['suite']}",
            facts["suite"],
            facts["started"],
            facts["Pool"],
            arms,
            [_run(folder, row) for row in rows],
            folder / "report.html",
            folder / "results.jsonl",
        ),
        into,
    )


def _run(folder: Path, row: Row) -> PublishedRun:
    left = folder / row.folder / "agent"
    figures: dict[str, Figure] = {name.replace("_", " "): getattr(row, name) for name in _FIGURES}
    figures |= {"seconds": round(row.seconds, 1), "ended": row.reason, "guards": ", ".join(row.guards)}
    trajectory = left / "trajectory.json"
    return PublishedRun(
        row.task,
        row.arm_name,
        row.number,
        row.solved,
        None if row.held_out is None else row.held_out >= 1.0,
        figures,
        trajectory if trajectory.is_file() else None,
        _text(left / "answer.txt"),
        _text(left / "changes.diff"),
        _audit(left / "audit.json"),
        row.error,
        sorted((folder / row.folder / "verifier").glob("*.png")),
    )


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace") if path.is_file() else ""


def _audit(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text("utf-8")) if path.is_file() else None
