"""A measurement as a document: what is written as JSON, and read back to be compared."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pool import __version__
from pool.jsonable import plain
from pool.lab.bench.advice import Advice
from pool.lab.bench.counters import Speculation
from pool.lab.bench.figures import Figures, pooled
from pool.lab.bench.measure import Run
from pool.lab.bench.plan import Cell
from pool.lab.bench.target import Fingerprint

SCHEMA_VERSION = 1
FORMAT = "pool-bench"

Json = Mapping[str, Any]


class NoResult(Exception):
    """A file is no saved measurement. The message says which, and why."""


@dataclass(slots=True)
class Measurement:
    """All that one `pool bench` found. labels and servers are those of the targets, in order.

    advice and together: what depths give for one stream and for the most streams, by target. left_out: cells that could
    not be measured, in words; trouble: what ended it all early.
    """

    protocol: str
    labels: tuple[str, ...] = ()
    servers: tuple[Fingerprint, ...] = ()
    cells: tuple[Cell, ...] = ()
    runs: list[Run] = field(default_factory=list[Run])
    figures: list[Figures] = field(default_factory=list[Figures])
    advice: dict[int, Advice] = field(default_factory=dict[int, Advice])
    together: dict[int, Advice] = field(default_factory=dict[int, Advice])
    left_out: list[str] = field(default_factory=list[str])
    trouble: str = ""

    def speculation(self, target: int) -> Speculation | None:
        """What drafts brought over all of a target's undisturbed runs."""
        return pooled(run for run in self.runs if run.target == target and not run.foreign)

    def document(self) -> dict[str, Any]:
        """As JSON types."""
        return {
            "format": FORMAT,
            "schema_version": SCHEMA_VERSION,
            "pool": __version__,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "machine": machine(),
            "protocol": self.protocol,
            "targets": [self._target(at) for at in range(len(self.servers))],
            "left_out": self.left_out,
            "trouble": self.trouble,
        }

    def _target(self, at: int) -> dict[str, Any]:
        drafted, advice, together = self.speculation(at), self.advice.get(at), self.together.get(at)
        return {
            "label": self.labels[at],
            "server": plain(self.servers[at]),
            "cells": [_cell(f) for f in self.figures if f.target == at],
            "speculation": None if drafted is None else _speculation(drafted),
            "advice": None if advice is None else _advice(advice),
            "advice_together": None if together is None else _advice(together),
            "runs": [_run(run) for run in self.runs if run.target == at],
        }


def machine() -> dict[str, Any]:
    """This machine, on which the client ran: not the server's, unless they are one."""
    return {"system": platform.system(), "machine": platform.machine(), "cpus": os.cpu_count(), "load": _load()}


def _load() -> float | None:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None


def _cell(found: Figures) -> dict[str, Any]:
    figures = plain(found)
    cell = figures.pop("cell")
    figures.pop("target")
    return {"name": found.cell.name, **cell, "figures": figures}


def _speculation(drafted: Speculation) -> dict[str, Any]:
    return {
        "depth": drafted.depth,
        "drafts": drafted.drafts,
        "draft_tokens": drafted.draft_tokens,
        "accepted": drafted.accepted,
        "accepted_length_drafts_only": drafted.drafts_only,
        "accepted_length_with_bonus": drafted.with_bonus,
        "acceptance_rate": drafted.rate,
        "acceptance_by_position": list(drafted.curve),
    }


def _advice(advice: Advice) -> dict[str, Any]:
    return {"streams": advice.streams, "depths": plain(advice.depths), "measure_next": list(advice.best)}


def _run(run: Run) -> dict[str, Any]:
    samples = [{**plain(sample), "decode_rate": sample.decode_rate} for sample in run.samples]
    drafted = None if run.speculation is None else _speculation(run.speculation)
    return {
        "cell": run.cell.name,
        "samples": samples,
        "wall": run.wall,
        "foreign": run.foreign,
        "late": run.late,
        "speculation": drafted,
    }


def load(path: Path) -> Json:
    """A saved measurement. Raises `NoResult`."""
    try:
        value: object = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise NoResult(f"{path}: {getattr(error, 'strerror', None) or 'it is no JSON'}") from error
    if not isinstance(value, dict) or cast(Json, value).get("format") != FORMAT:
        raise NoResult(f"{path}: it was not written by pool bench --save or --json")
    document = cast(Json, value)
    if document.get("schema_version") != SCHEMA_VERSION:
        raise NoResult(f"{path}: schema version {document.get('schema_version')}; this Pool reads {SCHEMA_VERSION}")
    return document


def targets_of(document: Json) -> Sequence[Json]:
    """The targets of a document; what has not their form is left out."""
    listed = document.get("targets")
    return [cast(Json, t) for t in cast(list[Any], listed) if isinstance(t, dict)] if isinstance(listed, list) else []
