"""A session of 40 turns: a small file is read and told of, twenty times, in one conversation that grows.

Each prompt takes two turns: the call and the answer. The answer must hold the number that the file holds, so that the
report says whether the model still reads right after 40 turns, what each turn cost, and what came from the cache.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pool.agent.program import Agent
from pool.agent.result import RunResult
from pool.config.settings import SettingsError
from pool.stops import StopReason
from pool.wire.errors import ServerProblem

PROMPTS = 20
FILLER_LINES = 12
"""Lines of each file beside the one that counts: about 250 tokens, as a small source file has."""

EXIT_AWAY = 75


def write_files(folder: Path, count: int) -> list[tuple[str, str]]:
    """Files with a number each; their names with the numbers."""
    made: list[tuple[str, str]] = []
    for at in range(1, count + 1):
        name, number = f"part{at:02}.txt", str(7_919 * at % 10_000 + 10_000)
        filler = [f"Line {line} of part {at} says that shelf {line * at % 17} is full." for line in range(FILLER_LINES)]
        (folder / name).write_text("\n".join([f"The number of this part is {number}.", *filler]) + "\n")
        made.append((name, number))
    return made


async def converse(folder: Path, prompts: int) -> dict[str, Any]:
    """Have the session; what it was. A run that fails ends it. Raises `SettingsError`, `ServerProblem`."""
    runs: list[dict[str, Any]] = []
    reason = ""
    async with Agent(folder, keep=False) as agent:
        for name, number in write_files(folder, prompts):
            prompt = f"Read the file {name} with a tool, then tell me the number of this part."
            async for _ in agent.run(prompt):
                pass
            run = agent.result
            runs.append(_run(run, number))
            if run.reason != StopReason.COMPLETED:
                reason = f"{run.reason}: {run.detail}"
                break
    turns = [turn for run in runs for turn in run["turns"]]
    return {
        "prompts": len(runs),
        "turns": len(turns),
        "right": sum(run["right"] for run in runs),
        "ended_early": reason,
        "runs": runs,
    }


def _run(run: RunResult, number: str) -> dict[str, Any]:
    return {
        "reason": run.reason,
        "right": number in run.answer.replace(",", ""),
        "calls": [call.status for call in run.calls],
        "turns": [
            {
                "prompt": turn.usage.prompt,
                "cached": turn.usage.cached,
                "written": turn.usage.completion,
                "first_token_seconds": round(turn.first_token_seconds, 3),
                "seconds": round(turn.reply_seconds, 3),
                "ending": turn.ending,
            }
            for turn in run.per_turn
        ],
        "guards": [f"{guard.guard}: {guard.action}" for guard in run.guards],
    }


def main(argv: Sequence[str]) -> int:
    """Print the session as JSON. 0, 1 if it ended early or an answer was wrong, 75 without a server."""
    prompts = int(argv[0]) if argv else PROMPTS
    try:
        with tempfile.TemporaryDirectory(prefix="pool-spark-") as folder:
            told = asyncio.run(converse(Path(folder).resolve(), prompts))
    except (SettingsError, ServerProblem) as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_AWAY
    print(json.dumps(told, indent=1))
    return 0 if told["right"] == told["prompts"] and not told["ended_early"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
