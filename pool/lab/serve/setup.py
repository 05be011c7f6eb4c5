"""From what a person asked for to one complete set-up: model, checkpoint, machine, server and their numbers."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

from pool.lab.serve.catalog import MODELS, find
from pool.lab.serve.flags import Arguments
from pool.lab.serve.machines import MACHINES, Found, detect
from pool.lab.serve.memory import ELEMENT_BYTES, Layout
from pool.lab.serve.shapes import GIB, Attention, Chip, Draft, Engine, Machine, Model, Variant
from pool_tools.frozen import frozen

DEFAULT_MODEL = "laguna-s-2.1"

CONTEXT_TOKENS = (131_072, 65_536, 32_768, 16_384)
"""Context windows to try, the wished one first: one session of it has to fit."""

SESSIONS = 8
LLAMACPP_SESSIONS = (4, 2, 1)
"""The same for llama.cpp, the most that fit: it keeps the cache of all of them from the start."""

STEP_TOKENS = 4_096
LLAMACPP_STEP_TOKENS = 512
"""What llama.cpp handles at once (its `--ubatch-size`)."""

PORTS = {Engine.VLLM: 8000, Engine.SGLANG: 30000, Engine.LLAMACPP: 8080, Engine.MLX: 8080}
CACHES = {
    Engine.VLLM: ("fp8", "bf16"),
    Engine.SGLANG: ("fp8", "bf16"),
    Engine.LLAMACPP: ("q8_0", "bf16"),
    Engine.MLX: ("bf16",),
}
DEVICE_COUNTS = (1, 2, 4, 8)
MOST_DEPTH = 64
LARGE_DEVICE_GIB = 70.0
"""From here on vLLM has larger defaults."""

VLLM_UTILIZATION = 0.92


class ServeError(Exception):
    """What was asked for cannot be had; the text names cause and remedy."""


@frozen
class Wish:
    """What a person said; None or "" where nothing."""

    model: str = DEFAULT_MODEL
    variant: str = ""
    machine: str = ""
    memory_gib: float | None = None
    devices: int | None = None
    engine: str = ""
    context: int | None = None
    sessions: int | None = None
    depth: int | None = None
    cache: str = ""
    step_tokens: int | None = None
    utilization: float | None = None
    host: str = "127.0.0.1"
    port: int | None = None
    weights: Path | None = None
    pool_gib: float | None = None


@frozen
class Setup:
    """One server, completely. depth: draft tokens a step, 0 for no draft. remarks: what was chosen for the person.

    pool_gib: a cache that was measured, in place of the computed one.
    """

    model: Model
    variant: Variant
    machine: Machine
    devices: int
    engine: Engine
    context: int
    sessions: int
    depth: int
    cache: str
    step_tokens: int
    utilization: float
    host: str
    port: int
    weights: Path | None
    remarks: tuple[str, ...] = ()
    pool_gib: float | None = None

    @property
    def draft(self) -> Draft | None:
        """The draft in use."""
        return self.variant.draft if self.depth else None

    @property
    def title(self) -> str:
        """The set-up in a line."""
        several = f"{self.devices} x " if self.devices > 1 else ""
        name = f"{self.model.title} {self.variant.name.upper()}"
        return f"{name} on {several}{self.machine.title}, by {self.engine.display}"

    @property
    def usable_bytes(self) -> float:
        """What the server may use of all devices."""
        return self.devices * self.machine.memory_gib * self.utilization * GIB

    @property
    def overhead_bytes(self) -> float:
        """Activations, graphs and libraries, on all devices."""
        return self.devices * self.machine.overhead_gib * GIB

    @property
    def draft_bytes(self) -> int:
        """The draft's weights."""
        return self.draft.weights_bytes if self.draft else 0

    @property
    def pool_bytes(self) -> float:
        """What is left for the cache; below 0 if the weights alone are too much."""
        if self.pool_gib is not None:
            return self.pool_gib * GIB
        return self.usable_bytes - self.overhead_bytes - self.variant.weights_bytes - self.draft_bytes

    @property
    def layout(self) -> Layout:
        """What the cache is made of, the draft's part included."""
        plain = self.plain_layout
        return plain.with_draft(_split(self.draft.attention, self.devices)) if self.draft else plain

    @property
    def plain_layout(self) -> Layout:
        """The same without the draft."""
        step = {Engine.LLAMACPP: LLAMACPP_STEP_TOKENS, Engine.MLX: 1}.get(self.engine, self.step_tokens)
        layers = tuple(_split(layer, self.devices) for layer in self.model.attention)
        blocks = self.engine is Engine.VLLM
        return Layout(layers, ELEMENT_BYTES[self.cache], step, self.model.recurrent, blocks)

    @property
    def vllm_sequences(self) -> int:
        """Replies at once where vLLM's command does not say it (0.25.1, arg_utils.py)."""
        return 1_024 if self.machine.memory_gib >= LARGE_DEVICE_GIB else 256

    @property
    def vllm_step_tokens(self) -> int:
        """Tokens of one step where vLLM's command does not say it (0.25.1, arg_utils.py)."""
        return 8_192 if self.machine.memory_gib >= LARGE_DEVICE_GIB else 2_048

    @property
    def reserved(self) -> int:
        """Sessions of which the cache is kept from the start: llama.cpp keeps all, others what is in use."""
        return self.sessions if self.engine is Engine.LLAMACPP else 1

    @property
    def fits(self) -> bool:
        """Whether one session of the full context fits, or all of them where all are kept."""
        return self.pool_bytes >= self.reserved * self.layout.request_bytes(self.context)


