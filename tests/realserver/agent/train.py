"""Trains the tiny agent and writes `agent.gguf` beside this file. Not run by the tests.

Needs torch, gguf, numpy, tokenizers and jinja2. From the repository's top:

    python -m tests.realserver.agent.train --seconds 300                # with a GPU
    python -m tests.realserver.agent.train --seconds 7200 --batch 8     # on one core

At the end it reads conversations that it was not trained on and says how sure it is of each token. Above 0.95 sampling
with `top_p` 0.95 has one choice only: the agent then does the same at any temperature.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.realserver.agent.network import Shape, hidden_states, new_weights, write_gguf
from tests.realserver.agent.scenarios import Certainty, Conversation, conversation
from tests.realserver.agent.vocabulary import ASSISTANT, ASSISTANT_END, THOUGHT_END
from tests.realserver.agent.vocabulary import train as train_vocabulary

HERE = Path(__file__).parent
TEMPLATE = HERE / "agent.jinja"

LONGEST_TOKENS = 1152
VOCABULARY_TEXTS = 4000
VAGUE_WEIGHT = 0.02
"""Weight of tokens that cannot be known, against 1 for the others."""

GAPS = 2
STRETCHED_SHARE = 0.5

SURE = 0.95
RATE = 2e-3
WARM_UP_STEPS = 200
LAST_RATE_SHARE = 0.01
CHECKED = 2048
SEED = 5


@dataclass(slots=True)
class Texts:
    """Conversations as tensors: ids and weights are (number, LONGEST_TOKENS), lengths (number,), on the CPU."""

    ids: Any
    weights: Any
    lengths: Any


class Renderer:
    """Renders conversations by the very template that the server is given."""

    def __init__(self) -> None:
        jinja: Any = importlib.import_module("jinja2")
        environment = jinja.Environment()
        # Jinja's own filter escapes for HTML, which llama.cpp's does not.
        environment.filters["tojson"] = json.dumps
        self._template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))

    def text(self, talk: Conversation) -> str:
        tools = [{"function": {"name": name}} for name in talk.tools]
        return self._template.render(messages=talk.messages, tools=tools)


def encode(renderer: Renderer, tokenizer: Any, talks: list[Conversation]) -> Texts:
    """The conversations as tokens, each with the weight that it has in the loss."""
    torch: Any = importlib.import_module("torch")
    texts = [renderer.text(talk) for talk in talks]
    ids = torch.zeros(len(talks), LONGEST_TOKENS, dtype=torch.int16)
    lengths = torch.zeros(len(talks), dtype=torch.int32)
    for row, encoding in enumerate(tokenizer.encode_batch(texts, add_special_tokens=False)):
        kept = encoding.ids[:LONGEST_TOKENS]
        ids[row, : len(kept)] = torch.tensor(kept, dtype=torch.int16)
        lengths[row] = len(kept)
    marks = {name: ids == tokenizer.token_to_id(name) for name in (ASSISTANT, THOUGHT_END, ASSISTANT_END)}
    return Texts(ids, _weights(marks, [talk.certainty for talk in talks]), lengths)


def _weights(marks: dict[str, Any], certainties: list[Certainty]) -> Any:
    """The weight of each token; marks says where the markers stand, all (number, LONGEST_TOKENS)."""
    torch: Any = importlib.import_module("torch")

    def among(*wanted: Certainty) -> Any:
        return torch.tensor([certainty in wanted for certainty in certainties])[:, None]

    begins, ends, thoughts_end = marks[ASSISTANT], marks[ASSISTANT_END], marks[THOUGHT_END]
    # The assistant speaks from the second token after its opening marker: the first is part of the prompt.
    prompted = begins | torch.roll(begins, 1, dims=1)
    said = (begins.cumsum(1) - ends.cumsum(1) + ends.int() > 0) & ~prompted
    said &= ~(ends & among(Certainty.NONE, Certainty.NO_END))
    pondered = among(Certainty.AFTER_THOUGHT) & (thoughts_end.cumsum(1) - thoughts_end.int() == 0)
    said &= ~(pondered & thoughts_end)
    vague = pondered | among(Certainty.NONE)
    return said * torch.where(vague, VAGUE_WEIGHT, 1.0)


def batch_of(texts: Texts, rows: Any, device: str) -> tuple[Any, Any]:
    """ids and weights of rows, cut to the longest of them."""
    longest = int(texts.lengths[rows].max())
    return texts.ids[rows, :longest].to(device).long(), texts.weights[rows, :longest].to(device).float()


def positions_of(ids: Any, window: int, *, stretched: bool) -> Any:
    """Positions of ids, (batch, time).

    stretched: half of the texts have gaps in random places, so that the agent also knows the far end of its window,
    at the price of short texts.
    """
    torch: Any = importlib.import_module("torch")
    batch, time_ = ids.shape
    positions = torch.arange(time_, device=ids.device).expand(batch, time_)
    if not stretched:
        return positions
    some = torch.rand(batch, time_, device=ids.device) < GAPS / time_
    some &= torch.rand(batch, 1, device=ids.device) < STRETCHED_SHARE
    gaps = (some * torch.rand(batch, time_, device=ids.device) ** 2 * (window / GAPS)).cumsum(1).long()
    return positions + gaps.clamp(max=window - time_)


def fit(shape: Shape, texts: Texts, *, seconds: float, batch: int, device: str) -> Any:
    """Train for so many seconds; returns the weights."""
    torch: Any = importlib.import_module("torch")
    functional: Any = importlib.import_module("torch.nn.functional")
    torch.manual_seed(SEED)
    weights = new_weights(shape, device)
    optimizer = torch.optim.AdamW(weights.values(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    generator = torch.Generator().manual_seed(SEED)
    begun, step, shown = time.monotonic(), 0, 0.0
    while (done := (time.monotonic() - begun) / seconds) < 1:
        share = LAST_RATE_SHARE + (1 - LAST_RATE_SHARE) * 0.5 * (1 + math.cos(math.pi * done))
        for group in optimizer.param_groups:
            group["lr"] = RATE * share * min(1.0, (step + 1) / WARM_UP_STEPS)
        ids, said = batch_of(texts, torch.randint(len(texts.ids), (batch,), generator=generator), device)
        chosen = said[:, 1:] > 0
        places = positions_of(ids, shape.window, stretched=True)
        states = hidden_states(shape, weights, ids, places)[:, :-1][chosen]
        scores = functional.linear(states, weights["output"]).float()
        losses = functional.cross_entropy(scores, ids[:, 1:][chosen], reduction="none")
        loss = (losses * said[:, 1:][chosen]).sum() / said.sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
        step += 1
        if time.monotonic() - shown > 10:
            shown = time.monotonic()
            print(f"{shown - begun:5.0f} s, step {step}, loss {loss.item():.5f}", flush=True)
    return weights


def check(shape: Shape, weights: Any, texts: Texts, device: str, batch: int, *, stretched: bool) -> str:
    """How sure the agent is of the tokens that it should say, in words."""
    torch: Any = importlib.import_module("torch")
    functional: Any = importlib.import_module("torch.nn.functional")
    found: list[Any] = []
    with torch.no_grad():
        for first in range(0, len(texts.ids), batch):
            rows = torch.arange(first, min(first + batch, len(texts.ids)))
            ids, said = batch_of(texts, rows, device)
            places = positions_of(ids, shape.window, stretched=stretched)
            scores = functional.linear(hidden_states(shape, weights, ids, places)[:, :-1], weights["output"]).float()
            sure = scores.softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
            found.append(torch.where(said[:, 1:] == 1, sure, torch.ones_like(sure)).min(dim=1).values.cpu())
    least = torch.cat(found).sort().values
    unsure = int((least < SURE).sum())
    quantiles = ", ".join(f"{float(least[int(len(least) * q)]):.4f}" for q in (0.0, 0.01, 0.05, 0.5))
    return (
        f"{len(least)} new conversations{', stretched' if stretched else ''}: {unsure} have a token below {SURE}; "
        f"least sure token at the 0th, 1st, 5th and 50th percentile: {quantiles}"
    )


def main() -> None:
    """Train, check and write."""
    torch: Any = importlib.import_module("torch")
    parser = argparse.ArgumentParser(description="Train the tiny agent.")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--conversations", type=int, default=60_000)
    parser.add_argument("--threads", type=int, default=1, help="cores to use without a GPU")
    parser.add_argument("--out", type=Path, default=HERE / "agent.gguf")
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        torch.set_num_threads(args.threads)
    torch.set_float32_matmul_precision("high")
    rng, renderer = Random(SEED), Renderer()
    talks = [conversation(rng) for _ in range(args.conversations)]
    tokenizer = train_vocabulary([renderer.text(talk) for talk in talks[:VOCABULARY_TEXTS]])
    shape = Shape(vocabulary=tokenizer.get_vocab_size())
    texts = encode(renderer, tokenizer, talks)
    print(f"{len(talks)} conversations, {texts.lengths.float().mean():.0f} tokens each, on {device}", flush=True)
    weights = fit(shape, texts, seconds=args.seconds, batch=args.batch, device=device)
    unseen = encode(renderer, tokenizer, [conversation(Random(f"new {n}")) for n in range(CHECKED)])
    for stretched in (False, True):
        print(check(shape, weights, unseen, device, args.batch, stretched=stretched))
    write_gguf(args.out, shape, weights, tokenizer, TEMPLATE.read_text(encoding="utf-8"))
    print(f"{args.out}: {args.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
