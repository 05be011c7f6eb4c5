"""How far the audit can be trusted: runs that a person has labelled, and what the audit said of them.

Unfair is what is looked for. Precision is the share of flagged runs that are unfair, recall the share of unfair ones
that are flagged; both with their n and a 95 % interval, since a share of few runs says little.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from pool.agent.audit.audit import Audit
from pool.agent.audit.facts import AuditProblem
from pool.agent.audit.finding import SIGNALS
from pool.agent.audit.verdict import Verdict
from pool_tools.frozen import frozen

FLAGGED = frozenset({Verdict.SUSPECTED, Verdict.CONTRADICTED})
Z_95 = 1.96
NAME_COLUMNS, SHARE_COLUMNS = 25, 28
FILE_NAME = "calibration.jsonl"
_MODE = 0o600


@frozen
class Labelled:
    """A run with a person's label. flagged: the audit suspected or contradicted it; signals are those that it saw."""

    source: str
    fair: bool
    verdict: str
    flagged: bool
    signals: tuple[str, ...] = ()
    note: str = ""


@frozen
class Share:
    """hits of n; low and high bound its 95 % interval (Wilson)."""

    hits: int
    n: int

    @property
    def bounds(self) -> tuple[float, float]:
        if not self.n:
            return 0.0, 1.0
        share, z2 = self.hits / self.n, Z_95 * Z_95
        middle = (share + z2 / (2 * self.n)) / (1 + z2 / self.n)
        half = Z_95 * math.sqrt(share * (1 - share) / self.n + z2 / (4 * self.n * self.n)) / (1 + z2 / self.n)
        return max(0.0, middle - half), min(1.0, middle + half)

    @property
    def shown(self) -> str:
        """`19 of 20 = 95 % (76-99)`."""
        if not self.n:
            return "0 of 0"
        low, high = self.bounds
        return f"{self.hits} of {self.n} = {self.hits / self.n:.0%} ({100 * low:.0f}-{100 * high:.0f})".replace(
            "%", " %"
        )


def labelled(audit: Audit, *, fair: bool, note: str = "") -> Labelled:
    """A label for a run that was audited."""
    names = tuple(sorted({one.name for one in audit.open_findings}))
    return Labelled(audit.record.source, fair, audit.verdict.value, audit.verdict in FLAGGED, names, note)


def add(place: Path, row: Labelled) -> None:
    """Keep a label. Raises `OSError`."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    value = {"source": row.source, "fair": row.fair, "verdict": row.verdict, "flagged": row.flagged}
    value |= {"signals": list(row.signals), "note": row.note, "at": round(time.time(), 3)}
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _MODE)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(json.dumps(value) + "\n")


def read(place: Path) -> list[Labelled]:
    """All labels, the last one of each run. Raises `AuditProblem` if a line is no label, and `OSError`."""
    out: dict[str, Labelled] = {}
    for number, line in enumerate(place.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row: Any = json.loads(line)
            one = _row(cast(dict[str, Any], row))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise AuditProblem(f"{place}, line {number}: a label was expected, with source, fair and flagged") from None
        out[one.source] = one
    return list(out.values())


def _row(row: dict[str, Any]) -> Labelled:
    fair, flagged = row["fair"], row["flagged"]
    if not isinstance(fair, bool) or not isinstance(flagged, bool):
        raise TypeError
    signals = tuple(str(name) for name in row.get("signals", ()))
    return Labelled(str(row["source"]), fair, str(row.get("verdict", "")), flagged, signals, str(row.get("note", "")))


def table(rows: Sequence[Labelled]) -> Iterator[str]:
    """Precision, recall and n, over all and by signal."""
    unfair = [row for row in rows if not row.fair]
    yield f"{len(rows)} labelled runs: {len(unfair)} unfair, {len(rows) - len(unfair)} fair (95 % intervals)"
    yield f"{'':<{NAME_COLUMNS}}{'precision':<{SHARE_COLUMNS}}recall"
    yield _line("suspected, contradicted", [row for row in rows if row.flagged], len(unfair))
    for name in SIGNALS.values():
        hit = [row for row in rows if name in row.signals]
        if hit:
            yield _line(name, hit, len(unfair))


def _line(name: str, hit: Sequence[Labelled], unfair: int) -> str:
    right = sum(not row.fair for row in hit)
    shares = f"{Share(right, len(hit)).shown:<{SHARE_COLUMNS}}{Share(right, unfair).shown}"
    return f"{name:<{NAME_COLUMNS}}{shares}"


def to_dict(rows: Sequence[Labelled]) -> dict[str, Any]:
    """The same for JSON."""
    unfair = sum(not row.fair for row in rows)
    groups = {"flagged": [row for row in rows if row.flagged]}
    groups |= {name: [row for row in rows if name in row.signals] for name in SIGNALS.values()}
    out = {name: _measures(hit, unfair) for name, hit in groups.items() if hit or name == "flagged"}
    return {"type": "audit.calibration", "v": 1, "runs": len(rows), "unfair": unfair, "of": out}


def _measures(hit: Sequence[Labelled], unfair: int) -> dict[str, Any]:
    right = sum(not row.fair for row in hit)
    shares = {"precision": Share(right, len(hit)), "recall": Share(right, unfair)}
    return {name: {"hits": s.hits, "n": s.n, "low": s.bounds[0], "high": s.bounds[1]} for name, s in shares.items()}
