"""A thought closed by hand: a question that invites a long thought, with a limit that it goes beyond.

Pool cuts the stream at the limit and continues the same turn with the thought closed. The report says whether that
happened, whether an answer followed, and how much of the prompt came from the cache the second time.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pool.agent.guards.thinking import CLOSED_BY_HAND
from pool.agent.program import Agent
from pool.config.settings import SettingsError
from pool.events import TurnFinished
from pool.wire.errors import ServerProblem

LIMIT_TOKENS = 128
EXIT_AWAY = 75
PROMPT = (
    "Without any tool: work out 17 times 23 in five different ways and compare them with care in your thoughts. "
    "Then answer with the number only."
)


async def think(folder: Path) -> dict[str, Any]:
    """Ask, and look at how the turn was put together. Raises `SettingsError`, `ServerProblem`."""
    settings: dict[str, object] = {"thinking.level": "on", "budgets.reasoning_turn": LIMIT_TOKENS}
    repairs: list[str] = []
    async with Agent(folder, settings=settings, keep=False) as agent:
        async for event in agent.run(PROMPT):
            if isinstance(event.body, TurnFinished):
                repairs += event.body.repairs
        run = agent.result
    first = run.per_turn[0] if run.per_turn else None
    return {
        "limit_tokens": LIMIT_TOKENS,
        "closed_by_hand": CLOSED_BY_HAND in repairs,
        "repairs": repairs,
        "reason": run.reason,
        "answered": bool(run.answer.strip()),
        "right": "391" in run.answer,
        "requests": first.requests if first else 0,
        "written": first.usage.completion if first else 0,
        "cached_share": first.cached_share if first else None,
        "seconds": round(run.seconds, 3),
    }


def main(argv: Sequence[str]) -> int:
    """Print it as JSON. 0, 1 if the thought was not closed or no answer came, 75 without a server."""
    try:
        with tempfile.TemporaryDirectory(prefix="pool-spark-") as folder:
            told = asyncio.run(think(Path(folder).resolve()))
    except (SettingsError, ServerProblem) as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_AWAY
    print(json.dumps(told, indent=1))
    return 0 if told["closed_by_hand"] and told["answered"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
