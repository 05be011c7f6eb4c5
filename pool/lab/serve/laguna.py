"""Laguna's checkpoints, as data. Sizes are on disk, in decimal gigabytes as their publishers give them."""

from __future__ import annotations

from pool.lab.serve.shapes import GB, GIB, Attention, Chip, Draft, Engine, Model, Variant

S21_NVFP4_REVISION = "07614121b31898586430f189d27a25a0be310843"
S21_DRAFT_REVISION = "723794750422b3efbf3a7b3af76dffb4ba035943"
"""The pair that public measurements on a DGX Spark pin (r0b0tlab/laguna-s-2.1-nvfp4-sm121-vllm, 4cf44cf). An upload of
2026-08-01 keeps the experts of layers 40 to 47 in BF16: 99.7 GB, and no draft token of this draft is accepted."""

RECIPES = "vLLM recipes, models/poolside, 2026-07-22"
FROM_MINIMUM = f"{RECIPES}: its least memory divided by 1.2, which gives the sizes that it does state"

_FULL_CONTEXT = 1_048_576
_CONTEXT = 262_144
_WINDOW = 512
_HOPPER_UP = (Chip.HOPPER, Chip.BLACKWELL)
_ANY_NVIDIA = (Chip.ADA, Chip.HOPPER, Chip.BLACKWELL)
_ANY = (*_ANY_NVIDIA, Chip.APPLE)
_FP8_ENV = (("VLLM_BLOCKSCALE_FP8_GEMM_FLASHINFER", "0"),)
_GGUF_ENGINES = (Engine.LLAMACPP,)

DFLASH_DEPTH = 3
"""K of the fastest single stream in a published sweep of 3, 5, 7, 11, 15 on a DGX Spark (31.2 tokens a second)."""

_DRAFT_ATTENTION = Attention(layers=6, kv_heads=8, head_dim=128)
_DRAFT_BYTES = 2 * GB


def _dflash(repo: str, revision: str = "") -> Draft:
    return Draft(
        "dflash",
        repo,
        _DRAFT_ATTENTION,
        _DRAFT_BYTES,
        DFLASH_DEPTH,
        "about 1 B parameters, taken as BF16; vLLM 0.25.1 keeps the whole context for its layers (laguna_dflash.py), "
        "and six of them reproduce the 926,683 tokens that MiaAI-Lab published for 32.44 GiB",
        revision,
    )


LAGUNA_S21 = Model(
    "laguna-s-2.1",
    "Laguna S 2.1",
    (Attention(12, 8, 128), Attention(36, 8, 128, _WINDOW)),
    (
        Variant(
            "nvfp4",
            "poolside/Laguna-S-2.1-NVFP4",
            71_900_000_000,
            _CONTEXT,
            f"{RECIPES}: 72 GB; 71.9 GB and 67 GiB as measured on a DGX Spark",
            chips=(Chip.BLACKWELL,),
            revision=S21_NVFP4_REVISION,
            draft=_dflash("poolside/Laguna-S-2.1-DFlash-NVFP4", S21_DRAFT_REVISION),
            min_vllm="0.25.1",
        ),
        Variant(
            "int4",
            "poolside/Laguna-S-2.1-INT4",
            72 * GB,
            _CONTEXT,
            f"{RECIPES}: 72 GB",
            chips=_ANY_NVIDIA,
            draft=_dflash("poolside/Laguna-S-2.1-DFlash-INT4"),
            min_vllm="0.25.1",
        ),
        Variant(
            "fp8",
            "poolside/Laguna-S-2.1-FP8",
            121 * GB,
            _CONTEXT,
            f"{RECIPES}: 121 GB",
            chips=_HOPPER_UP,
            draft=_dflash("poolside/Laguna-S-2.1-DFlash-FP8"),
            min_vllm="0.25.1",
            env=_FP8_ENV,
        ),
        Variant(
            "bf16",
            "poolside/Laguna-S-2.1",
            235 * GB,
            _FULL_CONTEXT,
            f"{RECIPES}: 235 GB",
            chips=_HOPPER_UP,
            draft=_dflash("poolside/Laguna-S-2.1-DFlash"),
            min_vllm="0.25.1",
            fp8_cache=False,
        ),
        Variant(
            "gguf",
            "poolside/Laguna-S-2.1-GGUF",
            96 * GB,
            _CONTEXT,
            "Q4_K_M; 96 GB by a public list of pulls, not checked",
            engines=_GGUF_ENGINES,
            chips=_ANY,
            file="laguna-s-2.1-Q4_K_M.gguf",
            draft=Draft(
                "dflash",
                "poolside/Laguna-S-2.1-GGUF",
                _DRAFT_ATTENTION,
                _DRAFT_BYTES,
                DFLASH_DEPTH,
                "laguna-s-2.1-DFlash-BF16.gguf, about 1 B parameters; a win below 8 only by llama.cpp issue 26669",
            ),
        ),
        Variant(
            "gguf-iq4",
            "unsloth/Laguna-S-2.1-GGUF",
            int(53.61 * GIB),
            _CONTEXT,
            "UD-IQ4_XS, 53.61 GiB, measured in TheTom/llama-cpp-turboquant PR 228",
            engines=_GGUF_ENGINES,
            chips=_ANY,
            file="UD-IQ4_XS/",
        ),
        Variant(
            "mlx",
            "poolside/Laguna-S-2.1-NVFP4-mlx",
            72 * GB,
            _CONTEXT,
            "the makers' own export, four bits; a peak of 73.5 GB was measured; mlx-lm 0.32.2 knows the layers",
            engines=(Engine.MLX,),
            chips=(Chip.APPLE,),
            fp8_cache=False,
        ),
    ),
    f"{RECIPES}: 48 layers, 12 over the whole context and 36 over 512 tokens, 8 KV heads of 128",
    "poolside_v1",
    "poolside_v1",
    laguna=True,
)

