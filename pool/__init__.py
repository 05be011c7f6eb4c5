"""Pool: a terminal coding agent for people who run their own model.

`Agent`, `tool` and the other public names are for Python programs (docs/python.md); each is imported when it is used.
"""

from __future__ import annotations

# As in `typing`, whose import would cost every start some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from pool.agent.functiontool import tool
    from pool.agent.guards import Guard
    from pool.agent.program import Agent
    from pool.agent.result import RunResult
    from pool.agent.state import CallNote, Nudge, Stop
    from pool.events import Event, StopReason
    from pool.ports import ApprovalAnswer, ApprovalRequest
    from pool_tools import ToolError

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "ApprovalAnswer",
    "ApprovalRequest",
    "CallNote",
    "Event",
    "Guard",
    "Nudge",
    "RunResult",
    "Stop",
    "StopReason",
    "ToolError",
    "__version__",
    "tool",
]

_HOMES = {
    "Agent": "pool.agent.program",
    "ApprovalAnswer": "pool.ports",
    "ApprovalRequest": "pool.ports",
    "CallNote": "pool.agent.state",
    "Event": "pool.events",
    "Guard": "pool.agent.guards",
    "Nudge": "pool.agent.state",
    "RunResult": "pool.agent.result",
    "Stop": "pool.agent.state",
    "StopReason": "pool.events",
    "ToolError": "pool_tools",
    "tool": "pool.agent.functiontool",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'pool' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
