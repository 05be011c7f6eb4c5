"""What the guards did in this session: a count of each, then every time in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pool.sessions.turnseries import Firing
from pool.tui.screens.linelist import Row
from pool.tui.screens.report import BLANK, facts, heading, wrapped

ACTION_ROLES = {"note": "muted", "nudge": "accent", "cut": "warning", "block": "warning", "stop": "error"}
GUARD_CELLS, ACTION_CELLS = 9, 5
LEFT_CELLS = 27


def guard_rows(fired: Sequence[Firing], width: int) -> Sequence[Row]:
    """The panel for a width in cells."""
    if not fired:
        return [Row((("No guard has acted in this session.", "muted"),))]
    counts = Counter((one.guard, one.action) for one in fired)
    rows = facts([(guard, f"{count} × {action}") for (guard, action), count in counts.most_common()], width)
    prompt = 0
    for one in fired:
        if one.prompt != prompt:
            prompt = one.prompt
            rows += [BLANK, heading(f"Prompt {one.prompt}: {one.title}")]
        rows += _firing(one, width)
    return rows


def _firing(one: Firing, width: int) -> list[Row]:
    left = f"  turn {one.turn:>2}  {one.guard:<{GUARD_CELLS}} "
    action = (f"{one.action:<{ACTION_CELLS}} ", ACTION_ROLES.get(one.action, "text"))
    room = max(20, width - LEFT_CELLS)
    said = one.detail + (f" ({one.cost})" if one.cost else "")
    first, *rest = wrapped(said, room)
    head = len(left) + len(action[0])
    pad = " " * max(0, LEFT_CELLS - head)
    return [
        Row(((left, "muted"), action, (pad + first, "text"))),
        *(Row(((" " * max(head, LEFT_CELLS) + part, "text"),)) for part in rest),
    ]
