"""Speculative decoding: is the draft any good, and do its batches have recorded CUDA graphs?

Formulas, and the definitions of accepted length, are those of `pool bench` (`pool/lab/bench/kmodel.py`, `counters.py`);
the grid of graphs is that of `pool serve` (`pool/lab/serve/graphs.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pool.lab.bench.counters import Speculation, fetch_counters, speculation_between
from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.remedies import again
from pool.lab.doctor.subject import Ask, Subject, talk
from pool.lab.serve.graphs import aligned, padded
from pool.wire.dialects import ServerKind
from pool.wire.errors import ServerProblem

WRITTEN_TOKENS = 192
PROMPT = "Write a Python function that gives the n-th Fibonacci number, with a docstring and examples. Code only."
LEAST_DRAFTS = 4
"""Steps with drafts below which an acceptance says nothing."""

POOR_RATE = 0.05
"""Share of draft tokens that is kept at least where drafts help: public runs of Laguna have 16 % and more."""

STREAMS = (1, 2, 4, 8)
"""Replies at a time for which the graphs are looked at: Pool's own and its subagents'."""

SERVER_INFO_PATH = "/server_info?config_format=json"
INFO_SECONDS = 5.0


async def speculation(subject: Subject) -> Finding:
    """Write some code, and see by the server's counters what became of its drafts."""
    if subject.info.speculation is False:
        await subject.ask(Ask(talk(PROMPT), max_tokens=WRITTEN_TOKENS))
        return Finding("speculation", Status.OK, "off: the model writes one token a step", data={"on": False})
    before = await fetch_counters(subject.transport)
    await subject.ask(Ask(talk(PROMPT), max_tokens=WRITTEN_TOKENS))
    drafts = speculation_between(before, await fetch_counters(subject.transport), subject.info.kind)
    if drafts is None or drafts.drafts < LEAST_DRAFTS:
        words = "the server does not tell whether it speculates"
        if subject.info.speculation:
            words = "on, but in this reply its counters rose by no more than a few steps"
            return Finding("speculation", Status.WARN, words, "", again("speculation"), {"on": True})
        return Finding("speculation", Status.OK, words, data={"on": None})
    subject.drafts = drafts
    data = _data(drafts)
    if not drafts.accepted:
        words = f"dead: of {drafts.draft_tokens} draft tokens not one was kept"
        means = "The draft model does not belong to these weights: replies are right, but slower than without drafts."
        return Finding("speculation", Status.FAIL, words, means, "pool serve laguna-s-2.1", data)
    words = (
        f"K = {drafts.depth}; {drafts.rate:.0%} of the draft tokens kept: {drafts.drafts_only:.2f} a step, "
        f"{drafts.with_bonus:.2f} with the model's own"
    )
    if drafts.rate < POOR_RATE:
        means = "Such drafts cost about what they bring; pool bench says which K pays."
        return Finding("speculation", Status.WARN, words, means, "pool bench --kinds code edit", data)
    return Finding("speculation", Status.OK, words, data=data)


def _data(drafts: Speculation) -> dict[str, Any]:
    return {
        "on": True,
        "depth": drafts.depth,
        "drafts": drafts.drafts,
        "draft_tokens": drafts.draft_tokens,
        "accepted": drafts.accepted,
        "accepted_length_drafts_only": round(drafts.drafts_only, 3),
        "accepted_length_with_bonus": round(drafts.with_bonus, 3),
        "by_position": [round(share, 4) for share in drafts.curve],
    }


async def graphs(subject: Subject) -> Finding:
    """Hold K + 1, and that times several replies at once, against the recorded batch sizes."""
    if subject.info.kind is not ServerKind.VLLM:
        words = f"{subject.info.dialect.name} is not asked: this is about vLLM's recorded batches"
        return Finding("graphs", Status.OK, words, data={"depth": None})
    config = await _config(subject)
    depth = _number(config, "speculative_config", "num_speculative_tokens")
    depth = depth or (subject.drafts.depth if subject.drafts else 0)
    if not depth:
        words = "no speculation is seen, so batches grow by one token a reply and fit the grid"
        return Finding("graphs", Status.OK, words, data={"depth": 0})
    sizes = _sizes(config)
    most = _number(config, "compilation_config", "max_cudagraph_capture_size") or max(sizes, default=0)
    places = _number(config, "scheduler_config", "max_num_seqs") or STREAMS[-1]
    needed = {streams: streams * (depth + 1) for streams in STREAMS if streams <= places}
    data = {"depth": depth, "sizes": sizes, "largest": most, "needed": {str(c): n for c, n in needed.items()}}
    beyond = [streams for streams, tokens in needed.items() if most and tokens > most]
    if beyond:
        tokens = needed[beyond[0]]
        words = f"{beyond[0]} x (K + 1) = {tokens} tokens a step, but the largest recorded batch has {most}"
        means = "From there on steps run without a graph; one report went from 25 to 133 tokens/s once they had one."
        line = f"--max-cudagraph-capture-size {max(padded(n) for n in needed.values())}"
        return Finding("graphs", Status.FAIL, words, means, line, data)
    off = [n for n in needed.values() if n not in sizes] if sizes else [n for n in needed.values() if padded(n) != n]
    how = "by /server_info" if sizes else "by vLLM's usual grid; the server does not tell its own"
    if off and (needed[1] in off if sizes else not aligned(depth)):
        words = f"K + 1 = {depth + 1} is no recorded batch size, so each step is padded to a larger one ({how})"
        means = "The padding is computed for nothing; K of 3, 7 or 15 fit."
        return Finding("graphs", Status.WARN, words, means, _line(needed.values()), data)
    words = f"K + 1 = {depth + 1} is a recorded batch size ({how})"
    words += f"; for several replies at once {', '.join(map(str, off))} are padded" if off else ""
    return Finding("graphs", Status.OK, words, data=data)


def _line(needed: Any) -> str:
    return f"--cudagraph-capture-sizes {' '.join(str(n) for n in sorted({1, 2, 4, *needed}))}"


async def _config(subject: Subject) -> Mapping[str, Any]:
    """What vLLM tells of itself in its development mode, {} otherwise."""
    try:
        fetched = await subject.transport.get(SERVER_INFO_PATH, INFO_SECONDS)
        value: object = json.loads(fetched.body)
    except (ServerProblem, ValueError):
        return {}
    return _object(_object(value).get("vllm_config"))


def _number(config: Mapping[str, Any], part: str, name: str) -> int:
    value = _object(config.get(part)).get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _sizes(config: Mapping[str, Any]) -> list[int]:
    listed: object = _object(config.get("compilation_config")).get("cudagraph_capture_sizes")
    return sorted(n for n in cast(Sequence[Any], listed) if isinstance(n, int)) if isinstance(listed, list) else []


def _object(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}


SPECULATION = Check(
    "speculation",
    "are the drafts any good?",
    speculation,
    needs=("stream",),
    means="What speculation brings is not known.",
    reads=64,
    writes=WRITTEN_TOKENS,
)
GRAPHS = Check("graphs", "do batches have graphs?", graphs, needs=("stream",), after=("speculation",))
