"""What a profile is made of: a model's layers, its published checkpoints, a draft, a machine."""

from __future__ import annotations

from enum import StrEnum

from pool_tools.frozen import frozen

GIB = 1024**3
GB = 10**9


class Engine(StrEnum):
    """A server program that `pool serve` knows how to start."""

    VLLM = "vllm"
    SGLANG = "sglang"
    LLAMACPP = "llama.cpp"
    MLX = "mlx"

    @property
    def display(self) -> str:
        """Its name as its makers write it."""
        return {"vllm": "vLLM", "sglang": "SGLang", "mlx": "mlx-lm"}.get(self.value, self.value)


class Chip(StrEnum):
    """A family of accelerators, as far as it decides which weights and kernels run."""

    BLACKWELL = "blackwell"
    HOPPER = "hopper"
    ADA = "ada"
    APPLE = "apple"


@frozen
class Attention:
    """Layers of one kind. window: tokens that they look back at, 0 for all. Keys and values both are kept."""

    layers: int
    kv_heads: int
    head_dim: int
    window: int = 0


@frozen
class Recurrent:
    """Layers with a state of fixed size instead of a cache; state_bytes is for one layer and one request."""

    layers: int
    state_bytes: int


@frozen
class Draft:
    """How tokens are proposed ahead. repo is "" if the draft is a part of the model (MTP).

    attention is what its own cache needs; weights_bytes what it adds to the model's. source says where this is from.
    """

    method: str
    repo: str
    attention: Attention
    weights_bytes: int
    depth: int
    source: str
    revision: str = ""


@frozen
class Variant:
    """A checkpoint. file: the one of a repository with several (GGUF), else "". context in tokens.

    min_vllm is the oldest vLLM that serves it. env: what its server needs in the environment.
    """

    name: str
    repo: str
    weights_bytes: int
    context: int
    source: str
    engines: tuple[Engine, ...] = (Engine.VLLM, Engine.SGLANG)
    chips: tuple[Chip, ...] = (Chip.BLACKWELL, Chip.HOPPER)
    revision: str = ""
    file: str = ""
    draft: Draft | None = None
    min_vllm: str = ""
    env: tuple[tuple[str, str], ...] = ()
    fp8_cache: bool = True
    """Whether an FP8 cache is what its makers ship or recommend."""


@frozen
class Model:
    """A model with its checkpoints, the preferred one first."""

    name: str
    title: str
    attention: tuple[Attention, ...]
    variants: tuple[Variant, ...]
    source: str
    tool_parser: str
    reasoning_parser: str
    recurrent: Recurrent | None = None
    mixture: bool = True
    """Whether it is a mixture of experts, so that there is a backend for them to choose."""

    trust_code: bool = True
    laguna: bool = False


@frozen
class Machine:
    """Where the server runs. memory_gib is what one device offers to programs.

    overhead_gib: what a server takes besides weights and cache, for activations and graphs. bandwidth_gbs: bytes that
    memory delivers, in GB/s. shared: the same memory is the system's.
    """

    name: str
    title: str
    chip: Chip
    memory_gib: float
    bandwidth_gbs: float
    utilization: float
    overhead_gib: float
    source: str
    shared: bool = False
    sm121: bool = False
    """Whether it is a GB10, which has limits of its own."""
