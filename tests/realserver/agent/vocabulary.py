"""The tiny agent's tokenizer: byte-level BPE with Laguna's marker tokens.

A space, a digit and a mark (or a line of the same mark) are tokens of their own, so that a name has the same tokens
wherever it stands. Merges never cross those borders, which is why llama.cpp's coarser `gpt-2` splitting gives the same
tokens.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

START = "〈|EOS|〉"
ASSISTANT = "<assistant>"
THOUGHT_END = "</think>"
ASSISTANT_END = "</assistant>"
CONTROL = ("〈|PAD|〉", "〈|UNK|〉", START)
MARKERS = (
    *(f"<{slash}{tag}>" for tag in ("think", "assistant", "user", "system", "tool_response") for slash in ("", "/")),
    *(f"<{slash}{tag}>" for tag in ("tool_call", "arg_key", "arg_value") for slash in ("", "/")),
)
VOCABULARY_SIZE = 1024

_PIECES = r"\p{L}+|\p{N}|\s|-+|=+|~+|\^+|[^\p{L}\p{N}\s]"


def train(texts: Sequence[str]) -> Any:
    """A `tokenizers.Tokenizer` learnt from texts."""
    lib: Any = importlib.import_module("tokenizers")
    tokenizer = lib.Tokenizer(lib.models.BPE())
    split = lib.pre_tokenizers.Split(lib.Regex(_PIECES), "isolated")
    as_bytes = lib.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = lib.pre_tokenizers.Sequence([split, as_bytes])
    tokenizer.decoder = lib.decoders.ByteLevel()
    trainer = lib.trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        special_tokens=[*CONTROL, *MARKERS],
        initial_alphabet=lib.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def load(path: Path) -> Any:
    """The tokenizer saved at path."""
    return importlib.import_module("tokenizers").Tokenizer.from_file(str(path))


def add_to_gguf(writer: Any, tokenizer: Any) -> None:
    """Describe tokenizer in a GGUF file under way."""
    types: Any = importlib.import_module("gguf").TokenType
    model = json.loads(tokenizer.to_str())["model"]
    names = sorted(model["vocab"], key=lambda name: model["vocab"][name])
    kinds = dict.fromkeys(CONTROL, int(types.CONTROL)) | dict.fromkeys(MARKERS, int(types.USER_DEFINED))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(names)
    writer.add_token_types([kinds.get(name, int(types.NORMAL)) for name in names])
    writer.add_token_merges([" ".join(pair) for pair in model["merges"]])
    writer.add_bos_token_id(model["vocab"][START])
    writer.add_eos_token_id(model["vocab"][START])
    writer.add_eot_token_id(model["vocab"][ASSISTANT_END])
    writer.add_add_bos_token(False)