def choose(wish: Wish, found: Found | None = None) -> Setup:
    """The set-up for a wish; found is this machine, looked up if it is not given. Raises `ServeError`."""
    known = find(wish.model)
    if known is None:
        raise ServeError(f"there is no profile of {wish.model!r}; there are: {', '.join(MODELS)}")
    model, variant = known
    machine, limit, remarks = _machine(wish, found)
    variants = [variant] if variant else _variants(model, wish.variant)
    problems: list[str] = []
    setups: list[Setup] = []
    for one in variants:
        try:
            setups.append(_fitted(_complete(wish, model, one, machine, remarks), wish, limit))
        except ServeError as problem:
            problems.append(str(problem))
    if not setups:
        raise ServeError("; ".join(dict.fromkeys(problems)))
    return next((setup for setup in setups if setup.fits), setups[0])


def adopted(setup: Setup, args: Arguments) -> Setup:
    """The set-up by the numbers of its final command, where a person's own flags have changed them (vLLM's names)."""
    cache = args.text("--kv-cache-dtype")
    return replace(
        setup,
        context=args.number("--max-model-len") or setup.context,
        sessions=args.number("--max-num-seqs") or setup.sessions,
        step_tokens=args.number("--max-num-batched-tokens") or setup.step_tokens,
        utilization=args.decimal("--gpu-memory-utilization") or setup.utilization,
        devices=args.number("--tensor-parallel-size") or setup.devices,
        port=args.number("--port") or setup.port,
        host=args.text("--host") or setup.host,
        cache="fp8" if cache.startswith("fp8") else setup.cache if not cache else "bf16",
    )


def _machine(wish: Wish, found: Found | None) -> tuple[Machine, int, tuple[str, ...]]:
    """The machine, how many devices may be used of it, and what has to be said."""
    if wish.machine and wish.machine not in MACHINES:
        raise ServeError(f"there is no machine {wish.machine!r}; there are: {', '.join(MACHINES)}")
    if wish.machine:
        machine, limit, remarks = MACHINES[wish.machine], DEVICE_COUNTS[-1], ()
        if machine.shared:
            limit = 1
    else:
        found = found or detect()
        machine, limit, remarks = found.machine, found.devices, (found.words,)
    if wish.memory_gib is not None:
        machine = replace(machine, memory_gib=wish.memory_gib, title=f"{machine.name} with {wish.memory_gib:g} GiB")
    return machine, limit, remarks


