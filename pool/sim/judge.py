"""The rule-based model as judge of another run: it believes what automatic signals saw, and cites the step."""

from __future__ import annotations

import json
import re

from pool.sim.say import Reply

ASKED = "what automatic signals saw"
"""Stands in the evidence that `pool audit --judge` gives."""

_SEVERE = re.compile(r"^H ([\w-]+): .*\(step (\d+)", re.MULTILINE)


def judged(evidence: str) -> Reply:
    """The verdict as one JSON object."""
    found = _SEVERE.search(evidence)
    if found is None:
        answer: dict[str, object] = {"verdict": "fair", "reasons": []}
    else:
        why = f"the signal {found[1]} was seen there; I am a rule-based simulator and believe it"
        answer = {"verdict": "unfair", "reasons": [{"step": int(found[2]), "why": why}]}
    return Reply("I look at the signals.", json.dumps(answer))
