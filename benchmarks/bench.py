"""How right is `pool bench`? Against simulators of known speed, or against a real server's own counters.

python benchmarks/bench.py                                  # simulators, K = 0 to 15
python benchmarks/bench.py --base-url http://127.0.0.1:8080 # vLLM or llama.cpp, used by nobody else meanwhile
"""

from __future__ import annotations

import argparse
import asyncio
from contextlib import aclosing
from pathlib import Path

from pool.config.settings import Settings
from pool.lab.bench.counters import Counters
from pool.lab.bench.figures import figures
from pool.lab.bench.measure import Run, work
from pool.lab.bench.plan import SEED_TOKENS, Cell, seed_plan
from pool.lab.bench.target import Target
from pool.sim.process import spawned
from pool.wire.dialects import ServerKind

DEPTHS = (0, 1, 2, 3, 5, 7, 11, 15)
STEP_MS = 40.0


async def measured(url: str, cells: tuple[Cell, ...]) -> tuple[Target, list[Run], Counters | None, Counters | None]:
    """Runs of a plan, and the server's counters before and after."""
    async with Target(Settings(Path(), base_url=url), temperature=0.0) as target:
        await target.meet()
        before = await target.counters()
        runs: list[Run] = []
        async with aclosing(work([target], cells, (), [])) as source:
            async for run in source:
                runs.append(run)
        return target, runs, before, await target.counters()


async def simulators() -> None:
    """Steps of a fixed time; K + 1 tokens each."""
    print(f"{'K':>3} {'true tok/s':>11} {'measured':>9} {'off by':>7} {'step ms':>8}  doubts")
    for depth in DEPTHS:
        with spawned(["--step-ms", str(STEP_MS), "--tokens-per-step", str(depth + 1)]) as sim:
            _, runs, _, _ = await measured(sim.url, seed_plan()[:1])
        found = figures(runs, 1)[0]
        true, decode = (depth + 1) * 1000 / STEP_MS, found.decode or 0.0
        step = (found.step or 0.0) * 1000
        print(
            f"{depth:>3} {true:>11.1f} {decode:>9.2f} {decode / true - 1:>7.2%} {step:>8.2f}  {'; '.join(found.doubts)}"
        )


async def real(url: str) -> None:
    """The seed's protocol, and the same figures by the server's counters."""
    target, runs, before, after = await measured(url, seed_plan())
    samples = [sample for run in runs for sample in run.samples]
    decoded = [sample.decoded for sample in samples if sample.decoded]
    print(target.info.describe())
    rows = [
        ("tokens written", float(sum(s.written for s in samples)), "pool bench"),
        ("decode tok/s, all replies", sum(n for n, _ in decoded) / sum(s for _, s in decoded), "pool bench"),
        ("first token, mean s", sum(s.first or 0.0 for s in samples) / len(samples), "pool bench"),
    ]
    if before is not None and after is not None:
        rows += theirs(target.info.kind, before, after, len(samples) + 1)
    told = [s.server_rate for s in samples if s.server_rate]
    if told:
        rows.append(("decode tok/s, mean of replies", sum(told) / len(told), "the replies' timings"))
        ours = [s.decode_rate for s in samples if s.decode_rate]
        rows.append(("decode tok/s, mean of replies", sum(ours) / len(ours), "pool bench"))
    for name, value, source in sorted(rows):
        print(f"{name:<30} {value:>12,.3f}  {source}")
    print(f"(the counters hold the warm-up of 16 tokens too; replies of {SEED_TOKENS})")


def theirs(kind: ServerKind, before: Counters, after: Counters, replies: int) -> list[tuple[str, float, str]]:
    """The server's own figures of the time between."""

    def rise(name: str) -> float:
        return after.values.get(name, 0.0) - before.values.get(name, 0.0)

    by = "the server's counters"
    match kind:
        case ServerKind.LLAMACPP:
            written, seconds = rise("llamacpp:tokens_predicted"), rise("llamacpp:tokens_predicted_seconds")
            return [("tokens written", written, by), ("decode tok/s, all replies", written / seconds, by)]
        case ServerKind.VLLM:
            written, seconds = rise("vllm:generation_tokens"), rise("vllm:request_decode_time_seconds_sum")
            first = rise("vllm:time_to_first_token_seconds_sum") / replies
            return [
                ("tokens written", written, by),
                ("decode tok/s, all replies", (written - replies) / seconds, by),
                ("first token, mean s", first, by),
            ]
        case _:
            return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", default="")
    args = parser.parse_args()
    asyncio.run(real(args.base_url) if args.base_url else simulators())


if __name__ == "__main__":
    main()
