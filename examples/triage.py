"""Ask the same question about several files, and get answers that a program can read.

    python examples/triage.py FILE ...

Nothing is changed (mode plan). Each answer fits the schema below, or the run says that it could not be had.
"""

from __future__ import annotations

import asyncio
import sys

from pool import Agent

VERDICT = {
    "type": "object",
    "properties": {
        "risk": {"enum": ["low", "medium", "high"]},
        "why": {"type": "string", "maxLength": 200},
    },
    "required": ["risk", "why"],
    "additionalProperties": False,
}


async def main(*files: str) -> int:
    worst = 0
    async with Agent(mode="plan", output_schema=VERDICT, keep=False) as agent:
        for file in files:
            async for _ in agent.run(f"How risky is it to change {file}? Read it, and what uses it."):
                pass
            verdict = agent.result.output
            print(f"{file}: {verdict['risk']}: {verdict['why']}" if verdict else f"{file}: {agent.result.reason}")
            worst = max(worst, agent.result.exit_code)
    return worst


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