def _variants(model: Model, name: str) -> list[Variant]:
    if not name:
        return list(model.variants)
    chosen = [variant for variant in model.variants if variant.name == name]
    if not chosen:
        names = ", ".join(variant.name for variant in model.variants)
        raise ServeError(f"{model.title} has no variant {name!r} here; there are: {names}")
    return chosen


def _complete(wish: Wish, model: Model, variant: Variant, machine: Machine, remarks: tuple[str, ...]) -> Setup:
    if machine.chip not in variant.chips:
        able = " or ".join(chip.value for chip in variant.chips)
        raise ServeError(f"{variant.repo} needs {able}, and {machine.title} is {machine.chip.value}")
    engine = _engine(wish, variant, machine)
    cache = wish.cache or (CACHES[engine][0] if variant.fp8_cache else "bf16")
    if cache not in CACHES[engine]:
        raise ServeError(f"{engine.value} has no cache of {cache}; it has: {', '.join(CACHES[engine])}")
    return Setup(
        model,
        variant,
        machine,
        wish.devices or 1,
        engine,
        min(CONTEXT_TOKENS[0], variant.context) if wish.context is None else wish.context,
        wish.sessions or SESSIONS,
        _depth(wish, model, variant, engine),
        cache,
        wish.step_tokens or STEP_TOKENS,
        wish.utilization or machine.utilization,
        wish.host,
        wish.port or PORTS[engine],
        wish.weights,
        remarks,
        wish.pool_gib,
    )


def _engine(wish: Wish, variant: Variant, machine: Machine) -> Engine:
    if wish.engine:
        engine = Engine(wish.engine)
        if engine not in variant.engines:
            able = " or ".join(one.value for one in variant.engines)
            raise ServeError(f"{variant.repo} is served by {able}, not by {engine.value}; --variant names another")
        return engine
    engine = variant.engines[0]
    if machine.chip is Chip.APPLE and engine in (Engine.VLLM, Engine.SGLANG):
        raise ServeError(f"{engine.value} does not run on a Mac's GPU; take --variant gguf or mlx")
    return engine


def _depth(wish: Wish, model: Model, variant: Variant, engine: Engine) -> int:
    draft = variant.draft
    if wish.depth is None:
        return draft.depth if draft and engine is Engine.VLLM else 0
    if not wish.depth:
        return 0
    if draft is None:
        raise ServeError(f"no draft is known for {variant.repo}; leave out --draft")
    if engine is Engine.SGLANG and draft.method != "mtp":
        raise ServeError(f"it is not known that SGLang runs the draft {draft.repo}; use vllm, or --draft 0")
    if engine is Engine.LLAMACPP and wish.weights is None:
        raise ServeError(f"llama.cpp takes {model.title}'s draft as a file: name the folder that it is in by --weights")
    return wish.depth


def _fitted(setup: Setup, wish: Wish, limit: int) -> Setup:
    """With as many devices and as much context as fit, where the person left that open."""
    counts = [count for count in DEVICE_COUNTS if count <= limit] if wish.devices is None else [wish.devices]
    contexts = [c for c in CONTEXT_TOKENS if c <= setup.context] if wish.context is None else [setup.context]
    slots = LLAMACPP_SESSIONS if setup.engine is Engine.LLAMACPP and wish.sessions is None else (setup.sessions,)
    for devices, context, sessions in product(counts, contexts, slots):
        tried = replace(setup, devices=devices, context=context, sessions=sessions)
        if tried.fits:
            return tried if context == contexts[0] else _shortened(tried)
    return replace(setup, devices=counts[-1], sessions=slots[-1])


def _shortened(setup: Setup) -> Setup:
    remark = f"a context of {CONTEXT_TOKENS[0]:,} tokens does not fit; {setup.context:,} does"
    return replace(setup, remarks=(*setup.remarks, remark))


def _split(layer: Attention, devices: int) -> Attention:
    """Layers as all devices together hold them: with more devices than KV heads, each keeps one of its own."""
    return replace(layer, kv_heads=max(layer.kv_heads, devices))
