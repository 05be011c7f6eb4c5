"""Known ways to start a server that fails, lies or crawls: each with its reason, its remedy and who saw it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from pool.lab.serve.flags import Arguments
from pool.lab.serve.graphs import aligned, aligned_depths, captured, default_most, grid
from pool.lab.serve.setup import Setup
from pool.lab.serve.shapes import GIB, Chip, Engine
from pool_tools.frozen import frozen

MANY_SEQS = 256
SPARK_MOST_STEP_TOKENS = 16_384
SPARK_MOST_UTILIZATION = 0.88
DEEP_DRAFT, DEEP_MOST_SEQS = 15, 16
FP4_BACKENDS = (
    "cutlass, flashinfer_trtllm, flashinfer_cutlass, flashinfer_cutedsl, flashinfer_b12x, marlin, humming, emulation"
)


JSON_FLAGS = ("--speculative-config", "--reasoning-config", "--default-chat-template-kwargs")


@frozen
class Trap:
    """What is wrong, what to do, who saw it. refuse: it is known to fail or to mislead, and is not started."""

    name: str
    words: str
    remedy: str
    source: str
    refuse: bool = True


@frozen
class Subject:
    """A command as it would be run, and the set-up that it is for."""

    setup: Setup
    args: Arguments
    env: Mapping[str, str]

    @property
    def depth(self) -> int:
        """Draft tokens a step, by the command."""
        value = self.args.object("--speculative-config").get("num_speculative_tokens")
        return value if isinstance(value, int) else 0

    @property
    def sequences(self) -> int:
        """Replies at once, by the command."""
        return self.args.number("--max-num-seqs") or self.setup.vllm_sequences

    @property
    def most_captured(self) -> int:
        """The largest batch that is recorded, by the command."""
        listed = captured(self.args.text("--cudagraph-capture-sizes"), self.args.text("--compilation-config"))
        if listed:
            return listed[-1]
        named = self.args.number("--max-cudagraph-capture-size")
        # A number off the grid is cut down to it: 42 becomes 40.
        if named:
            return max(grid(named), default=0)
        return default_most(self.sequences, self.depth, self.setup.step_tokens)

    def draft_is(self, method: str) -> bool:
        """Whether the command speculates by this method."""
        return self.args.object("--speculative-config").get("method") == method


def traps(subject: Subject) -> list[Trap]:
    """All that is known to be wrong with a command, the refusals first."""
    checks = CHECKS.get(subject.setup.engine, ())
    found = [trap for check in (*checks, *EVERYWHERE) for trap in check(subject)]
    return sorted(found, key=lambda trap: not trap.refuse)


def _moe_backend(s: Subject) -> Iterator[Trap]:
    backend = s.args.text("--moe-backend")
    name = s.setup.variant.name
    if name == "nvfp4" and backend == "triton":
        yield Trap(
            "moe-triton-nvfp4",
            "vLLM does not start: the triton backend is not supported for NVFP4 experts "
            f"(it takes {FP4_BACKENDS}). The recipe's flag is meant for BF16 and FP8.",
            "leave out --moe-backend: vLLM chooses FLASHINFER_CUTLASS for Laguna",
            "a published start on a DGX Spark with vLLM 0.25.1",
        )
    if backend == "flashinfer_b12x" and s.setup.machine.sm121:
        yield Trap(
            "moe-b12x",
            "flashinfer_b12x is never chosen by vLLM 0.25.1 itself and is advised against on a GB10.",
            "leave out --moe-backend",
            "r0b0tlab/laguna-s-2.1-nvfp4-sm121-vllm",
        )
    if name in ("bf16", "fp8") and s.draft_is("dflash") and backend != "triton":
        yield Trap(
            "moe-deepgemm-dflash",
            "the default backend for experts in this precision, DeepGEMM, does not work beside a DFlash draft.",
            "--moe-backend triton",
            "vLLM recipes, Laguna-S-2.1",
        )


def _graphs(s: Subject) -> Iterator[Trap]:
    if not s.depth or "--enforce-eager" in s.args:
        return
    if not aligned(s.depth):
        near = ", ".join(str(depth) for depth in aligned_depths())
        yield Trap(
            "draft-depth-grid",
            f"K={s.depth} verifies {s.depth + 1} tokens a step, which is no recorded size (1, 2, 4, 8, 16, 24 ...): "
            "each step is padded to the next and pays for it. In a published sweep 5 and 11 were slower than 3 and 7.",
            f"a K of: {near}",
            "a published sweep on a DGX Spark; step times of r0b0tlab",
        )
    widest = s.sequences * (s.depth + 1)
    if s.most_captured < widest:
        yield Trap(
            "capture-maximum",
            f"{s.sequences} replies at once verify {widest} tokens a step, and the largest recorded batch is "
            f"{s.most_captured}: fuller steps run unrecorded. One report went from 25 to 133 tokens a second by "
            "recording them.",
            f"--max-cudagraph-capture-size {_up(widest)}, or a smaller --max-num-seqs",
            "a public report of 6 requests by 7 tokens; vLLM 0.25.1 itself takes twice the widest step, at most 512",
            # Where nobody has named a number of replies, nobody says that so many will come.
            refuse="--max-num-seqs" in s.args,
        )


def _up(tokens: int) -> int:
    return next(size for size in grid(tokens + 16) if size >= tokens)


def _no_cache(s: Subject) -> Iterator[Trap]:
    setup = s.setup
    step = s.args.number("--max-num-batched-tokens") or setup.step_tokens
    if setup.machine.sm121 and step >= SPARK_MOST_STEP_TOKENS:
        yield Trap(
            "step-tokens",
            f"{step:,} tokens a step left no block for the cache in two laboratories' starts on this machine.",
            "--max-num-batched-tokens 4096",
            "two public reports; 4,096 is what a published start planned with",
        )
    yield from _context(s)


def _context(s: Subject) -> Iterator[Trap]:
    setup = s.setup
    if setup.context > setup.variant.context:
        yield Trap(
            "context-too-long",
            f"{setup.context:,} tokens are asked for, and {setup.variant.repo} is made for {setup.variant.context:,}.",
            f"--context {setup.variant.context}",
            setup.variant.source,
        )
    if setup.fits:
        return
    need = setup.reserved * setup.layout.request_bytes(setup.context) / GIB
    pool = setup.pool_bytes / GIB
    what = f"{setup.sessions} sessions, kept from the start," if setup.reserved > 1 else "one session"
    words = (
        f"{pool:.1f} GiB are left for the cache, and {what} of {setup.context:,} tokens takes {need:.1f} GiB."
        if pool > 0
        else f"the weights are {-pool:.1f} GiB more than fits, before any cache."
    )
    remedy = (
        "a smaller --variant, more --gpus, or another --on"
        if pool <= need / 4
        else "a smaller --context, or fewer --sessions"
        if setup.reserved > 1
        else "a smaller --context"
    )
    yield Trap("no-cache", words, f"{remedy}; pool serve plan shows what fits", "the memory plan of Pool")


def _many_sequences(s: Subject) -> Iterator[Trap]:
    if not (s.setup.machine.sm121 and s.draft_is("dflash")):
        return
    if s.sequences >= MANY_SEQS:
        yield Trap(
            "default-sequences",
            f"{s.sequences} replies at once: with {MANY_SEQS}, vLLM's least default, a start with this draft crashed.",
            "--max-num-seqs 8",
            "a public report on a DGX Spark; another start there came up",
            refuse=False,
        )
    elif s.depth >= DEEP_DRAFT and s.sequences > DEEP_MOST_SEQS:
        yield Trap(
            "deep-draft-memory",
            f"K={s.depth} with 32 replies at once ran out of memory here, with 4 it was stable.",
            "--draft 3, or --sessions 4",
            "Blackwellboy/model-serving-minefield, trap 98",
        )


def _spark_share(s: Subject) -> Iterator[Trap]:
    share = s.args.decimal("--gpu-memory-utilization") or s.setup.utilization
    if s.setup.machine.sm121 and share > SPARK_MOST_UTILIZATION:
        yield Trap(
            "shared-memory",
            f"a share of {share:g} of memory that the system lives in too: a start that takes more hangs the machine.",
            "--gpu-memory-utilization 0.80 (published starts have 0.80 and 0.85)",
            "AEON-7/vllm-dflash issue 1",
            refuse=False,
        )


def _objects(s: Subject) -> Iterator[Trap]:
    for flag in JSON_FLAGS:
        text = s.args.text(flag)
        try:
            whole = not text or isinstance(json.loads(text), dict)
        except (ValueError, RecursionError):
            whole = False
        if not whole:
            yield Trap(
                "json-flag",
                f"{flag} is no JSON object: a shell takes the quotation marks away that are not quoted themselves.",
                f"{flag} '{{...}}', in single quotation marks",
                "vLLM reads it with json.loads",
            )


def _draft_pair(s: Subject) -> Iterator[Trap]:
    config = s.args.object("--speculative-config")
    named, own = config.get("model"), s.setup.variant.draft
    if not isinstance(named, str) or own is None or not own.repo or "/" not in named or named.startswith("/"):
        return
    if named != own.repo:
        yield Trap(
            "draft-pair",
            f"{named} was not made for {s.setup.variant.repo}. A draft that does not match has no token accepted: the "
            "answers are right, and slower than without it, and nothing is said.",
            f"the draft {own.repo}",
            "public reports of acceptance 0.000 after an upload of other weights",
        )
    elif own.revision and not s.setup.weights and s.args.text("--revision") != s.setup.variant.revision:
        yield Trap(
            "draft-revision",
            "without a revision the newest upload is loaded. The one of 2026-08-01 is 99.7 GB instead of 71.9, and no "
            "draft token is accepted there.",
            f"--revision {s.setup.variant.revision}",
            "discussions at the model's page; pool bench shows acceptance",
            refuse=False,
        )


def _sampling(s: Subject) -> Iterator[Trap]:
    defaults = s.args.object("--override-generation-config")
    wrong = [name for name in ("min_p", "logit_bias") if defaults.get(name)]
    if wrong and s.depth:
        yield Trap(
            "sampling-default",
            f"{' and '.join(wrong)} as a default: while it speculates vLLM answers every request with it by a 400.",
            f"take {' and '.join(wrong)} out of --override-generation-config",
            "vLLM 0.25.1, measured",
        )


def _parsers(s: Subject) -> Iterator[Trap]:
    model = s.setup.model
    wanted = {"--tool-call-parser": model.tool_parser, "--reasoning-parser": model.reasoning_parser}
    for flag, name in wanted.items():
        if s.args.text(flag) != name:
            yield Trap(
                "parser",
                f"{flag} is {s.args.text(flag) or 'missing'}: calls or thoughts of {model.title} stay in the text.",
                f"{flag} {name}",
                "tools worked in 83 % of cases with the model's own form, in none with a general one",
                refuse=bool(s.args.text(flag)),
            )
    if s.setup.engine is Engine.VLLM and "--enable-auto-tool-choice" not in s.args:
        yield Trap("tool-choice", "no tool can be called.", "--enable-auto-tool-choice", "vLLM", refuse=False)


def _runner(s: Subject) -> Iterator[Trap]:
    if s.env.get("VLLM_USE_V2_MODEL_RUNNER") == "1" and "--reasoning-config" in s.args:
        yield Trap(
            "runner-v2",
            "with VLLM_USE_V2_MODEL_RUNNER=1 vLLM refuses a limit for thoughts.",
            "unset VLLM_USE_V2_MODEL_RUNNER",
            "vLLM 0.25.1, its source",
            refuse=False,
        )


def _cache_type(s: Subject) -> Iterator[Trap]:
    if s.args.text("--kv-cache-dtype") == "nvfp4":
        yield Trap(
            "cache-nvfp4",
            "a cache in NVFP4 is not qualified for this model.",
            "--kv-cache-dtype fp8",
            "r0b0tlab/laguna-s-2.1-nvfp4-sm121-vllm",
        )


def _weights_and_chip(s: Subject) -> Iterator[Trap]:
    if s.setup.variant.name == "nvfp4" and s.setup.machine.chip is not Chip.BLACKWELL:
        yield Trap(
            "nvfp4-chip",
            f"NVFP4 is for Blackwell, and this is {s.setup.machine.chip.value}.",
            "--variant int4",
            "vLLM recipes",
        )


def _split_heads(s: Subject) -> Iterator[Trap]:
    devices = s.args.number("--tensor-parallel-size") or s.setup.devices
    heads = max(layer.kv_heads for layer in s.setup.model.attention)
    if heads % devices and devices % heads:
        yield Trap(
            "tensor-parallel",
            f"{heads} KV heads cannot be shared out over {devices} devices.",
            "--gpus 1, 2, 4 or 8",
            "vLLM",
        )


def _open_door(s: Subject) -> Iterator[Trap]:
    host = s.args.text("--host") or s.setup.host
    keys = ("--api-key" in s.args, s.env.get("VLLM_API_KEY"), s.env.get("LLAMA_API_KEY"))
    if host not in ("127.0.0.1", "localhost", "::1") and not any(keys):
        yield Trap(
            "open-door",
            f"{host}: everybody who reaches this machine can use the server, and no key is set.",
            "VLLM_API_KEY in the environment, or --host 127.0.0.1 and an SSH tunnel",
            "the set-up itself",
            refuse=False,
        )


def _jinja(s: Subject) -> Iterator[Trap]:
    if "--no-jinja" in s.args:
        yield Trap(
            "no-jinja",
            "without the model's own template llama.cpp takes no tools.",
            "--jinja",
            "llama.cpp",
        )
    deep = s.args.number("--spec-draft-n-max")
    if deep and deep >= 8:
        yield Trap(
            "llama-draft-depth",
            f"{deep} tokens proposed at once: this draft was a win below 8 only, and slower than none above.",
            "--spec-draft-n-max 7",
            "ggml-org/llama.cpp issue 26669",
        )


Check = Callable[[Subject], Iterator[Trap]]
_BOTH: tuple[Check, ...] = (_parsers, _weights_and_chip, _split_heads)
CHECKS: Mapping[Engine, tuple[Check, ...]] = {
    Engine.VLLM: (
        _moe_backend,
        _objects,
        _graphs,
        _no_cache,
        _many_sequences,
        _spark_share,
        _draft_pair,
        _sampling,
        _runner,
        _cache_type,
        *_BOTH,
    ),
    Engine.SGLANG: (_context, *_BOTH),
    Engine.LLAMACPP: (_context, _jinja),
    Engine.MLX: (_context,),
}
EVERYWHERE: tuple[Check, ...] = (_open_door,)
