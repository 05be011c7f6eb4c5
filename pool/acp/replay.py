"""What a session's log says, as the updates that tell it to a client from the beginning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pool.acp.updates import Updates
from pool.events import TodoChanged
from pool.facekit.decode import events_of

Json = dict[str, Any]


def replayed(rows: Iterable[Json], folder: Path) -> Iterator[Json]:
    """All of it in order; the list of steps once, as it stands. A call that was cut off by Pool's end has failed."""
    updates = Updates(folder, replay=True)
    running: dict[str, None] = {}
    plan: Json | None = None
    for event in events_of(rows):
        for update in updates.of(event):
            match update["sessionUpdate"]:
                case "tool_call":
                    running[update["toolCallId"]] = None
                case "tool_call_update" if update.get("status") in ("completed", "failed"):
                    running.pop(update["toolCallId"], None)
                case _:
                    pass
            if isinstance(event.body, TodoChanged):
                plan = update
            else:
                yield update
    for call in running:
        yield {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "failed"}
    if plan is not None:
        yield plan
