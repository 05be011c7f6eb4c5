"""What of a file is the agent's work: its session's changes alone, replayed on what the last commit holds."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from pool.agent.gitwork.blocks import Block, blocks_of, merged
from pool.sessions.checkpoints.changes import ChangesView
from pool.sessions.checkpoints.journal import By
from pool.sessions.checkpoints.states import Changed, State
from pool_tools.frozen import frozen


class Whose(StrEnum):
    """Who made a change. MIXED: the agent did, and somebody else changed the same lines."""

    AGENT = "agent"
    YOURS = "yours"
    MIXED = "mixed"


@frozen
class AgentChange:
    """The changes of one file that the agent made, in order. path is relative to the session's workspace."""

    path: str
    steps: tuple[Changed, ...]


def agent_changes(view: ChangesView) -> list[AgentChange]:
    """What the session's calls changed, and its undos took back, file by file."""
    steps: dict[str, list[Changed]] = {}
    for record in view.records:
        if record.by is not By.OUTSIDE:
            for change in record.changes:
                steps.setdefault(change.path, []).append(change)
    return [AgentChange(path, tuple(found)) for path, found in sorted(steps.items())]


def agents_version(view: ChangesView, change: AgentChange, head: bytes) -> bytes | None:
    """head with the agent's changes and nobody else's; None where that cannot be told. Nothing there counts as b""."""
    steps = [(_text(view, step.before), _text(view, step.after)) for step in change.steps]
    # What was committed since is in head already.
    committed = max((at for at, (_, after) in enumerate(steps, 1) if after == head), default=0)
    text = head
    for before, after in steps[committed:]:
        if before is None or after is None:
            return None
        together = merged(before, text, after)
        if together is None:
            return None
        text = together
    return text


def whose(head: bytes, agent: bytes | None, now: bytes) -> list[tuple[Block, Whose]]:
    """The blocks from head to now, and who made each. agent is `agents_version`."""
    blocks = blocks_of(head, now)
    if agent is None:
        return [(block, Whose.MIXED) for block in blocks]
    own = blocks_of(head, agent)
    return [(block, _whose(block, own)) for block in blocks]


def _whose(block: Block, own: Sequence[Block]) -> Whose:
    if block in own:
        return Whose.AGENT
    return Whose.MIXED if any(block.touches(one) for one in own) else Whose.YOURS


def _text(view: ChangesView, state: State | None) -> bytes | None:
    return b"" if state is None else view.bytes_of(state)[0]
