"""Give the agent a tool and a guard of your own.

    python examples/own_tool.py REPOSITORY

The server is the configured one (POOL_BASE_URL, or `pool config`). The tool looks tickets up in a table, as it could in
a tracker; the guard ends the run if the agent writes more than it was asked to.
"""

from __future__ import annotations

import asyncio
import sys

from pool import Agent, CallNote, Guard, Stop, StopReason, ToolError, tool
from pool.agent.calls import Outcome
from pool.agent.state import RunState
from pool.events import CallFinished

TICKETS = {7: "The greeting should say the name.", 8: "The list is in the wrong order."}
MOST_FILES = 3


@tool
def ticket(number: int) -> str:
    """Look up a ticket by its number. Returns what it asks for."""
    if number not in TICKETS:
        raise ToolError(f"There is no ticket {number}; there are {', '.join(map(str, TICKETS))}.")
    return TICKETS[number]


class FewFiles(Guard):
    """Ends the run once more than a few files have changed."""

    name = "few-files"

    def after_call(self, run: RunState, outcome: Outcome) -> CallNote | None:
        if len(run.changes) <= MOST_FILES:
            return None
        return CallNote(stop=Stop(StopReason.NO_PROGRESS, f"more than {MOST_FILES} files were changed"))


async def main(folder: str) -> int:
    async with Agent(folder, mode="accept-edits", tools=[ticket], guards=[FewFiles]) as agent:
        async for event in agent.run("Do what ticket 7 asks for. Change no more than it needs."):
            if isinstance(event.body, CallFinished):
                print(f"{event.body.name}: {event.body.status}")
    result = agent.result
    print(result.answer or f"{result.reason}: {result.detail}")
    return result.exit_code


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
