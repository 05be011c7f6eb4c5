"""The command that serves a set-up, for each server, with a reason for each flag."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pool.lab.serve.flags import Command, Flag
from pool.lab.serve.graphs import padded
from pool.lab.serve.setup import Setup
from pool.lab.serve.shapes import Engine

RECIPE_PARSERS = (
    "without the parser calls and thoughts stay in the text: tools worked in 83 % of cases with it, 0 % without"
)
THINK_START, THINK_END = "<think>", "</think>"
ALL_LAYERS = "999"
JOBS = "4"


def command_for(setup: Setup, program: str = "") -> Command:
    """The command of a set-up. program: the server's program where it is not the one that the search path finds."""
    match setup.engine:
        case Engine.VLLM:
            env = (*((n, v, "the recipe of this checkpoint") for n, v in setup.variant.env), *_spark_env(setup))
            return Command((program or "vllm", "serve"), tuple(_vllm(setup)), env)
        case Engine.SGLANG:
            return Command((program or "python3", "-m", "sglang.launch_server"), tuple(_sglang(setup)))
        case Engine.LLAMACPP:
            return Command((program or "llama-server",), tuple(_llamacpp(setup)))
        case Engine.MLX:
            return Command((program or "mlx_lm.server",), tuple(_mlx(setup)))


def health_path(engine: Engine) -> str:
    """Where a server says that it is ready."""
    return "/v1/models" if engine is Engine.MLX else "/health"


def weights_place(setup: Setup) -> str:
    """What a server is told to load: a folder of this machine, else the repository's name."""
    return str(setup.weights) if setup.weights else setup.variant.repo


def _spark_env(setup: Setup) -> Iterator[tuple[str, str, str]]:
    if setup.machine.sm121:
        yield "MAX_JOBS", JOBS, "the first start compiles kernels; more jobs at once can use up the shared memory"


def _address(setup: Setup) -> Iterator[Flag]:
    local = setup.host in ("127.0.0.1", "localhost", "::1")
    yield Flag("--host", (setup.host,), "this machine only" if local else "other machines may connect: set a key")
    yield Flag("--port", (str(setup.port),), "one of the ports where Pool looks for a server")


def _vllm(setup: Setup) -> Iterator[Flag]:
    model, variant = setup.model, setup.variant
    yield Flag("", (weights_place(setup),), f"{variant.weights_bytes / 1e9:.1f} GB: {variant.source}")
    if variant.revision and not setup.weights:
        yield Flag("--revision", (variant.revision,), "the upload that public figures and the draft belong to")
    yield Flag("--served-model-name", (model.name,), "the same id whichever checkpoint serves")
    yield from _address(setup)
    if model.trust_code:
        yield Flag("--trust-remote-code", (), "the recipe of this model")
    if setup.devices > 1:
        yield Flag("--tensor-parallel-size", (str(setup.devices),), "weights and cache shared out over the devices")
    yield from _vllm_memory(setup)
    yield Flag(
        "--enable-prefix-caching", (), "an agent sends the same beginning every turn; without it all is read anew"
    )
    yield Flag("--enable-prompt-tokens-details", (), "tells how much of a prompt came from the cache")
    yield Flag("--enable-auto-tool-choice", (), "lets the model call tools")
    yield Flag(
        "--tool-call-parser", (model.tool_parser,), RECIPE_PARSERS if model.laguna else "the model's form of calls"
    )
    yield Flag("--reasoning-parser", (model.reasoning_parser,), "keeps the thought apart from the answer")
    if model.laguna:
        yield from _laguna_thinking()
    yield from _vllm_kernels(setup)


def _vllm_memory(setup: Setup) -> Iterator[Flag]:
    yield Flag("--max-model-len", (str(setup.context),), "the longest session; one of it fits")
    yield Flag(
        "--max-num-seqs",
        (str(setup.sessions),),
        "replies written at once; more wait. vLLM's own 256 or 1,024 is for fleets",
    )
    why = "tokens of one step: each session keeps these in every layer with a window, so more is dear"
    yield Flag("--max-num-batched-tokens", (str(setup.step_tokens),), why)
    share = f"{setup.utilization:g} of {setup.machine.memory_gib:.0f} GiB"
    shared = "; the rest is the system's" if setup.machine.shared else ""
    yield Flag("--gpu-memory-utilization", (f"{setup.utilization:g}",), share + shared)
    if setup.cache == "fp8":
        yield Flag("--kv-cache-dtype", ("fp8",), "half the cache of BF16; what the quantised checkpoints ship")


def _laguna_thinking() -> Iterator[Flag]:
    """Both facts were seen on vLLM 0.25.1 and 0.32.0."""
    yield Flag(
        "--default-chat-template-kwargs",
        ('{"enable_thinking":true}',),
        "a client that does not say it would get its thoughts in the answer: template and parser disagree otherwise",
    )
    marks = json.dumps({"reasoning_start_str": THINK_START, "reasoning_end_str": THINK_END}, separators=(",", ":"))
    yield Flag("--reasoning-config", (marks,), "makes thinking_token_budget work; the parser does not tell its marks")