LAGUNA_XS21 = Model(
    "laguna-xs-2.1",
    "Laguna XS 2.1",
    (Attention(10, 8, 128), Attention(30, 8, 128, _WINDOW)),
    (
        Variant(
            "nvfp4",
            "poolside/Laguna-XS-2.1-NVFP4",
            int(21.6 * GB),
            _CONTEXT,
            "21.6 GB, measured on the layout's first release; the recipe's least memory of 26 GB agrees",
            chips=(Chip.BLACKWELL,),
            draft=_dflash("poolside/Laguna-XS-2.1-DFlash-NVFP4"),
            min_vllm="0.25.0",
        ),
        Variant(
            "int4",
            "poolside/Laguna-XS-2.1-INT4",
            int(24.2 * GB),
            _CONTEXT,
            FROM_MINIMUM,
            chips=_ANY_NVIDIA,
            draft=_dflash("poolside/Laguna-XS-2.1-DFlash-INT4"),
            min_vllm="0.25.0",
        ),
        Variant(
            "fp8",
            "poolside/Laguna-XS-2.1-FP8",
            int(33.4 * GB),
            _CONTEXT,
            "33.4 B parameters of one byte; the recipe's least memory of 40 GB agrees",
            chips=_HOPPER_UP,
            draft=_dflash("poolside/Laguna-XS-2.1-DFlash-FP8"),
            min_vllm="0.25.0",
            env=_FP8_ENV,
        ),
        Variant(
            "bf16",
            "poolside/Laguna-XS-2.1",
            int(66.8 * GB),
            _CONTEXT,
            "33.4 B parameters of two bytes; the recipe's least memory of 80 GB agrees",
            chips=_HOPPER_UP,
            draft=_dflash("poolside/Laguna-XS-2.1-DFlash"),
            min_vllm="0.25.0",
            fp8_cache=False,
        ),
        Variant(
            "gguf",
            "poolside/Laguna-XS-2.1-GGUF",
            int(20.5 * GB),
            _CONTEXT,
            "Q4_K_M at 4.8 bits a weight, which is 20.5 GB for XS.2; the file's name follows its sibling's",
            engines=_GGUF_ENGINES,
            chips=_ANY,
            file="Laguna-XS-2.1-Q4_K_M.gguf",
        ),
        Variant(
            "mlx",
            "mlx-community/Laguna-XS-2.1-4bit",
            int(18.8 * GB),
            _CONTEXT,
            "18.8 GB, counted by a public project that pins it; mlx-lm 0.32.2 knows the layers",
            engines=(Engine.MLX,),
            chips=(Chip.APPLE,),
            fp8_cache=False,
        ),
    ),
    f"{RECIPES}: 40 layers, 10 over the whole context and 30 over 512 tokens, 8 KV heads of 128",
    "poolside_v1",
    "poolside_v1",
    laguna=True,
)

LAGUNA_M1 = Model(
    "laguna-m.1",
    "Laguna M.1",
    (Attention(70, 8, 128),),
    (
        Variant(
            "nvfp4",
            "poolside/Laguna-M.1-NVFP4",
            int(112.5 * GB),
            _CONTEXT,
            FROM_MINIMUM,
            chips=(Chip.BLACKWELL,),
            min_vllm="0.22.0",
        ),
        Variant(
            "fp8",
            "poolside/Laguna-M.1-FP8",
            225 * GB,
            _CONTEXT,
            FROM_MINIMUM,
            chips=_HOPPER_UP,
            min_vllm="0.22.0",
            env=_FP8_ENV,
        ),
        Variant(
            "bf16",
            "poolside/Laguna-M.1",
            450 * GB,
            _CONTEXT,
            f"{RECIPES}: about 450 GB",
            chips=_HOPPER_UP,
            min_vllm="0.21.0",
            fp8_cache=False,
        ),
        Variant(
            "gguf",
            "linuxid10t/Laguna-M.1-GGUF",
            125 * GB,
            _CONTEXT,
            "Q4_K_M, about 125 GB, by the community; its makers say that llama.cpp needs a patch of theirs",
            engines=_GGUF_ENGINES,
            chips=_ANY,
            file="Laguna-M.1-Q4_K_M.gguf",
        ),
    ),
    f"{RECIPES}: 70 layers over the whole context, 8 KV heads of 128",
    "poolside_v1",
    "poolside_v1",
    trust_code=False,
    laguna=True,
)
