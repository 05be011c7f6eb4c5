"""A very small Llama: its arithmetic in PyTorch, and its weights as a GGUF file.

PyTorch and gguf are imported only here and only when training: Pool's own environment does not have them.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.realserver.agent.vocabulary import add_to_gguf

Tensor = Any
Weights = dict[str, Tensor]

_GGUF_F16 = 1
_START_SCALE = 0.02


@dataclass(frozen=True, slots=True)
class Shape:
    """The network's sizes. window is what the file claims, in tokens; training texts are shorter."""

    vocabulary: int
    width: int = 192
    layers: int = 4
    heads: int = 6
    hidden: int = 512
    window: int = 16_384
    rope_base: float = 10_000.0
    epsilon: float = 1e-5

    @property
    def head_width(self) -> int:
        return self.width // self.heads


def new_weights(shape: Shape, device: str) -> Weights:
    """Random weights under the names that GGUF gives them; matrices are (out, in)."""
    torch: Any = importlib.import_module("torch")
    sizes: dict[str, tuple[int, ...]] = {
        "token_embd": (shape.vocabulary, shape.width),
        "output": (shape.vocabulary, shape.width),
        "output_norm": (shape.width,),
    }
    for layer in range(shape.layers):
        block: dict[str, tuple[int, ...]] = {
            **dict.fromkeys(("attn_norm", "ffn_norm"), (shape.width,)),
            **dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), (shape.width, shape.width)),
            **dict.fromkeys(("ffn_gate", "ffn_up"), (shape.hidden, shape.width)),
            "ffn_down": (shape.width, shape.hidden),
        }
        sizes |= {f"blk.{layer}.{name}": size for name, size in block.items()}
    weights: Weights = {}
    for name, size in sizes.items():
        scale = _START_SCALE if name == "token_embd" else 1 / math.sqrt(size[-1])
        start = torch.ones(size) if len(size) == 1 else torch.randn(size) * scale
        weights[name] = start.to(device).requires_grad_()
    return weights


def hidden_states(shape: Shape, weights: Weights, ids: Tensor, positions: Tensor) -> Tensor:
    """The last layer's normed states, (batch, time, width), of token ids at positions, both (batch, time)."""
    torch: Any = importlib.import_module("torch")
    functional: Any = importlib.import_module("torch.nn.functional")
    batch, time = ids.shape
    steps = torch.arange(0, shape.head_width, 2, device=ids.device).float() / shape.head_width
    angles = positions.float()[:, None, :, None] * shape.rope_base**-steps
    cos, sin = angles.cos(), angles.sin()

    def norm(x: Tensor, name: str) -> Tensor:
        return functional.rms_norm(x, (shape.width,), weights[name], shape.epsilon)

    def heads(x: Tensor, name: str) -> Tensor:
        projected = functional.linear(x, weights[name])
        return projected.view(batch, time, shape.heads, shape.head_width).transpose(1, 2)

    def turned(x: Tensor) -> Tensor:
        """Rotary positions over neighbouring pairs, which is how GGUF stores a Llama's."""
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).to(x.dtype)

    x = functional.embedding(ids, weights["token_embd"])
    for layer in range(shape.layers):
        block = f"blk.{layer}."
        y = norm(x, block + "attn_norm")
        q, k, v = (heads(y, block + name) for name in ("attn_q", "attn_k", "attn_v"))
        y = functional.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
        x = x + functional.linear(y.transpose(1, 2).reshape(batch, time, shape.width), weights[block + "attn_output"])
        y = norm(x, block + "ffn_norm")
        gate = functional.silu(functional.linear(y, weights[block + "ffn_gate"]))
        y = functional.linear(gate * functional.linear(y, weights[block + "ffn_up"]), weights[block + "ffn_down"])
        x = x + y
    return norm(x, "output_norm")


def write_gguf(path: Path, shape: Shape, weights: Weights, tokenizer: Any, template: str) -> None:
    """Write matrices as 16-bit and norms as 32-bit floats, for llama.cpp's `llama` architecture."""
    writer: Any = importlib.import_module("gguf").GGUFWriter(str(path), "llama")
    writer.add_name("Pool's tiny test agent")
    writer.add_context_length(shape.window)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.heads)
    writer.add_layer_norm_rms_eps(shape.epsilon)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_rope_dimension_count(shape.head_width)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_file_type(_GGUF_F16)
    add_to_gguf(writer, tokenizer)
    writer.add_chat_template(template)
    for name, tensor in weights.items():
        tensor = tensor.detach().cpu()
        writer.add_tensor(f"{name}.weight", (tensor.half() if tensor.dim() == 2 else tensor.float()).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