def _vllm_kernels(setup: Setup) -> Iterator[Flag]:
    draft = setup.draft
    if draft is None:
        if setup.model.name == "qwen3.6-35b-a3b" and setup.variant.name == "nvfp4":
            yield Flag("--moe-backend", ("marlin",), "the recipe of this checkpoint")
        return
    config: dict[str, object] = {"method": draft.method, "num_speculative_tokens": setup.depth}
    if draft.repo:
        config["model"] = draft.repo
    if draft.revision:
        config["revision"] = draft.revision
    if setup.model.name == "qwen3.6-35b-a3b":
        config["moe_backend"] = "triton"
    why = f"K={setup.depth}: {setup.depth + 1} tokens a step, a size that is recorded; {draft.source}"
    yield Flag("--speculative-config", (json.dumps(config, separators=(",", ":")),), why)
    widest = setup.sessions * (setup.depth + 1)
    why = f"{setup.sessions} sessions x {setup.depth + 1} tokens: the widest step is recorded, in every version"
    yield Flag("--max-cudagraph-capture-size", (str(padded(widest)),), why)
    if draft.method == "dflash" and setup.variant.name in ("bf16", "fp8"):
        yield Flag("--moe-backend", ("triton",), "DeepGEMM does not work beside this draft (recipe); not for NVFP4")
    if setup.model.name == "qwen3.6-35b-a3b" and setup.variant.name == "nvfp4":
        yield Flag("--moe-backend", ("marlin",), "the recipe of this checkpoint")


def _sglang(setup: Setup) -> Iterator[Flag]:
    model, variant = setup.model, setup.variant
    yield Flag("--model-path", (weights_place(setup),), f"{variant.weights_bytes / 1e9:.1f} GB: {variant.source}")
    if variant.revision and not setup.weights:
        yield Flag("--revision", (variant.revision,), "the upload that public figures belong to")
    yield Flag("--served-model-name", (model.name,), "the same id whichever checkpoint serves")
    yield from _address(setup)
    if model.trust_code:
        yield Flag("--trust-remote-code", (), "the recipe of this model")
    if setup.devices > 1:
        yield Flag("--tp-size", (str(setup.devices),), "weights and cache shared out over the devices")
    yield Flag("--context-length", (str(setup.context),), "the longest session; one of it fits")
    yield Flag("--max-running-requests", (str(setup.sessions),), "replies written at once; more wait")
    yield Flag("--chunked-prefill-size", (str(setup.step_tokens),), "tokens of one step")
    yield Flag(
        "--mem-fraction-static", (f"{setup.utilization:g}",), "weights and cache; the rest is for the work itself"
    )
    if setup.cache == "fp8":
        yield Flag("--kv-cache-dtype", ("fp8_e4m3",), "half the cache of BF16")
    yield Flag("--tool-call-parser", (model.tool_parser,), "calls come apart from the text")
    yield Flag("--reasoning-parser", (model.reasoning_parser,), "keeps the thought apart from the answer")
    yield Flag("--enable-metrics", (), "load, cache hits and acceptance at /metrics")
    yield Flag("--enable-cache-report", (), "tells how much of a prompt came from the cache")
    if setup.draft:
        yield Flag("--speculative-algorithm", ("NEXTN",), setup.draft.source)
        yield Flag("--speculative-num-steps", (str(setup.depth),), "tokens proposed one after the other")
        yield Flag("--speculative-eagle-topk", ("1",), "one proposal, no tree")
        yield Flag("--speculative-num-draft-tokens", (str(setup.depth + 1),), "these and the model's own")


def _llamacpp(setup: Setup) -> Iterator[Flag]:
    variant = setup.variant
    why = f"{variant.weights_bytes / 1e9:.1f} GB: {variant.source}"
    if setup.weights:
        yield Flag("--model", (str(setup.weights / variant.file),), why)
    else:
        yield Flag("-hf", (f"{variant.repo}:{quant_of(variant.file)}",), why)
    yield Flag("--alias", (setup.model.name,), "the model's id; this server answers to any")
    yield from _address(setup)
    slots = f"{setup.sessions} x {setup.context:,}: this number is shared out over the slots"
    yield Flag("--ctx-size", (str(setup.context * setup.sessions),), slots)
    yield Flag("--parallel", (str(setup.sessions),), "slots, one for each session")
    yield Flag("--n-gpu-layers", (ALL_LAYERS,), "all layers on the accelerator")
    yield Flag("--flash-attn", ("on",), "needed for a quantised cache of values")
    if setup.cache == "q8_0":
        yield Flag("--cache-type-k", ("q8_0",), "half the cache of BF16")
        yield Flag("--cache-type-v", ("q8_0",), "the same for values")
    yield Flag("--jinja", (), "the model's own template, without which there are no tool calls")
    yield Flag("--metrics", (), "load and speculation at /metrics")
    if setup.draft and setup.weights:
        yield Flag("--spec-type", ("draft-dflash",), setup.draft.source)
        yield Flag("--spec-draft-n-max", (str(setup.depth),), "tokens proposed at once")
        yield Flag("--model-draft", (str(setup.weights / "laguna-s-2.1-DFlash-BF16.gguf"),), "the draft's file")


def quant_of(file: str) -> str:
    """How a repository calls a file's quantisation: `Q4_K_M`, `UD-IQ4_XS`."""
    name = file.removesuffix("/").removesuffix(".gguf")
    return name if file.endswith("/") else name.rpartition("-")[2]


def _mlx(setup: Setup) -> Iterator[Flag]:
    yield Flag(
        "--model", (weights_place(setup),), f"{setup.variant.weights_bytes / 1e9:.1f} GB: {setup.variant.source}"
    )
    yield from _address(setup)
