"""Other models that people run on the same machines, as data."""

from __future__ import annotations

from pool.lab.serve.shapes import GB, Attention, Chip, Draft, Engine, Model, Recurrent, Variant

_CONTEXT = 262_144
_QWEN_RECIPES = "vLLM recipes, models/Qwen, 2026-07-02"
_FROM_MINIMUM = f"{_QWEN_RECIPES}: its least memory divided by 1.2"
_HOPPER_UP = (Chip.HOPPER, Chip.BLACKWELL)
_ANY = (Chip.ADA, Chip.HOPPER, Chip.BLACKWELL, Chip.APPLE)

_CONV_TOKENS = 3
"""A convolution of four looks back at three."""


def _delta_state(key_heads: int, value_heads: int, dim: int = 128) -> int:
    """Bytes of one gated DeltaNet layer: a float32 matrix for each value head, and a BF16 convolution's tail."""
    matrix = value_heads * dim * dim * 4
    tail = _CONV_TOKENS * (2 * key_heads + value_heads) * dim * 2
    return matrix + tail


def _mtp(kv_heads: int) -> Draft:
    return Draft(
        "mtp",
        "",
        Attention(1, kv_heads, 256),
        0,
        3,
        f"{_QWEN_RECIPES}: the model's own layer for it, three tokens; its weights are in the checkpoint",
    )


_MTP_35B, _MTP_27B = _mtp(2), _mtp(4)

QWEN36_35B = Model(
    "qwen3.6-35b-a3b",
    "Qwen3.6-35B-A3B",
    (Attention(10, 2, 256),),
    (
        Variant(
            "nvfp4",
            "nvidia/Qwen3.6-35B-A3B-NVFP4",
            21 * GB,
            _CONTEXT,
            f"{_QWEN_RECIPES}: least memory of 21 GB, taken as the size",
            chips=(Chip.BLACKWELL,),
            draft=_MTP_35B,
            min_vllm="0.17.0",
        ),
        Variant(
            "fp8",
            "Qwen/Qwen3.6-35B-A3B-FP8",
            35 * GB,
            _CONTEXT,
            _FROM_MINIMUM,
            chips=_HOPPER_UP,
            draft=_MTP_35B,
            min_vllm="0.17.0",
        ),
        Variant(
            "bf16",
            "Qwen/Qwen3.6-35B-A3B",
            70 * GB,
            _CONTEXT,
            _FROM_MINIMUM,
            chips=_HOPPER_UP,
            draft=_MTP_35B,
            min_vllm="0.17.0",
            fp8_cache=False,
        ),
        Variant(
            "gguf",
            "lmstudio-community/Qwen3.6-35B-A3B-GGUF",
            21 * GB,
            _CONTEXT,
            "Q4_K_M at 4.8 bits a weight",
            engines=(Engine.LLAMACPP,),
            chips=_ANY,
            file="Qwen3.6-35B-A3B-Q4_K_M.gguf",
        ),
    ),
    "its model card: 40 layers, ten of them attention with 2 KV heads of 256, thirty gated DeltaNet",
    "qwen3_coder",
    "qwen3",
    recurrent=Recurrent(30, _delta_state(16, 32)),
)

QWEN36_27B = Model(
    "qwen3.6-27b",
    "Qwen3.6-27B",
    (Attention(16, 4, 256),),
    (
        Variant(
            "nvfp4",
            "nvidia/Qwen3.6-27B-NVFP4",
            int(22.5 * GB),
            _CONTEXT,
            _FROM_MINIMUM,
            chips=(Chip.BLACKWELL,),
            draft=_MTP_27B,
            min_vllm="0.17.0",
        ),
        Variant(
            "fp8",
            "Qwen/Qwen3.6-27B-FP8",
            int(27.5 * GB),
            _CONTEXT,
            _FROM_MINIMUM,
            chips=_HOPPER_UP,
            draft=_MTP_27B,
            min_vllm="0.17.0",
        ),
        Variant(
            "bf16",
            "Qwen/Qwen3.6-27B",
            54 * GB,
            _CONTEXT,
            _FROM_MINIMUM,
            chips=_HOPPER_UP,
            draft=_MTP_27B,
            min_vllm="0.17.0",
            fp8_cache=False,
        ),
    ),
    "its model card: 64 layers, 16 of them attention with 4 KV heads of 256, 48 gated DeltaNet with 16 and 48 heads",
    "qwen3_coder",
    "qwen3",
    recurrent=Recurrent(48, _delta_state(16, 48)),
    mixture=False,
)

GEMMA4_26B = Model(
    "gemma-4-26b-a4b",
    "Gemma 4 26B-A4B",
    (Attention(5, 2, 512), Attention(25, 8, 256, 1_024)),
    (
        Variant(
            "nvfp4",
            "nvidia/Gemma-4-26B-A4B-NVFP4",
            int(20.1 * GB),
            _CONTEXT,
            "20.07 GB in memory, by the card of another quantisation that compares itself with it",
            chips=(Chip.BLACKWELL,),
            min_vllm="0.19.1",
            env=(("VLLM_USE_V2_MODEL_RUNNER", "1"),),
        ),
        Variant(
            "bf16",
            "google/gemma-4-26B-A4B-it",
            50 * GB,
            131_072,
            "50 GB by a public survey; vLLM recipes, models/Google, 2026-05-11",
            chips=_HOPPER_UP,
            min_vllm="0.19.1",
            fp8_cache=False,
        ),
    ),
    "30 layers, 25 of them over 1,024 tokens with 8 KV heads of 256, five over the whole context with 2 of 512: these "
    "give the 5.2 GiB that are reported for BF16 and 262,144 tokens",
    "gemma4",
    "gemma4",
    trust_code=False,
)
